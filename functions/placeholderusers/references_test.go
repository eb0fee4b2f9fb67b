package placeholderusers

import (
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/config"
)

func TestReferences(t *testing.T) {
	got, err := parseReferences("posts.userId, import-notes.author_id")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]reference{{"posts", "userId"}, {"import-notes", "author_id"}}, got, cmp.AllowUnexported(reference{})); diff != "" {
		t.Errorf("References (-want +got):\n%s", diff)
	}
	for _, wrong := range []string{"", "posts", "posts.", ".userId", "posts.userId,", "posts/p/comments.userId", "posts.user.id", "posts.userId;x.y",
		"__all__.userId", "posts.__name__", strings.Repeat("a", 1501) + ".b", "a." + strings.Repeat("b", 1501),
		strings.Repeat("a.b,", 50) + "a.b"} {
		if got, err := parseReferences(wrong); err == nil {
			t.Errorf("parseReferences(%q) = %v, want an error", wrong, got)
		}
	}
	_, err = config.Load(func(name string) string {
		return map[string]string{"GOOGLE_CLOUD_PROJECT": "p", "PLACEHOLDER_REFERENCES": "posts"}[name]
	}, Worker.Settings, config.Firestore)
	if err == nil || !strings.Contains(err.Error(), `PLACEHOLDER_REFERENCES is "posts": it must be pairs of collection.field`) {
		t.Errorf("Load: %v", err)
	}
}

// FuzzReferences: whatever is accepted are collections and fields that Firestore can be asked for, and comes back.
func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"", defaultReferences, " a.b , c-d.e_f", "a", "a.", ".a", "a.b,", "a.b.c", "a/b/c.d", "__all__.x", "a.__name__", "_._", "a.b\n", "a.`b`"} {
		f.Add(seed)
	}
	client := &firestore.Client{}
	f.Fuzz(func(t *testing.T, text string) {
		references, err := parseReferences(text)
		if err != nil {
			return
		}
		if len(references) == 0 || len(references) > maxReferences {
			t.Fatalf("%q: %d references", text, len(references))
		}
		var pairs []string
		for _, r := range references {
			pairs = append(pairs, r.collection+"."+r.field)
			if client.Collection(r.collection) == nil || strings.Contains(r.collection, "/") || reserved(r.collection) {
				t.Errorf("%q: no top-level collection %q", text, r.collection)
			}
			if _, err := client.Collection("x").Where(r.field, "==", "u").Serialize(); err != nil || reserved(r.field) {
				t.Errorf("%q: no field %q: %v", text, r.field, err)
			}
		}
		again, err := parseReferences(strings.Join(pairs, ","))
		if diff := cmp.Diff(references, again, cmp.AllowUnexported(reference{})); err != nil || diff != "" {
			t.Errorf("%q: again %v (-want +got):\n%s", text, err, diff)
		}
	})
}

// reserved is Firestore's __.*__; __name__ above all, which is the document's id and no field.
func reserved(name string) bool {
	return len(name) > 3 && name[:2] == "__" && name[len(name)-2:] == "__"
}
