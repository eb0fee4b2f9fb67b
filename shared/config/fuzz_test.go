package config

import (
	"strings"
	"testing"

	"cloud.google.com/go/firestore"
	"github.com/google/go-cmp/cmp"
)

// FuzzReferences: whatever is accepted are collections and fields that Firestore can be asked for, and comes back.
func FuzzReferences(f *testing.F) {
	for _, seed := range []string{"", DefaultPlaceholderReferences, " a.b , c-d.e_f", "a", "a.", ".a", "a.b,", "a.b.c", "a/b/c.d", "__all__.x", "a.__name__", "_._", "a.b\n", "a.`b`"} {
		f.Add(seed)
	}
	client := &firestore.Client{}
	f.Fuzz(func(t *testing.T, text string) {
		references, err := References(text)
		if err != nil {
			return
		}
		if len(references) == 0 || len(references) > maxReferences {
			t.Fatalf("%q: %d references", text, len(references))
		}
		var pairs []string
		for _, r := range references {
			pairs = append(pairs, r.Collection+"."+r.Field)
			if client.Collection(r.Collection) == nil || strings.Contains(r.Collection, "/") || reserved(r.Collection) {
				t.Errorf("%q: no top-level collection %q", text, r.Collection)
			}
			if _, err := client.Collection("x").Where(r.Field, "==", "u").Serialize(); err != nil || reserved(r.Field) {
				t.Errorf("%q: no field %q: %v", text, r.Field, err)
			}
		}
		again, err := References(strings.Join(pairs, ","))
		if diff := cmp.Diff(references, again); err != nil || diff != "" {
			t.Errorf("%q: again %v (-want +got):\n%s", text, err, diff)
		}
	})
}

// reserved is Firestore's __.*__; __name__ above all, which is the document's id and no field.
func reserved(name string) bool {
	return len(name) > 3 && name[:2] == "__" && name[len(name)-2:] == "__"
}
