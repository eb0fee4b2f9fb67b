package posts

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/documents"
)

func TestMedia(t *testing.T) {
	const bucket = "demo.firebasestorage.app"
	url := func(v any) any { return []any{map[string]any{"url": v}} }
	for name, tt := range map[string]struct {
		items any
		files []string
		kept  []string
	}{
		"nothing":            {nil, nil, nil},
		"empty":              {[]any{}, nil, nil},
		"one":                {url("gs://" + bucket + "/posts/a.png"), []string{"posts/a.png"}, nil},
		"the emulator's":     {url("http://127.0.0.1:9199/v0/b/" + bucket + "/o/posts%2Fa.png"), []string{"posts/a.png"}, nil},
		"twice":              {[]any{map[string]any{"url": "gs://" + bucket + "/posts/b.png"}, map[string]any{"url": "gs://" + bucket + "/posts/a.png"}, map[string]any{"url": "gs://" + bucket + "/posts/b.png"}}, []string{"posts/a.png", "posts/b.png"}, nil},
		"dots":               {url("gs://" + bucket + "/posts/../circles/c1/a.png"), nil, []string{"a media item with a URL that names no object of Cloud Storage"}},
		"text":               {"gs://" + bucket + "/posts/a.png", nil, []string{"mediaItems is not a list: its files are kept"}},
		"a map":              {map[string]any{"url": "gs://" + bucket + "/posts/a.png"}, nil, []string{"mediaItems is not a list: its files are kept"}},
		"list of texts":      {[]any{"gs://" + bucket + "/posts/a.png"}, nil, []string{"a media item without a url"}},
		"no url":             {[]any{map[string]any{"path": "posts/a.png"}, nil}, nil, []string{"a media item without a url", "a media item without a url"}},
		"url of a number":    {url(7), nil, []string{"a media item without a url"}},
		"outside posts":      {url("gs://" + bucket + "/circles/c1/icon.png"), nil, []string{"a media item with a file outside posts/"}},
		"a look-alike":       {url("gs://" + bucket + "/posts2/a.png"), nil, []string{"a media item with a file outside posts/"}},
		"another bucket":     {url("gs://demo.firebasestorage.app2/posts/a.png"), nil, []string{"a media item with a URL of another bucket"}},
		"another site":       {url("https://example.com/posts/a.png"), nil, []string{"a media item with a URL that names no object of Cloud Storage"}},
		"some good, some no": {[]any{7, map[string]any{"url": "gs://" + bucket + "/posts/a.png"}}, []string{"posts/a.png"}, []string{"a media item without a url"}},
	} {
		post := documents.Document{Path: "posts/p1", Data: map[string]any{"mediaItems": tt.items}}
		files, kept := media(post, bucket, "127.0.0.1:9199")
		if diff := cmp.Diff(tt.files, files); diff != "" {
			t.Errorf("%s: files (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(tt.kept, kept); diff != "" {
			t.Errorf("%s: kept (-want +got):\n%s", name, diff)
		}
	}
	if files, kept := media(documents.Document{Path: "posts/p1"}, bucket, ""); files != nil || kept != nil {
		t.Errorf("no data at all: %v, %v", files, kept)
	}
}
