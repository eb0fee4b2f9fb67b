package localdb

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/metadata"
)

func TestRouted(t *testing.T) {
	const ghost, other = "projects/p/databases/ghost", "projects/p/databases/(default)"
	write := &firestorepb.CommitRequest{Database: ghost}
	query := func(parent string) *firestorepb.RunQueryRequest {
		from := []*firestorepb.StructuredQuery_CollectionSelector{{CollectionId: "things"}}
		return &firestorepb.RunQueryRequest{Parent: parent, QueryType: &firestorepb.RunQueryRequest_StructuredQuery{
			StructuredQuery: &firestorepb.StructuredQuery{From: from}}}
	}
	for name, tt := range map[string]struct {
		header []string
		req    any
		want   bool
	}{
		"none":             {nil, write, false},
		"the wrong header": {[]string{"x-goog-request-params", "database=" + ghost}, write, false},
		"right":            {[]string{"google-cloud-resource-prefix", ghost}, write, true},
		"another database": {[]string{"google-cloud-resource-prefix", other}, write, false},
		"two":              {[]string{"google-cloud-resource-prefix", ghost, "google-cloud-resource-prefix", other}, write, false},
		"a query":          {[]string{"google-cloud-resource-prefix", ghost}, query(ghost + "/documents"), true},
		"a query of another": {
			[]string{"google-cloud-resource-prefix", other}, query(ghost + "/documents/things/a"), false},
		"what is not known": {[]string{"google-cloud-resource-prefix", ghost}, "?", false},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), tt.header...)
		if got := checkRouted(ctx, tt.req) == nil; got != tt.want {
			t.Errorf("%s: routed = %v, want %v", name, got, tt.want)
		}
	}
}
