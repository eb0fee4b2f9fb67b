package resolvedinquiries

import (
	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/objects"
)

// keptElsewhere is the reason to keep an image whose URL names an object of the bucket outside the folders of inquiries'
// images.
const keptElsewhere = "an image outside the folders of inquiries' images (INQUIRY_FOLDERS)"

// settings are the folders of images that are deleted with an inquiry.
var settings config.Own[objects.Folders] = func(l *config.Loader) objects.Folders {
	const what = "folders of the bucket that end with a slash, separated by commas"
	return config.Parsed(l, "INQUIRY_FOLDERS", "inquiries/", what, objects.ParseFolders)
}

// withImages adds to a change the deletion of the objects that its messages name in imageUrl. Only objects in the folders are
// deleted, because a message must not be able to delete somebody else's file. If the inquiry is restored before a later run
// deletes them, they stay.
func (s state) withImages(c cleanup.Change, run cleanup.Run) cleanup.Change {
	images := cascade.Objects{Field: "imageUrl", Under: settings.In(run.Config), Outside: keptElsewhere}
	images.Follow(&c, run.Config, s.Ref(), s.messages...)
	return c
}
