package objects

import (
	"slices"
	"strings"
	"testing"
)

func TestFolders(t *testing.T) {
	longest := strings.Repeat("a", 1022) + "/"
	got, err := ParseFolders("inquiries/, サポート/画像/," + longest)
	if err != nil || !slices.Equal(got, Folders{"inquiries/", "サポート/画像/", longest}) {
		t.Errorf("ParseFolders = %v, %v", got, err)
	}
	for _, wrong := range []string{"", "/", "//", "inquiries", "/inquiries/", "inquiries/,", ",", "gs://bucket/inquiries/", "a//b/",
		"./", "../", "a/../b/",
		"a\n/", "a\r/", "a\x00/", "\xff/", "a" + longest} {
		if got, err := ParseFolders(wrong); err == nil {
			t.Errorf("ParseFolders(%q) = %v, want an error", wrong, got)
		}
	}
	for object, want := range map[string]bool{
		"inquiries/a.png": true, "inquiries/i1/a.png": true, "サポート/画像/a": true,
		"inquiries/": false, "inquiries": false, "inquiriesx/a.png": false, "Inquiries/a.png": false, "x/inquiries/a.png": false, "サポート/a": false, "": false,
	} {
		if got.Hold(object) != want {
			t.Errorf("Hold(%q) = %v, want %v", object, !want, want)
		}
	}
}
