package objects

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/firesweep/firesweep/emulator/check"
)

const (
	ours     = "my-app.firebasestorage.app"
	emulator = "127.0.0.1:9199"
)

func TestObjectName(t *testing.T) {
	tests := []struct {
		name, url, want string
		err             error
	}{
		{"Firebase", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fu1%2Fa.png?alt=media&token=t", "posts/u1/a.png", nil},
		{"Firebase, odd characters", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2F%E5%86%99%E7%9C%9F%20%2B%25%23%3F%F0%9F%98%80.png", "posts/写真 +%#?😀.png", nil},
		{"Firebase, a plus is a plus", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fa+b.png", "posts/a+b.png", nil},
		{"Firebase, escaped twice", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%252Fa.png", "posts%2Fa.png", nil},
		{"Firebase, :443", "https://firebasestorage.googleapis.com:443/v0/b/" + ours + "/o/posts%2Fa.png?alt=media&token=t", "posts/a.png", nil},
		{"Cloud Storage, path", "https://storage.googleapis.com/" + ours + "/posts/u1/a%20b.png", "posts/u1/a b.png", nil},
		{"Cloud Storage, host", "https://" + ours + ".storage.googleapis.com/posts/u1/a.png?x=1", "posts/u1/a.png", nil},
		{"Firebase, a fragment", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fa.png?alt=media#t=1", "posts/a.png", nil},
		{"Cloud Storage, path, # as it is", "https://storage.googleapis.com/" + ours + "/posts/a#1.png", "", ErrURLForm},
		{"Cloud Storage, path, # at the end", "https://storage.googleapis.com/" + ours + "/posts/a#", "", ErrURLForm},
		{"Cloud Storage, host, # as it is", "https://" + ours + ".storage.googleapis.com/posts/a.png?x=1#f", "", ErrURLForm},
		{"Cloud Storage, path, ? as it is", "https://storage.googleapis.com/" + ours + "/posts/a?1.png", "", ErrURLForm},
		{"Cloud Storage, host, ? at the end", "https://" + ours + ".storage.googleapis.com/posts/a?", "", ErrURLForm},
		{"Cloud Storage, both escaped", "https://storage.googleapis.com/" + ours + "/posts/a%23%3F1.png", "posts/a#?1.png", nil},
		{"Cloud Storage, path, :443", "https://storage.googleapis.com:443/" + ours + "/posts/u1/a%20b.png", "posts/u1/a b.png", nil},
		{"Cloud Storage, host, :443", "https://" + ours + ".storage.googleapis.com:443/posts/u1/a.png", "posts/u1/a.png", nil},
		{"gs", "gs://" + ours + "/posts/u1/a%20b.png", "posts/u1/a%20b.png", nil},
		{"gs, odd characters", "gs://" + ours + "/posts/a?b#c +.png", "posts/a?b#c +.png", nil},
		{"emulator", "http://127.0.0.1:9199/v0/b/" + ours + "/o/posts%2Fa.png?alt=media", "posts/a.png", nil},
		{"emulator as localhost", "http://localhost:9199/v0/b/" + ours + "/o/posts%2Fa.png", "posts/a.png", nil},
		{"emulator, as Cloud Storage", "http://127.0.0.1:9199/" + ours + "/posts/a.png", "posts/a.png", nil},
		{"dots that lead elsewhere", "gs://" + ours + "/posts/../circles/a.png", "", ErrURLForm},
		{"dots in a name", "gs://" + ours + "/posts/..a/b..c/.d", "posts/..a/b..c/.d", nil},

		{"gs, what no URL may hold", "gs://" + ours + "/posts/100%.png", "posts/100%.png", nil},

		{"reserved by Cloud Storage", "gs://" + ours + "/.well-known/acme-challenge/a", "", ErrURLForm},
		{"another bucket", "https://firebasestorage.googleapis.com/v0/b/their-app/o/posts%2Fa.png", "", ErrURLBucket},
		{"another bucket, Firebase, :443", "https://firebasestorage.googleapis.com:443/v0/b/their-app/o/posts%2Fa.png", "", ErrURLBucket},
		{"another bucket, host, :443", "https://their-app.storage.googleapis.com:443/posts/a.png", "", ErrURLBucket},
		{"another bucket, path", "https://storage.googleapis.com/their-app/posts/a.png", "", ErrURLBucket},
		{"another bucket, host", "https://their-app.storage.googleapis.com/posts/a.png", "", ErrURLBucket},
		{"another bucket, gs", "gs://their-app/posts/a.png", "", ErrURLBucket},
		{"bucket that begins like ours", "gs://" + ours + "x/posts/a.png", "", ErrURLBucket},
		{"our bucket as a folder of another", "gs://their-app/" + ours + "/posts/a.png", "", ErrURLBucket},
		{"download by the JSON API", "https://storage.googleapis.com/download/storage/v1/b/" + ours + "/o/posts%2Fa.png?generation=1&alt=media", "", ErrURLForm},
		{"the JSON API", "https://storage.googleapis.com/storage/v1/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"bucket escaped", "https://storage.googleapis.com/my%2Dapp.firebasestorage.app/posts/a.png", "", ErrURLBucket},

		{"empty", "", "", ErrURLForm},
		{"path only", "posts/u1/a.png", "", ErrURLForm},
		{"another host", "https://example.com/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"host as user", "https://firebasestorage.googleapis.com@evil.example/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"user before the host", "https://me@firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"host with a tail", "https://firebasestorage.googleapis.com.evil.example/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"http", "http://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"http, :443", "http://firebasestorage.googleapis.com:443/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"another port", "https://firebasestorage.googleapis.com:8443/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"no port after the colon", "https://storage.googleapis.com:/" + ours + "/posts/a.png", "", ErrURLForm},
		{"two ports", "https://firebasestorage.googleapis.com:443:443/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"two ports, host", "https://" + ours + ".storage.googleapis.com:443:443/posts/a.png", "", ErrURLForm},
		{"gs with a port", "gs://" + ours + ":443/posts/a.png", "", ErrURLBucket},
		{"ftp", "ftp://storage.googleapis.com/" + ours + "/posts/a.png", "", ErrURLForm},
		{"another port than the emulator's", "http://127.0.0.1:9198/v0/b/" + ours + "/o/posts%2Fa.png", "", ErrURLForm},
		{"Firebase, unescaped slashes", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts/a.png", "", ErrURLForm},
		{"Firebase, no object", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/", "", ErrURLForm},
		{"Firebase, listing", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o", "", ErrURLForm},
		{"Firebase, another path", "https://firebasestorage.googleapis.com/" + ours + "/posts/a.png", "", ErrURLForm},
		{"bucket only", "gs://" + ours, "", ErrURLForm},
		{"bucket and slash", "https://storage.googleapis.com/" + ours + "/", "", ErrURLForm},
		{"bad escape", "https://storage.googleapis.com/" + ours + "/posts/%zz", "", ErrURLForm},
		{"not UTF-8", "https://storage.googleapis.com/" + ours + "/posts/%ff", "", ErrURLForm},
		{"too long", "gs://" + ours + "/posts/" + strings.Repeat("a", 1024), "", ErrURLForm},
		{"longest", "gs://" + ours + "/" + strings.Repeat("あ", 341) + "a", strings.Repeat("あ", 341) + "a", nil},
		{"too long by a byte, not by characters", "gs://" + ours + "/" + strings.Repeat("あ", 341) + "é", "", ErrURLForm},
		{"line feed", "https://storage.googleapis.com/" + ours + "/posts/a%0Ab.png", "", ErrURLForm},
		{"carriage return", "https://" + ours + ".storage.googleapis.com/posts/a.png%0D", "", ErrURLForm},
		{"line feed, Firebase", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/posts%2Fa%0a.png", "", ErrURLForm},
		{"other control characters", "https://storage.googleapis.com/" + ours + "/posts/a%09b", "posts/a\tb", nil},
		{"a dot", "https://storage.googleapis.com/" + ours + "/.", "", ErrURLForm},
		{"two dots", "gs://" + ours + "/..", "", ErrURLForm},
		{"two dots, Firebase", "https://firebasestorage.googleapis.com/v0/b/" + ours + "/o/%2E%2E", "", ErrURLForm},
		{"three dots", "gs://" + ours + "/...", "...", nil},
		{"dots as folders", "gs://" + ours + "/./..", "", ErrURLForm},
		{"opaque", "gs:" + ours + "/posts/a.png", "", ErrURLForm},
		{"data", "data:image/png;base64,AAAA", "", ErrURLForm},
		{"script", "javascript:alert(1)", "", ErrURLForm},
		{"control character", "gs://" + ours + "/posts/\n", "", ErrURLForm},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ObjectName(tt.url, ours, emulator)
			check.Same(t, tt.url, tt.want, got)
			check.Is(t, tt.url, err, tt.err)
		})
	}
	if got, err := ObjectName("http://127.0.0.1:9199/v0/b/"+ours+"/o/posts%2Fa.png", ours, ""); err == nil {
		t.Errorf("the emulator's URL was understood in production: %q", got)
	}
}

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
			again, err := ObjectName(form, ours, emulator)
			check.Same(t, form, []any{name, nil}, []any{again, err})
			_, err = ObjectName(form, ours+"x", emulator)
			check.Fails(t, err)
		}
		if strings.HasPrefix(rawURL, "http://") {
			_, err := ObjectName(rawURL, ours, "")
			check.Fails(t, err)
		}
	})
}

// TestIsPicture: pictures of those with whom people sign in are no objects. Whatever may be one, or has another URL, is no picture.
func TestIsPicture(t *testing.T) {
	for text, want := range map[string]bool{
		"https://lh3.googleusercontent.com/a/ACg8ocJ=s96-c": true, "https://lh5.googleusercontent.com/a-/AOh14Gj=s96-c": true,
		"https://graph.facebook.com/10158/picture?type=large": true, " http://graph.facebook.com/10158/picture\n": true,
		"https://platform-lookaside.fbsbx.com/platform/profilepic/?asid=1&height=50&ext=1&hash=A": true,
		"https://scontent.xx.fbcdn.net/v/t1.0-1/p100x100/1_n.jpg?oh=7&oe=5":                       true,
		"https://pbs.twimg.com/profile_images/1/a_normal.jpg":                                     true,
		"https://avatars.githubusercontent.com/u/583231?v=4":                                      true, "https://www.gravatar.com/avatar/205e?s=80&d=identicon": true,

		"":                                   false,
		"avatars/a.png":                      false,
		"lh3.googleusercontent.com/a/ACg8":   false,
		"https://lh3.googleusercontent.com/": false, "https://lh3.googleusercontent.com/AAbbCC_key=s200": false, // App Engine serves objects so
		"https://lh3.googleusercontent.com/-f/AAA/photo.jpg":                                                   false,
		"https://lh3.googleusercontent.com/d/1ag3fc":                                                           false,
		"https://lh3.googleusercontent.com/b/a/x":                                                              false,
		"https://lh3.googleusercontent.com/a/../AAbbCC":                                                        false,
		"https://lh3.googleusercontent.com.evil.example/a/x":                                                   false,
		"https://lh3.googleusercontent.com@evil.example/a/x":                                                   false,
		"https://evil.example/https://lh3.googleusercontent.com/a/x":                                           false,
		"https://evilfbcdn.net/x":                                                                              false,
		"https://pbs.twimg.com/media/x.jpg":                                                                    false,
		"gs://lh3.googleusercontent.com/a/x":                                                                   false,
		"https://www.gravatar.com/avatar/205e?d=https://firebasestorage.googleapis.com/v0/b/b/o/a":             false,
		"https://www.gravatar.com/avatar/205e?d=https%3A%2F%2Ffirebasestorage.googleapis.com%2Fv0%2Fb%2Fb%2Fo": false,
		"https://lh3.googleusercontent.com/a/x,avatars/a.png":                                                  false,
		"https://lh3.googleusercontent.com/a/x avatars/a.png":                                                  false,
		"https://firebasestorage.googleapis.com/v0/b/b/o/a%2Fx?alt=media":                                      false,
	} {
		check.Same(t, text+" is a picture", want, IsPicture(text))
	}
}

func TestFolders(t *testing.T) {
	longest := strings.Repeat("a", 1022) + "/"
	got, err := ParseFolders("inquiries/, サポート/画像/," + longest)
	check.Same(t, "ParseFolders", []any{Folders{"inquiries/", "サポート/画像/", longest}, nil}, []any{got, err})
	for _, wrong := range []string{"", "/", "//", "inquiries", "/inquiries/", "inquiries/,", ",", "gs://bucket/inquiries/", "a//b/",
		"./", "../", "a/../b/",
		"a\n/", "a\r/", "a\x00/", "\xff/", "a" + longest} {
		_, err := ParseFolders(wrong)
		check.Fails(t, err)
	}
	for object, want := range map[string]bool{
		"inquiries/a.png": true, "inquiries/i1/a.png": true, "サポート/画像/a": true,
		"inquiries/": false, "inquiries": false, "inquiriesx/a.png": false, "Inquiries/a.png": false, "x/inquiries/a.png": false, "サポート/a": false, "": false,
	} {
		check.Same(t, "they hold "+object, want, got.Hold(object))
	}
}
