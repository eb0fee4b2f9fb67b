package engine_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"cloud.google.com/go/storage"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/engine/undo"
	"github.com/firesweep/firesweep/shared/engine/undo/restore"
)

// onCalls calls do before each request of a method is sent; n counts them from 1. An error of do refuses the request.
func onCalls(f *enginetest.Function, method string, do func(n int) error) {
	var n atomic.Int32
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, full string, message any) error {
		if path.Base(full) != method && (method != deletions || len(thingsIn(message)) == 0) {
			return nil
		}
		return do(int(n.Add(1)))
	})...)
}

// deletions stands for the commits that delete things.
const deletions = "deletions"

// thingsIn returns the things that a request deletes.
func thingsIn(request any) (names []string) {
	commit, _ := request.(*firestorepb.CommitRequest)
	for _, w := range commit.GetWrites() {
		if _, path, _ := strings.Cut(w.GetDelete(), "/documents/"); strings.HasPrefix(path, "things/") {
			names = append(names, path)
		}
	}
	return names
}

// denied is the answer to who may not.
var denied = status.Error(codes.PermissionDenied, "not now")

// onSaved calls do after each commit that writes to the undo log. What it returns says that there was one.
func onSaved(f *enginetest.Function, do func()) *atomic.Bool {
	var saved atomic.Bool
	f.AfterCommits(func(_ int, r *firestorepb.CommitRequest) {
		if strings.Contains(fmt.Sprint(r.GetWrites()), "/cleanupUndo/") {
			saved.Store(true)
			do()
		}
	})
	return &saved
}

// takeBack undoes a run, and returns how much it did of each step. A run that did nothing has no log.
func takeBack(t *testing.T, f *enginetest.Function, runID string) map[undo.Step]int {
	t.Helper()
	steps := map[undo.Step]int{}
	err := f.Restorer(t, f.Clock).Undo(t.Context(), runID, restore.Options{Apply: true}, func(o restore.Outcome) error {
		steps[o.Step]++
		return nil
	})
	if err != nil && !errors.Is(err, restore.ErrNoLog) {
		t.Error(err)
	}
	return steps
}

// refuseStorage has Cloud Storage refuse to delete what ends with a text, until what is returned says false.
func refuseStorage(f *enginetest.Function, suffix string) (refuses *bool) {
	refuses = new(true)
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if *refuses && r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, suffix) {
			return enginetest.StorageRefuses(r, http.StatusBadRequest), nil
		}
		return send()
	})
	return refuses
}

// hold puts an object under a hold, or releases it. Without the embedded Storage, which alone imitates holds, the test is skipped.
func hold(t *testing.T, f *enginetest.Function, name string, held bool) {
	t.Helper()
	if !f.EmbeddedStorage() {
		t.Skip("only the embedded Storage imitates holds")
	}
	_, err := f.Storage(t).Bucket(f.Bucket).Object(name).Update(t.Context(), storage.ObjectAttrsToUpdate{TemporaryHold: held})
	ok(t, err)
}

// lateClock has a function's time be up once what is returned says so.
func lateClock(f *enginetest.Function) *atomic.Bool {
	var late atomic.Bool
	f.Clock = func() time.Time {
		if late.Load() {
			return start.Add(f.Timeout)
		}
		return start
	}
	return &late
}

var (
	ok  = check.OK
	has = check.Holds
)

// begins fails the test unless a text begins with a part of it.
func begins(t *testing.T, text, part string) {
	t.Helper()
	if !strings.HasPrefix(text, part) {
		t.Errorf("%v, want it to begin with %q", text, part)
	}
}

// wantAnswer fails the test unless an answer has a status and holds a text.
func wantAnswer(t *testing.T, what string, w *httptest.ResponseRecorder, status int, part string) {
	t.Helper()
	if w.Code != status || !strings.Contains(w.Body.String(), part) {
		t.Errorf("%s: %d %s, want %d that says %s", what, w.Code, w.Body, status, part)
	}
}

// onlyFailure returns the failure of a run that has no other.
func onlyFailure(t *testing.T, got *report.Report) report.Failure {
	t.Helper()
	if len(got.Failures) != 1 {
		t.Fatalf("%s, failures %v, want one", got.Status, got.Failures)
	}
	return got.Failures[0]
}
