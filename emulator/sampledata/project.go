package sampledata

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"google.golang.org/protobuf/proto"

	"github.com/firesweep/firesweep/emulator/each"
	"github.com/firesweep/firesweep/emulator/localdb"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

// Project is the local project that the sample is loaded into.
type Project struct {
	Firestore *firestore.Client
	Bucket    *storage.BucketHandle
	Importer  accounts.Importer
	storage   *storage.Client
}

// Open opens a project on the emulators that the environment names.
func Open(ctx context.Context, projectID, bucket string) (*Project, error) {
	conn, err := localdb.Dial(os.Getenv("FIRESTORE_EMULATOR_HOST"))
	if err != nil {
		return nil, err
	}
	db, err := localdb.Open(ctx, conn, projectID, firestore.DefaultDatabaseID)
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	objects, err := storage.NewClient(ctx)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the local Storage: %w", err), db.Close())
	}
	p := &Project{Firestore: db, Bucket: objects.Bucket(bucket), storage: objects}
	client, err := accounts.Open(ctx, projectID, false, nil)
	if err != nil {
		return nil, errors.Join(err, p.Close())
	}
	p.Importer = client.Importer()
	return p, nil
}

// Close closes the connections.
func (p *Project) Close() error { return errors.Join(p.Firestore.Close(), p.storage.Close()) }

// Load writes the sample into the empty project.
func (p *Project) Load(ctx context.Context, s Sample) error {
	writer := p.Firestore.BulkWriter(ctx)
	var jobs []*firestore.BulkWriterJob
	for _, d := range s.Documents {
		if d.Before == nil {
			continue
		}
		job, err := writer.Set(p.Firestore.Doc(d.Path), d.Before)
		if err != nil {
			return fmt.Errorf("load %s: %w", d.Path, err)
		}
		jobs = append(jobs, job)
	}
	writer.End()
	for _, job := range jobs {
		if _, err := job.Results(); err != nil {
			return fmt.Errorf("load the sample's documents: %w", err)
		}
	}
	for _, o := range s.Objects {
		w := p.Bucket.Object(o.Name).NewWriter(ctx)
		w.ChunkSize, w.Metadata = 0, o.Metadata
		if err := w.Close(); err != nil {
			return fmt.Errorf("load object %s: %w", o.Name, err)
		}
	}
	all := make([]accounts.Account, len(s.Accounts))
	for i, a := range s.Accounts {
		if all[i].UID = a.UID; a.As != nil {
			all[i] = *a.As
		}
	}
	refused, err := p.Importer.Import(ctx, all)
	if err == nil && len(refused) > 0 {
		err = fmt.Errorf("%v", refused)
	}
	if err != nil {
		return fmt.Errorf("load the sample's accounts: %w", err)
	}
	return nil
}

// State is what a project holds, without the bundle's own records.
type State struct {
	Documents map[string]map[string]any // by path
	Objects   []string                  // names
	Accounts  []string                  // uids
}

// Read returns what the project holds.
func (p *Project) Read(ctx context.Context) (State, error) {
	s := State{Documents: map[string]map[string]any{}}
	all, err := localdb.All(ctx, p.Firestore)
	if err != nil {
		return s, err
	}
	for _, d := range all {
		if _, path, _ := strings.Cut(d.Ref.Path, "/documents/"); !collections.IsOwn(path) {
			s.Documents[path] = d.Data()
		}
	}
	for o, err := range each.Of(p.Bucket.Objects(ctx, nil)) {
		if err != nil {
			return s, fmt.Errorf("list the bucket: %w", err)
		}
		s.Objects = append(s.Objects, o.Name)
	}
	for page, err := range p.Importer.Pages(ctx, "") {
		if err != nil {
			return s, err
		}
		for _, a := range page.Accounts {
			s.Accounts = append(s.Accounts, a.UID)
		}
	}
	return s, nil
}

// Differences compares what is left with what the sample says must be left. Each line names an item.
func (s Sample) Differences(left State) []string {
	var lines []string
	rest := maps.Clone(left.Documents)
	for _, d := range s.Documents {
		got, there := rest[d.Path]
		delete(rest, d.Path)
		switch {
		case d.After == nil && there:
			lines = append(lines, d.Path+" should be gone and is still there")
		case d.After != nil && !there:
			lines = append(lines, d.Path+" should be there and is not")
		case d.After != nil && !equal(d.After, got):
			lines = append(lines, fmt.Sprintf("%s should hold %v and holds %v", d.Path, d.After, got))
		}
	}
	for _, path := range slices.Sorted(maps.Keys(rest)) {
		lines = append(lines, path+" is there and should not be")
	}
	for _, o := range s.Objects {
		lines = append(lines, presence("object "+o.Name, o.Kept, slices.Contains(left.Objects, o.Name))...)
	}
	for _, a := range s.Accounts {
		lines = append(lines, presence("account "+a.UID, a.Kept, slices.Contains(left.Accounts, a.UID))...)
	}
	return lines
}

func presence(what string, wanted, there bool) []string {
	switch {
	case wanted && !there:
		return []string{what + " should be there and is gone"}
	case !wanted && there:
		return []string{what + " should be gone and is still there"}
	default:
		return nil
	}
}

// equal compares fields as Firestore returns them with those that were written.
func equal(want, got map[string]any) bool {
	written, err := encode.Fields(want)
	is, other := encode.Fields(got)
	same := func(a, b *firestorepb.Value) bool { return proto.Equal(a, b) }
	return err == nil && other == nil && maps.EqualFunc(written, is, same)
}

// Names returns the state by the names that the log uses: the fields of a document by its path, and nil by "gs://bucket/name" for
// an object and "account uid" for an account.
func (s State) Names(bucket string) map[string]any {
	names := map[string]any{}
	for path, fields := range s.Documents {
		names[path] = fields
	}
	for _, object := range s.Objects {
		names["gs://"+bucket+"/"+object] = nil
	}
	for _, uid := range s.Accounts {
		names["account "+uid] = nil
	}
	return names
}

// Counts returns how many items there are: documents by collection (a subcollection has its parents' collection in its name),
// objects by folder, and accounts.
func (s State) Counts() map[string]int {
	counts := map[string]int{}
	for path := range s.Documents {
		var names []string
		for i, part := range strings.Split(path, "/") {
			if i%2 == 0 {
				names = append(names, part)
			}
		}
		counts[strings.Join(names, "/*/")]++
	}
	for _, name := range s.Objects {
		folder, _, _ := strings.Cut(name, "/")
		counts["gs:// "+folder+"/"]++
	}
	if len(s.Accounts) > 0 {
		counts["accounts"] = len(s.Accounts)
	}
	return counts
}
