package enginetest

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/metadata"

	"github.com/firesweep/firesweep/emulator/localdb"
)

func TestRouted(t *testing.T) {
	const ghost, other = "projects/p/databases/ghost", "projects/p/databases/(default)"
	write := &firestorepb.BatchWriteRequest{Database: ghost}
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
		"a query":          {[]string{"google-cloud-resource-prefix", ghost}, &firestorepb.RunQueryRequest{Parent: ghost + "/documents"}, true},
		"a query of another": {
			[]string{"google-cloud-resource-prefix", other}, &firestorepb.RunQueryRequest{Parent: ghost + "/documents/things/a"}, false},
		"what is not known": {[]string{"google-cloud-resource-prefix", ghost}, "?", false},
	} {
		ctx := metadata.AppendToOutgoingContext(t.Context(), tt.header...)
		if got := localdb.CheckRouted(ctx, tt.req) == nil; got != tt.want {
			t.Errorf("%s: routed = %v, want %v", name, got, tt.want)
		}
		var r Recorder
		r.record(ctx, "/google.firestore.v1.Firestore/X", nil) // a stream: its request comes later
		r.record(ctx, "", tt.req)
		if noted := len(r.unroutedRequests()) == 1; noted == tt.want {
			t.Errorf("%s: noted %v", name, r.unroutedRequests())
		}
	}
}
