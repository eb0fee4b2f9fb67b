package resolvedinquiries

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/config"
)

func TestFolders(t *testing.T) {
	got, err := parseFolders("inquiries/, サポート/画像/")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"inquiries/", "サポート/画像/"}, got); diff != "" {
		t.Errorf("Folders (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"", "/", "//", "inquiries", "/inquiries/", "inquiries/,", ",", "gs://bucket/inquiries/", "a//b/", "./", "../", "a/../b/",
		"a\n/", "a\x00/", "\xff/", strings.Repeat("a", 1023) + "/"} {
		if got, err := parseFolders(wrong); err == nil {
			t.Errorf("parseFolders(%q) = %v, want an error", wrong, got)
		}
	}
	_, err = config.Load(func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "INQUIRY_FOLDERS": "inquiries"}[name]
	}, Job.Settings, config.Firestore)
	if err == nil || !strings.Contains(err.Error(), `INQUIRY_FOLDERS is "inquiries": it must be folders`) {
		t.Errorf("Load: %v", err)
	}
}
