package objects

import "testing"

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
		if got := IsPicture(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
