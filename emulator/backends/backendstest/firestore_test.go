package backendstest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

// TestFirestorePreconditions holds what the bundle's races rest on: how writes with preconditions end.
func TestFirestorePreconditions(t *testing.T) {
	ctx := context.Background()
	p := backendstest.Start(t)
	documents := p.Firestore(t).Collection("c")
	raw := p.RawFirestore(t)
	ctx = backendstest.AsOwner(ctx) // else security rules are asked
	database := "projects/" + p.ID + "/databases/(default)"

	set := func(id string, n int) time.Time {
		result, err := documents.Doc(id).Set(ctx, map[string]any{"n": n})
		if err != nil {
			t.Fatal(err)
		}
		return result.UpdateTime
	}
	remove := func(id string) {
		if _, err := documents.Doc(id).Delete(ctx); err != nil {
			t.Fatal(err)
		}
	}
	at := func(updated time.Time) *firestorepb.Precondition {
		return &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_UpdateTime{UpdateTime: timestamppb.New(updated)}}
	}
	exists := func(does bool) *firestorepb.Precondition {
		return &firestorepb.Precondition{ConditionType: &firestorepb.Precondition_Exists{Exists: does}}
	}
	// Each prepares a document and returns the precondition of its deletion.
	tests := map[string]struct {
		prepare func(id string) *firestorepb.Precondition
		want    codes.Code
	}{
		"unchanged":     {func(id string) *firestorepb.Precondition { return at(set(id, 1)) }, codes.OK},
		"written-alike": {func(id string) *firestorepb.Precondition { u := set(id, 1); set(id, 1); return at(u) }, codes.OK},
		"changed": {func(id string) *firestorepb.Precondition { u := set(id, 1); set(id, 2); return at(u) },
			codes.FailedPrecondition},
		"deleted": {func(id string) *firestorepb.Precondition { u := set(id, 1); remove(id); return at(u) },
			codes.FailedPrecondition},
		"created-anew": {func(id string) *firestorepb.Precondition { u := set(id, 1); remove(id); set(id, 1); return at(u) },
			codes.FailedPrecondition},
		"missing":               {func(string) *firestorepb.Precondition { return nil }, codes.OK},
		"missing-that-exists":   {func(string) *firestorepb.Precondition { return exists(true) }, codes.NotFound},
		"there-that-does-not":   {func(id string) *firestorepb.Precondition { set(id, 1); return exists(false) }, codes.AlreadyExists},
		"there-without-a-guard": {func(id string) *firestorepb.Precondition { set(id, 1); return nil }, codes.OK},
	}
	writes := func(prefix string) ([]*firestorepb.Write, []string) {
		var all []*firestorepb.Write
		var names []string
		for name, test := range tests {
			all = append(all, &firestorepb.Write{
				CurrentDocument: test.prepare(prefix + name),
				Operation:       &firestorepb.Write_Delete{Delete: database + "/documents/c/" + prefix + name},
			})
			names = append(names, name)
		}
		return all, names
	}

	all, names := writes("commit-")
	for i, write := range all {
		_, err := raw.Commit(ctx, &firestorepb.CommitRequest{Database: database, Writes: []*firestorepb.Write{write}})
		if got := status.Code(err); got != tests[names[i]].want {
			t.Errorf("commit, %s: %v, want %v", names[i], got, tests[names[i]].want)
		}
	}

	all, names = writes("batch-")
	answer, err := raw.BatchWrite(ctx, &firestorepb.BatchWriteRequest{Database: database, Writes: all})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range answer.Status {
		if got := codes.Code(s.Code); got != tests[names[i]].want {
			t.Errorf("batch write, %s: %v, want %v", names[i], got, tests[names[i]].want)
		}
	}

	// Of a commit all or nothing is done.
	all, _ = writes("together-")
	if _, err := raw.Commit(ctx, &firestorepb.CommitRequest{Database: database, Writes: all}); err == nil {
		t.Error("a commit with failing writes went through")
	}
	for _, id := range []string{"together-unchanged", "together-there-without-a-guard"} {
		if _, err := documents.Doc(id).Get(ctx); err != nil {
			t.Errorf("after a commit that failed: %v", err)
		}
	}
}

// TestSecurityRulesAreOfOneProject: rules that a test sets judge the clients of its own project, and nobody else.
func TestSecurityRulesAreOfOneProject(t *testing.T) {
	t.Parallel()
	const rules = `rules_version = '2';
service cloud.firestore { match /databases/{d}/documents { match /users/{u} { allow write: if request.auth.uid == u; } } }`
	mine, other := backendstest.Start(t), backendstest.Start(t)
	raw := mine.RawFirestore(t)
	write := func(ctx context.Context, p *backendstest.Project, path string) codes.Code {
		database := "projects/" + p.ID + "/databases/(default)"
		_, err := raw.Commit(ctx, &firestorepb.CommitRequest{Database: database, Writes: []*firestorepb.Write{{
			Operation: &firestorepb.Write_Update{Update: &firestorepb.Document{Name: database + "/documents/" + path}},
		}}})
		return status.Code(err)
	}
	if err := mine.SetSecurityRules(t.Context(), rules); err != nil {
		t.Fatal(err)
	}
	if err := mine.SetSecurityRules(t.Context(), strings.Replace(rules, "==", "=", 1)); err == nil {
		t.Error("rules that are wrong are taken")
	}
	if err := other.SetSecurityRules(t.Context(), strings.Replace(rules, "if request.auth.uid == u", "if true", 1)); err != nil {
		t.Fatal(err)
	}
	const refused = codes.PermissionDenied
	for _, tt := range []struct {
		name string
		ctx  context.Context
		p    *backendstest.Project
		path string
		want codes.Code
	}{
		{name: "its user", ctx: mine.As(t.Context(), "ken"), p: mine, path: "users/ken", want: codes.OK},
		{name: "another", ctx: mine.As(t.Context(), "ken"), p: mine, path: "users/hana", want: refused},
		{name: "nobody", ctx: mine.As(t.Context(), ""), p: mine, path: "users/ken", want: refused},
		{name: "an administrator", ctx: backendstest.AsOwner(t.Context()), p: mine, path: "users/hana", want: codes.OK},
		{name: "another project", ctx: other.As(t.Context(), "ken"), p: other, path: "users/hana", want: codes.OK},
	} {
		if got := write(tt.ctx, tt.p, tt.path); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}
