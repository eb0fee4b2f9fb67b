package resolvedinquiries

import (
	"fmt"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/sweep"
)

// keptElsewhere is why an image stays whose URL names an object of the bucket, but not one of inquiries'.
const keptElsewhere = "an image outside the folders of inquiries' images (INQUIRY_FOLDERS)"

// settings are the folders of images that go with an inquiry.
func settings(l *config.Loader) any {
	const what = "folders of the bucket that end with a slash, separated by commas"
	return config.Parsed(l, "INQUIRY_FOLDERS", "inquiries/", what, objects.ParseFolders)
}

// withImages has the objects deleted after a commit that its messages name in imageUrl. A URL is user input: it counts only if it
// names an object of our bucket in one of the folders, because a message must not be able to name somebody else's file; the
// log does not hold it. The objects stay if the inquiry is restored before a later run gets to them.
func (s state) withImages(c sweep.Change, run sweep.Run) sweep.Change {
	seen := map[string]bool{}
	for _, m := range s.messages {
		value := m.Data["imageUrl"]
		if value == nil || value == "" {
			continue
		}
		name, reason := imageOf(value, run.Config)
		switch {
		case reason != "":
			c.Kept = append(c.Kept, reason)
			c.Notices = append(c.Notices, sweep.Notice{
				Message: m.Path + ": its image is kept: " + reason, Fields: map[string]any{"document": m.Path, "reason": reason},
			})
		case !seen[name]:
			seen[name] = true
			c.Then = append(c.Then, sweep.FollowUp{Object: sweep.ObjectDeletion{Name: name}, Absent: s.Ref()})
		}
	}
	return c
}

// imageOf returns the object that an imageUrl names, or why it names none that may be deleted.
func imageOf(imageURL any, c config.Config) (name, reason string) {
	url, ok := imageURL.(string)
	if !ok {
		return "", "an image whose imageUrl is not a text"
	}
	name, err := objects.ObjectName(url, c.Bucket, c.Emulators.Storage)
	if err != nil {
		return "", fmt.Sprintf("an image with %s", err)
	}
	if !c.Own.(objects.Folders).Hold(name) {
		return "", keptElsewhere
	}
	return name, ""
}
