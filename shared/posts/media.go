package posts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// media returns the names of the objects that a post's mediaItems name and that may be deleted with it, and why others are
// kept: a URL is user input, so only objects of our bucket under posts/ count. Whether one belongs to another post is asked
// when it is deleted. emulatorHost is Storage's, "" in production.
func media(post documents.Document, bucket, emulatorHost string) (files, kept []string) {
	value, set := post.Data["mediaItems"]
	if !set || value == nil {
		return nil, nil
	}
	items, ok := value.([]any)
	if !ok {
		return nil, []string{"mediaItems is not a list: its files are kept"}
	}
	for _, item := range items {
		m, _ := item.(map[string]any)
		url, ok := m["url"].(string)
		if !ok {
			kept = append(kept, "a media item without a url")
			continue
		}
		name, err := objects.ObjectName(url, bucket, emulatorHost)
		switch {
		case err != nil:
			kept = append(kept, fmt.Sprintf("a media item with %s", err))
		case !strings.HasPrefix(name, "posts/"):
			kept = append(kept, "a media item with a file outside posts/")
		default:
			files = append(files, name)
		}
	}
	slices.Sort(files)
	return slices.Compact(files), kept
}
