package cascade_test

import (
	"fmt"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

type (
	fields = map[string]any
	array  = []any
)

// TestObjects: what a field that users may write names.
func TestObjects(t *testing.T) {
	t.Parallel()
	const (
		bucket    = "demo.firebasestorage.app"
		noText    = "mediaItems[].url holds no string"
		noObject  = "mediaItems[].url holds a URL that names no object of Cloud Storage"
		elsewhere = "mediaItems[].url holds a URL of another bucket"
		outside   = "mediaItems[].url names an object outside posts/"
	)
	url := func(v any) any { return array{fields{"url": v}} }
	for name, tt := range map[string]struct {
		items any
		names []string
		kept  []string
	}{
		"nothing":            {nil, nil, nil},
		"empty":              {array{}, nil, nil},
		"one":                {url("gs://" + bucket + "/posts/a.png"), []string{"posts/a.png"}, nil},
		"the emulator's":     {url("http://127.0.0.1:9199/v0/b/" + bucket + "/o/posts%2Fa.png"), []string{"posts/a.png"}, nil},
		"twice":              {array{fields{"url": "gs://" + bucket + "/posts/b.png"}, fields{"url": "gs://" + bucket + "/posts/a.png"}, fields{"url": "gs://" + bucket + "/posts/b.png"}}, []string{"posts/a.png", "posts/b.png"}, nil},
		"dots":               {url("gs://" + bucket + "/posts/../circles/c1/a.png"), nil, []string{noObject}},
		"text":               {"gs://" + bucket + "/posts/a.png", nil, []string{noText}},
		"a map":              {fields{"url": "gs://" + bucket + "/posts/a.png"}, nil, []string{noText}},
		"list of texts":      {array{"gs://" + bucket + "/posts/a.png"}, nil, []string{noText}},
		"no url":             {array{fields{"path": "posts/a.png"}, nil}, nil, []string{noText, noText}},
		"an empty url":       {url(""), nil, []string{noObject}},
		"url of a number":    {url(7), nil, []string{noText}},
		"url of a map":       {url(fields{"url": "gs://" + bucket + "/posts/a.png"}), nil, []string{noText}},
		"a name":             {url("posts/a.png"), nil, []string{noObject}},
		"outside posts":      {url("gs://" + bucket + "/circles/c1/icon.png"), nil, []string{outside}},
		"a look-alike":       {url("gs://" + bucket + "/posts2/a.png"), nil, []string{outside}},
		"the folder":         {url("gs://" + bucket + "/posts/"), nil, []string{outside}},
		"another bucket":     {url("gs://demo.firebasestorage.app2/posts/a.png"), nil, []string{elsewhere}},
		"another site":       {url("https://example.com/posts/a.png"), nil, []string{noObject}},
		"encoded, perhaps":   {url("gs://" + bucket + "/posts/a%20b.png"), nil, []string{"mediaItems[].url holds a gs:// location that may be percent-encoded"}},
		"not encoded":        {url("gs://" + bucket + "/posts/100% a.png"), []string{"posts/100% a.png"}, nil},
		"encoded in a URL":   {url("https://storage.googleapis.com/" + bucket + "/posts/a%2520b.png"), []string{"posts/a%20b.png"}, nil},
		"some good, some no": {array{7, fields{"url": "gs://" + bucket + "/posts/a.png"}}, []string{"posts/a.png"}, []string{noText}},
	} {
		media := cascade.Objects{Field: "mediaItems[].url", Under: objects.Folders{"posts/"}, Outside: outside, OwnerKey: "postId"}
		follows(t, name, media, fields{"mediaItems": tt.items}, tt.names, tt.kept)
	}
}

// follows compares what Follow adds for a document with the id d.
func follows(t *testing.T, name string, o cascade.Objects, data fields, names, kept []string) {
	t.Helper()
	d := documents.Document{Path: "drafts/d", Data: data}
	c := config.Config{Bucket: "demo.firebasestorage.app"}
	c.Emulators.Storage = "127.0.0.1:9199"
	var want, got cleanup.Change
	for _, object := range names {
		deletion := cleanup.ObjectDeletion{Name: object, OwnerKey: o.OwnerKey}
		want.Then = append(want.Then, cleanup.FollowUp{Object: deletion, Absent: d.Ref()})
	}
	for _, reason := range kept {
		want.Notices = append(want.Notices, cleanup.Notice{
			Message: "drafts/d: deleted, but not its object: " + reason, Fields: fields{"document": "drafts/d", "reason": reason},
			Kept: map[string]int{reason: 1},
		})
	}
	o.Follow(&got, c, d.Ref(), d)
	check.Same(t, name, want, got)
}

// TestChangedOfWhatIsMissing: nothing is made where there is nothing to remove, and what is no map stays.
func TestChangedOfWhatIsMissing(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		data fields
		want any
	}{
		{fields{}, documents.DeleteField},
		{fields{"profile": fields{}}, fields{}},
		{fields{"profile": nil}, nil},
		{fields{"profile": "x"}, "x"},
		{fields{"profile": fields{"address": fields{"street": "x"}, "n": true}}, fields{"address": fields{}, "n": true}},
	} {
		field, got := cascade.Changed(tt.data, "profile.address.street", documents.DeleteField)
		check.Same(t, fmt.Sprint(tt.data), []any{"profile", tt.want}, []any{field, got})
	}
}
