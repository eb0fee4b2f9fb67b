package restore

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/shared/undo"
)

// Limits of one request to Firestore, and how many are under way.
const (
	maxDocuments = 100
	maxBytes     = 4 << 20
	maxAttempts  = 4 // of documents whose answer was lost
	atOnce       = 4
)

// documents takes back changes of documents, each once.
func (u *undoing) documents(ctx context.Context, changes []undo.Change) error {
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(atOnce)
	for len(changes) > 0 {
		n, size := 0, 0
		for n < len(changes) && n < maxDocuments && (n == 0 || size < maxBytes) {
			for _, v := range changes[n].Before {
				size += proto.Size(v)
			}
			n++
		}
		some := changes[:n:n]
		g.Go(func() error { return u.someDocuments(ctx, some) })
		changes = changes[n:]
	}
	return g.Wait()
}

// someDocuments reads documents as they are now and takes back what can be taken back. What somebody else writes meanwhile is
// looked at again.
func (u *undoing) someDocuments(ctx context.Context, changes []undo.Change) error {
	for attempt := 1; len(changes) > 0; attempt++ {
		now, err := u.current(ctx, changes)
		if err != nil {
			return err
		}
		var writes []*firestorepb.Write
		var written []undo.Change
		var outcomes []Outcome
		for _, c := range changes {
			if !u.chosen(c.Path) {
				continue
			}
			d := now[c.Path]
			step, why := c.Decide(d.GetFields(), d != nil)
			outcome := Outcome{Target: c.Path, Step: step, Why: why}
			w := u.writeOf(c, step, d)
			if w == nil || !u.Apply {
				if err := u.tell(outcome); err != nil {
					return err
				}
				continue
			}
			writes, written, outcomes = append(writes, w), append(written, c), append(outcomes, outcome)
		}
		again, err := u.write(ctx, writes, outcomes)
		if err != nil && (len(again) == 0 || attempt == maxAttempts) {
			return err
		}
		changes = changes[:0]
		for _, i := range again {
			changes = append(changes, written[i])
		}
		if attempt == maxAttempts && len(changes) > 0 {
			return fmt.Errorf("%s and %d more keep changing: try again later", changes[0].Path, len(changes)-1)
		}
	}
	return nil
}

// current returns the documents as they are.
func (u *undoing) current(ctx context.Context, changes []undo.Change) (map[string]*firestorepb.Document, error) {
	request := &firestorepb.BatchGetDocumentsRequest{Database: u.Database}
	for _, c := range changes {
		request.Documents = append(request.Documents, u.name(c.Path))
	}
	stream, err := u.Raw.BatchGetDocuments(u.routed(ctx), request)
	if err != nil {
		return nil, fmt.Errorf("read %d documents: %w", len(changes), err)
	}
	found := map[string]*firestorepb.Document{}
	for {
		response, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read %d documents: %w", len(changes), err)
		}
		if d := response.GetFound(); d != nil {
			found[strings.TrimPrefix(d.GetName(), u.name(""))] = d
		}
	}
}

func (u *undoing) name(path string) string { return u.Database + "/documents/" + path }

// routed says which database a request is for, as Google's front end wants it.
func (u *undoing) routed(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "google-cloud-resource-prefix", u.Database)
}

// writeOf returns the write that a step is, on the condition that the document is still as it was decided about; nil for none.
func (u *undoing) writeOf(c undo.Change, step undo.Step, now *firestorepb.Document) *firestorepb.Write {
	same := &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_UpdateTime{UpdateTime: now.GetUpdateTime()}}
	whole := &firestorepb.Document{Name: u.name(c.Path), Fields: c.Before}
	switch step {
	case undo.Recreate:
		missing := &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: false}}
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: whole}, CurrentDocument: missing}
	case undo.Replace:
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: whole}, CurrentDocument: same}
	case undo.Remove:
		return &firestorepb.Write{Operation: &firestorepb.Write_Delete{Delete: whole.GetName()}, CurrentDocument: same}
	case undo.Revert:
		mask := &firestorepb.DocumentMask{}
		part := &firestorepb.Document{Name: whole.GetName(), Fields: undo.Fields{}}
		for _, field := range c.Wrote() {
			mask.FieldPaths = append(mask.FieldPaths, fieldPath(field)) // without a value: removed
			if v := c.Before[field]; v != nil {
				part.Fields[field] = v
			}
		}
		return &firestorepb.Write{Operation: &firestorepb.Write_Update{Update: part}, UpdateMask: mask, CurrentDocument: same}
	case undo.Nothing, undo.Conflict, undo.Lost, undo.Stays:
	}
	return nil
}

var simpleField = regexp.MustCompile(`^[A-Za-z_][A-Za-z_0-9]*$`)

// fieldPath returns a top-level field's name as a path has it.
func fieldPath(field string) string {
	if simpleField.MatchString(field) {
		return field
	}
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(field) + "`"
}

// write makes writes, each on its own, and tells what was done. It returns those to look at again.
func (u *undoing) write(ctx context.Context, writes []*firestorepb.Write, outcomes []Outcome) (again []int, err error) {
	if len(writes) == 0 {
		return nil, nil
	}
	if err := u.stillOurs(ctx); err != nil {
		return nil, err
	}
	response, err := u.Raw.BatchWrite(u.routed(ctx), &firestorepb.BatchWriteRequest{Database: u.Database, Writes: writes})
	if err != nil { // perhaps the answer alone was lost
		for i := range writes {
			again = append(again, i)
		}
		return again, fmt.Errorf("write %s and %d more: %w", outcomes[0].Target, len(writes)-1, err)
	}
	for i, s := range response.GetStatus() {
		switch err := status.FromProto(s).Err(); status.Code(err) {
		case codes.OK:
			if err := u.tell(outcomes[i]); err != nil {
				return nil, err
			}
		case codes.FailedPrecondition, codes.AlreadyExists, codes.NotFound, codes.Aborted, codes.Unavailable, codes.DeadlineExceeded, codes.ResourceExhausted:
			again = append(again, i)
		default:
			return nil, fmt.Errorf("write %s: %w", outcomes[i].Target, err)
		}
	}
	return again, nil
}
