package resolvedinquiries

import (
	"fmt"
	"strings"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/leftovers"
	"github.com/firesweep/firesweep/shared/media"
	"github.com/firesweep/firesweep/shared/sweep"
)

// othersFiles are where files lie that belong to something else than inquiries, and that other jobs delete.
var othersFiles = []string{"posts/", "circles/", "task_attachments/"}

// images returns the objects that messages name in imageUrl and that are deleted with them, and why others are kept. A URL
// is user input: it counts only if it names an object of our bucket that is not known to belong to something else (SPEC,
// "cleanupResolvedInquiries"). The objects stay if their inquiry, whose path is given, is restored before a later run gets to
// them. emulatorHost is Storage's, "" in production.
func images(inquiry string, messages []documents.Document, bucket, emulatorHost string) (files []leftovers.Object, kept []string) {
	for _, m := range messages {
		value := m.Data["imageUrl"]
		if value == nil || value == "" {
			continue
		}
		url, ok := value.(string)
		if !ok {
			kept = append(kept, "an image whose imageUrl is not a text")
			continue
		}
		name, err := media.ObjectName(url, bucket, emulatorHost)
		switch {
		case err != nil:
			kept = append(kept, fmt.Sprintf("an image with %s", err))
		case othersFile(name):
			kept = append(kept, "an image under posts/, circles/ or task_attachments/")
		default:
			files = append(files, leftovers.Object{Name: name, Absent: inquiry})
		}
	}
	return files, kept
}

func othersFile(name string) bool {
	for _, prefix := range othersFiles {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

func imagesOf(t target, messages []documents.Document, w *sweep.Writers) (files []leftovers.Object, kept []string) {
	return images(t.path(), messages, w.Config.Bucket, w.Config.Emulators.Storage)
}

func countKeptImages(w *sweep.Writers, reasons []string) {
	for _, reason := range reasons {
		w.Keep(reason, 1)
	}
}
