package declared_test

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestWhatBelongsToAnAccountWithoutDocument is looked for below the path of the document that is not there.
func TestWhatBelongsToAnAccountWithoutDocument(t *testing.T) {
	f := start(t, guests(fields{"with": array{fields{"document": "users/{uid}", "with": array{
		fields{"subcollection": "orders"}, fields{"objects": "avatars/{id}/**"}, fields{"collection": "likes", "field": "user"}}}}}))
	f.Import(t, signedIn("one", old), signedIn("two", old), signedIn("three", old))
	f.Set(t, "users/three", fields{"x": true})
	for _, uid := range []string{"one", "three", "other"} {
		f.Set(t, "users/"+uid+"/orders/a", fields{"x": true})
		f.Set(t, "likes/"+uid, fields{"user": uid})
	}
	for _, uid := range []string{"one", "two", "other"} {
		f.Put(t, "avatars/"+uid+"/a.png", nil, nil)
	}
	enginetest.Want(t, "status", report.Completed, f.Run(t, "").Status)
	enginetest.Want(t, "accounts", 0, len(f.Accounts(t)))
	enginetest.Want(t, "likes", []string{"other"}, f.IDs(t, "likes"))
	enginetest.Want(t, "orders of one", 0, len(f.Documents(t, "users/one/orders")))
	enginetest.Want(t, "orders of another", 1, len(f.Documents(t, "users/other/orders")))
	enginetest.Want(t, "files", []string{"avatars/other/a.png"}, f.Objects(t))
}
