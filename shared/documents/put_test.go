package documents_test

import (
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/documents"
)

// TestPut sets, updates and deletes documents together, in one request, and again if that fails for a while or its answer is lost.
func TestPut(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	type data = map[string]any
	set, gone := documents.Ref{Collection: "things", ID: "set"}, documents.Ref{Collection: "things", ID: "gone"}
	both := []documents.Write{{Op: documents.Set, Ref: set, Data: data{"n": 2}}, {Op: documents.Delete, Ref: gone}}
	before := map[string]data{"set": {"n": int64(1), "other": "x"}, "gone": {"n": int64(1)}}
	after := map[string]data{"set": {"n": int64(2)}}
	lost := status.Error(codes.Unavailable, "the connection broke")
	for name, tt := range map[string]struct {
		writes   []documents.Write
		disturb  func(send func() error) error // the first request
		requests int
		fails    string
		want     map[string]data
	}{
		"undisturbed":     {both, nil, 1, "", after},
		"not sent":        {both, func(func() error) error { return lost }, 2, "", after},
		"its answer lost": {both, func(send func() error) error { _ = send(); return lost }, 2, "", after},
		"refused":         {both, func(func() error) error { return status.Error(codes.PermissionDenied, "no") }, 1, "no", before},
		"nothing":         {nil, nil, 0, "", before},
		"one is too large": {append([]documents.Write{{Op: documents.Set, Ref: documents.Ref{Collection: "things", ID: "large"}, Data: data{"x": strings.Repeat("x", 1<<20)}}}, both...),
			nil, 1, "InvalidArgument", before},
		"an update": {append(both, documents.Write{Op: documents.Update, Ref: set, Data: data{"other": "y"}}), nil, 1, "",
			map[string]data{"set": {"n": int64(2), "other": "y"}}},
		"an update whose answer is lost": {[]documents.Write{{Op: documents.Update, Ref: set, Data: data{"other": "y"}}},
			func(send func() error) error { _ = send(); return lost }, 2, "",
			map[string]data{"set": {"n": int64(1), "other": "y"}, "gone": {"n": int64(1)}}},
		"a creation":  {append(both, documents.Write{Op: documents.Create, Ref: gone, Data: data{"n": 3}}), nil, 0, "may be repeated", before},
		"not a place": {append(both, documents.Write{Op: documents.Delete, Ref: documents.Ref{Collection: "a/b", ID: "c"}}), nil, 0, "not a document's path", before},
	} {
		p.Reset(t)
		for id, d := range before {
			p.Set(t, "things/"+id, d)
		}
		requests := 0
		w, told := telling(t, p, func(n int, send func() error) error {
			if requests = n; n == 1 && tt.disturb != nil {
				return tt.disturb(send)
			}
			return send()
		})
		err := w.Put(t.Context(), tt.writes)
		if (err == nil) != (tt.fails == "") || err != nil && !strings.Contains(err.Error(), tt.fails) {
			t.Errorf("%s: %v, want %q", name, err, tt.fails)
		}
		if requests != tt.requests || len(*told) > 0 {
			t.Errorf("%s: %d requests, want %d; told of %v", name, requests, tt.requests, *told)
		}
		same(t, name+": documents", tt.want, p.Documents(t, "things"))
	}
}
