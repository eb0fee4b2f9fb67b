package resolvedinquiries

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// keptElsewhere is why an image stays whose URL names an object of the bucket, but not one of inquiries'.
const keptElsewhere = "an image outside the folders of inquiries' images (INQUIRY_FOLDERS)"

// keptImage is an image that is not deleted: the path of its message, and why. Its URL is what a user wrote, and in no log.
type keptImage struct{ message, reason string }

// images returns the objects that messages name in imageUrl and that are deleted with them, and which are kept. A URL is
// user input: it counts only if it names an object of our bucket in one of the folders, because a message must not be able to
// name somebody else's file. The objects stay if their inquiry, whose path is given, is restored before a later run gets to
// them. emulatorHost is Storage's, "" in production.
func images(inquiry string, messages []documents.Document, folders []string, bucket, emulatorHost string) (files []leftovers.Object, kept []keptImage) {
	for _, m := range messages {
		value := m.Data["imageUrl"]
		if value == nil || value == "" {
			continue
		}
		name, reason := imageOf(value, folders, bucket, emulatorHost)
		if reason != "" {
			kept = append(kept, keptImage{m.Path, reason})
			continue
		}
		files = append(files, leftovers.Object{Name: name, Absent: inquiry})
	}
	return files, kept
}

// imageOf returns the object that an imageUrl names, or why it names none that may be deleted.
func imageOf(imageURL any, folders []string, bucket, emulatorHost string) (name, reason string) {
	url, ok := imageURL.(string)
	if !ok {
		return "", "an image whose imageUrl is not a text"
	}
	name, err := media.ObjectName(url, bucket, emulatorHost)
	if err != nil {
		return "", fmt.Sprintf("an image with %s", err)
	}
	for _, folder := range folders {
		if len(name) > len(folder) && strings.HasPrefix(name, folder) {
			return name, ""
		}
	}
	return "", keptElsewhere
}

func imagesOf(t target, messages []documents.Document, w *sweep.Writers) ([]leftovers.Object, []keptImage, error) {
	folders, err := config.Folders(w.Config.InquiryFolders)
	if err != nil {
		return nil, nil, err
	}
	files, kept := images(t.path(), messages, folders, w.Config.Bucket, w.Config.Emulators.Storage)
	return files, kept, nil
}

// maxNamed is how many images of an inquiry are named: those that a preview says will be deleted, and those that are kept.
const maxNamed = 20

// keepImages counts the images that are kept and names them by their messages.
func keepImages(ctx context.Context, w *sweep.Writers, kept []keptImage) {
	for i, k := range kept {
		w.Keep(k.reason, 1)
		if i < maxNamed {
			w.Log.WarnContext(ctx, k.message+": its image is kept: "+k.reason, slog.String("target", k.message), slog.String("reason", k.reason))
		}
	}
}

// previewImages says which images go with an inquiry. Only a preview asks for them, at a read each: a run reads the messages
// when it archives them.
func previewImages(ctx context.Context, p *sweep.Planner, inquiry string) (string, error) {
	folders, err := config.Folders(p.Config.InquiryFolders)
	if err != nil {
		return "", err
	}
	withImage := documents.Query{
		Collection: inquiry + "/messages", Where: []documents.Filter{{Field: "imageUrl", Op: ">", Value: ""}},
		OrderBy: []string{"imageUrl"}, Select: []string{"imageUrl"},
	}
	messages, err := p.Documents.First(ctx, withImage, "", maxNamed+1)
	if err != nil {
		return "", err
	}
	files, _ := images(inquiry, messages[:min(len(messages), maxNamed)], folders, p.Config.Bucket, p.Config.Emulators.Storage)
	var names []string
	for _, f := range files {
		if !slices.Contains(names, f.Name) {
			names = append(names, f.Name)
		}
	}
	text := ""
	if len(names) > 0 {
		text = "; with the images " + strings.Join(names, ", ")
	}
	if len(messages) > maxNamed {
		text += "; its further images are not named here"
	}
	return text, nil
}
