package undo

import "testing"

// TestMentions: however an application writes a file's name into a document, the file is known to be named there.
func TestMentions(t *testing.T) {
	const name = "posts/u1/a: b & (c)+!'*=@$,;é.png"
	for how, text := range map[string]string{
		"as it is":      name,
		"JavaScript":    "https://firebasestorage.googleapis.com/v0/b/B/o/posts%2Fu1%2Fa%3A%20b%20%26%20(c)%2B!'*%3D%40%24%2C%3B%C3%A9.png?alt=media",
		"Go, a segment": "https://firebasestorage.googleapis.com/v0/b/B/o/posts%2Fu1%2Fa:%20b%20&%20%28c%29+%21%27%2A=@$%2C%3B%C3%A9.png?alt=media",
		"Go, a path":    "https://storage.googleapis.com/B/posts/u1/a:%20b%20&%20%28c%29+%21%27%2A=@$,;%C3%A9.png",
	} {
		if !mentions(text, name) || mentions(text, "posts/u1/other.png") {
			t.Errorf("%s: %s", how, text)
		}
	}
}
