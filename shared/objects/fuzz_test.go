package objects

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzObjectName: an accepted name is one that an object can have, and each kind of URL for it gives the same name again.
func FuzzObjectName(f *testing.F) {
	for _, seed := range []string{
		"https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fu1%2Fa.png?alt=media&token=t",
		"https://storage.googleapis.com/" + ours + "/posts/u1/a%20b.png",
		"https://" + ours + ".storage.googleapis.com/posts/u1/a.png?x=1#f",
		"https://firebasestorage.googleapis.com:443/v0/b/" + ours + "/o/posts%2Fa.png", "https://storage.googleapis.com:443/" + ours + "/a",
		"https://" + ours + ".storage.googleapis.com:443/a", "https://" + ours + ".storage.googleapis.com:443:443/a",
		"gs://" + ours + "/posts/a?b#c +%zz.png", "http://localhost:9199/v0/b/" + ours + "/o/posts%2F%F0%9F%98%80.png",
		"http://127.0.0.1:9199/" + ours + "/posts/../circles/a.png", "https://storage.googleapis.com/other/" + ours + "/a",
		"https://u@storage.googleapis.com/" + ours + "/a", "https://storage.googleapis.com/" + ours + "/%ff", "gs://" + ours + "/..",
		"gs://" + ours + "/.well-known/acme-challenge/a", "https:storage.googleapis.com/" + ours + "/a", "", "%", "gs://",
		"https://storage.googleapis.com//" + ours + "/a", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/a/o/b",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, rawURL string) {
		name, err := ObjectName(rawURL, ours, emulator)
		if err != nil {
			if name != "" {
				t.Fatalf("refused, and yet the name %q", name)
			}
			return
		}
		if !strings.Contains(rawURL, ours) {
			t.Fatalf("accepted %q without our bucket in it", rawURL)
		}
		// Cloud Storage, "Object names": 1 to 1024 bytes of UTF-8, no carriage return or line feed, not "." or "..".
		if name == "" || len(name) > 1024 || !utf8.ValidString(name) || strings.ContainsAny(name, "\r\n") || name == "." ||
			name == ".." ||
			strings.HasPrefix(name, ".well-known/acme-challenge/") {
			t.Fatalf("no object can have the name %q", name)
		}
		whole := url.PathEscape(name)
		for _, form := range []string{
			"gs://" + ours + "/" + name,
			"https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/" + whole + "?alt=media",
			"https://firebasestorage.googleapis.com:443/v0/b/" + ours + "/o/" + whole,
			"https://storage.googleapis.com:443/" + ours + "/" + whole,
			"https://" + ours + ".storage.googleapis.com:443/" + whole,
			"http://" + emulator + "/v0/b/" + ours + "/o/" + whole,
			"https://storage.googleapis.com/" + ours + "/" + strings.ReplaceAll(whole, "%2F", "/"),
			"https://" + ours + ".storage.googleapis.com/" + whole,
		} {
			if again, err := ObjectName(form, ours, emulator); err != nil || again != name {
				t.Errorf("%q: %q, %v, want %q", form, again, err, name)
			}
			if again, err := ObjectName(form, ours+"x", emulator); err == nil {
				t.Errorf("%q: accepted as %q of another bucket", form, again)
			}
		}
		if strings.HasPrefix(rawURL, "http://") {
			if _, err := ObjectName(rawURL, ours, ""); err == nil {
				t.Errorf("%q: accepted where there is no emulator", rawURL)
			}
		}
	})
}
