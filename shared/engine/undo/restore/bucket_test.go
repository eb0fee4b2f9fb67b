package restore_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/jobstate"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

func (w world) attrs(t *testing.T, name string) *storage.ObjectAttrs {
	t.Helper()
	attrs, err := w.Storage(t).Bucket(w.Bucket).Object(name).Attrs(t.Context())
	ok(t, err)
	return attrs
}

// TestVersionedBucket: what a run deleted is noncurrent there, and comes back as it was, also if the bucket's soft delete is
// off, and the answer to that is lost. What had been overwritten before does not.
func TestVersionedBucket(t *testing.T) {
	w := newWorld(t)
	w.SetSoftDelete(t, 0)
	w.SetVersioning(t)
	w.Put(t, "users/u1/a.png", map[string]string{"k": "w"}, []byte("new"))
	w.Put(t, "orphan", map[string]string{"k": "w"}, []byte("newer"))
	before := map[string]*storage.ObjectAttrs{}
	for _, name := range w.Objects(t) {
		before[name] = w.attrs(t, name)
	}
	report := w.run(t)
	var lost atomic.Bool
	w.disturb(t, backends.Hooks{Transport: enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		answer, err := send()
		if err == nil && strings.Contains(r.URL.Path, "/rewriteTo/") && lost.CompareAndSwap(false, true) {
			return nil, errors.Join(syscall.ECONNRESET, answer.Body.Close())
		}
		return answer, err
	})})
	foretold, _ := w.undo(t, report.RunID, restore.Options{})
	steps, why := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "done", foretold, steps)
	for name, was := range before {
		if !slices.Contains(steps[undo.Recreate], "gs://bucket/"+name) {
			t.Errorf("%s: %v, %v", name, steps, why)
			continue
		}
		is := w.attrs(t, name)
		enginetest.Want(t, "crc32c", was.CRC32C, is.CRC32C)
		enginetest.Want(t, "k", was.Metadata["k"], is.Metadata["k"])
		enginetest.Want(t, "content type", was.ContentType, is.ContentType)
	}
	again, _ := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "back or refused the second time", 0, len(again[undo.Recreate])+len(again[undo.Conflict]))
}

// TestObjectsThatCannotComeBack: one whose key is gone, say, does not keep the others from coming back; who may not restore at
// all is told so.
func TestObjectsThatCannotComeBack(t *testing.T) {
	for message, tt := range map[string]struct {
		code  int
		fails bool
	}{
		"the object is encrypted by a customer-supplied encryption key": {http.StatusBadRequest, false},
		"Permission denied on Cloud KMS key":                            {http.StatusForbidden, false},
		"you do not have storage.objects.restore access":                {http.StatusForbidden, true},
	} {
		w, report := newRun(t)
		w.disturb(t, backends.Hooks{Transport: enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			if !strings.Contains(r.URL.Path, "/orphan/restore") {
				return send()
			}
			return refusal(r, tt.code, message), nil
		})})
		if tt.fails {
			err := w.tried(t, report.RunID, apply)
			check.Fails(t, err, message)
			continue
		}
		steps, why := w.undo(t, report.RunID, apply)
		enginetest.Want(t, message, []string{"gs://bucket/orphan"}, steps[undo.Lost])
		check.Holds(t, why["gs://bucket/orphan"], message)
		enginetest.Want(t, "objects", 3, len(w.Objects(t)))
	}
}

// TestAnotherOfTheNameWentMeanwhile: an object comes back although there was one of its name when it was first to.
func TestAnotherOfTheNameWentMeanwhile(t *testing.T) {
	w, report := newRun(t)
	first := true
	w.disturb(t, backends.Hooks{Transport: enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if !strings.Contains(r.URL.Path, "/orphan/restore") || !first {
			return send()
		}
		first = false
		return refusal(r, http.StatusPreconditionFailed, "there is one"), nil
	})})
	steps, _ := w.undo(t, report.RunID, apply)
	enginetest.Want(t, "conflicts", 0, len(steps[undo.Conflict]))
	enginetest.Want(t, "objects", 4, len(w.Objects(t)))
	enginetest.Want(t, "refused once", false, first)
}

// refusal is an answer of Cloud Storage that refuses a request.
func refusal(r *http.Request, code int, message string) *http.Response {
	return &http.Response{StatusCode: code, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"error": {"code": %d, "message": %q}}`, code, message)))}
}

// TestFilesComeBackWithTheirMetadata: from soft delete, and from versions.
func TestFilesComeBackWithTheirMetadata(t *testing.T) {
	for _, versions := range []bool{false, true} {
		w := newWorld(t)
		if versions {
			w.SetVersioning(t)
		}
		w.Put(t, "users/u1/b.png", map[string]string{"k": "b"}, []byte("b"))
		w.undo(t, w.run(t).RunID, apply)
		enginetest.Want(t, "metadata", map[string]string{"k": "b"}, w.attrs(t, "users/u1/b.png").Metadata)
	}
}

// TestDeletedBySomebodyElse: an object that somebody else deleted or overwrote before the run was to, which was killed then, or
// when it cannot have been under way any more, does not come back, nor does one of a folder. Clocks may differ by some seconds;
// of two versions within these, the last comes back.
func TestDeletedBySomebodyElse(t *testing.T) {
	for after, want := range map[time.Duration]undo.Step{
		5 * time.Second: undo.Recreate, 20 * time.Second: undo.Nothing,
		-jobstate.Longest: undo.Recreate, -jobstate.Longest - 20*time.Second: undo.Nothing,
	} {
		w := newWorld(t)
		for _, content := range []string{"older", "newer"} {
			w.Put(t, "users/u1/b.png", map[string]string{"content": content}, []byte(content))
		}
		report := w.run(t)
		w.disturb(t, backends.Hooks{Dial: loggedLater(after)})
		only := restore.Options{Apply: true, Only: []string{"gs://" + w.Bucket + "/orphan"}}
		steps, _ := w.undo(t, report.RunID, only)
		enginetest.Want(t, after.String(), map[undo.Step][]string{want: {"gs://bucket/orphan"}}, steps)
		file := "gs://" + w.Bucket + "/users/u1/b.png"
		steps, why := w.undo(t, report.RunID, restore.Options{Apply: true, Only: []string{file}})
		enginetest.Want(t, fmt.Sprint("of a folder, ", after, why), map[undo.Step][]string{want: {"gs://bucket/users/u1/b.png"}}, steps)
		if want == undo.Recreate {
			enginetest.Want(t, "content", "newer", w.attrs(t, "users/u1/b.png").Metadata["content"])
		}
	}
}

// loggedLater lets whoever queries see each entry of the undo log as written later than it was.
func loggedLater(by time.Duration) []grpc.DialOption {
	return wire.After(func(_ string, m any, err error) error {
		if answer, ok := m.(*firestorepb.RunQueryResponse); ok && strings.Contains(answer.GetDocument().GetName(), "/cleanupUndo/") {
			d := answer.GetDocument()
			d.UpdateTime = timestamppb.New(d.GetUpdateTime().AsTime().Add(by))
			d.Fields["at"] = &firestorepb.Value{ValueType: &firestorepb.Value_TimestampValue{
				TimestampValue: timestamppb.New(d.GetFields()["at"].GetTimestampValue().AsTime().Add(by)),
			}}
		}
		return err
	})
}
