package resolvedinquiries

import (
	"github.com/firesweep/firesweep/shared/along"
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

// withImages has the objects deleted after a commit that its messages name in imageUrl: those in the folders, because a message must not
// be able to name somebody else's file. They stay if the inquiry is restored before a later run gets to them.
func (s state) withImages(c sweep.Change, run sweep.Run) sweep.Change {
	images := along.Objects{Field: "imageUrl", Under: run.Config.Own.(objects.Folders), Outside: keptElsewhere}
	images.Follow(&c, run.Config, s.Ref(), s.messages...)
	return c
}
