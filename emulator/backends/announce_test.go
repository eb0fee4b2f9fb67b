package backends

import (
	"strings"
	"testing"
)

// TestADownloadIsAnnounced: what takes long and is logged is printed, and nothing else.
func TestADownloadIsAnnounced(t *testing.T) {
	var out strings.Builder
	log := Announce(&out)
	log.Info("downloading the Firestore emulator", "bytes", 1)
	log.Debug("started")
	if got := out.String(); got != "downloading the Firestore emulator\n" {
		t.Errorf("printed %q", got)
	}
}
