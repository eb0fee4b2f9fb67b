package backendstest_test

import (
	"context"
	"strings"
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

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
