package undo

import (
	"testing"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
)

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

// TestLeads: what leads to what goes along with one of several items, by what says so most surely. Ids that are numbers are equal often.
func TestLeads(t *testing.T) {
	document := func(path string, before Fields) Record {
		return Record{Write: &Write{Op: documents.Delete, Path: path, Found: true, Before: before}}
	}
	seven := &firestorepb.Value{ValueType: &firestorepb.Value_IntegerValue{IntegerValue: 7}}
	three := Fields{"postId": {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: 3}}}
	for of, tt := range map[string]struct {
		record Record
		items  []string
		unsure bool
	}{
		"the comment of another's id": {document("comments/7", three), []string{"posts/3", "posts/7"}, true},
		"a comment":                   {document("comments/8", three), []string{"posts/3"}, false},
		"one that mentions another":   {document("comments/8", Fields{"a": three["postId"], "b": seven}), []string{"posts/3", "posts/7"}, false},
		"one that names both":         {document("comments/7", Fields{"a": three["postId"], "b": seven}), []string{"posts/7"}, true},
		"a document below":            {document("posts/7/likes/3", three), []string{"posts/7"}, false},
		"an account":                  {Record{Account: &Account{UID: "7"}}, []string{"posts/7"}, false},
		"a document of its id":        {document("counters/7", nil), []string{"posts/7"}, false},
		"a file named there":          {Record{Object: &Object{ObjectDeletion: cleanup.ObjectDeletion{Name: "files/7.png"}}}, []string{"posts/3"}, false},
		"a file in its folder":        {Record{Object: &Object{ObjectDeletion: cleanup.ObjectDeletion{Name: "files/7/"}}}, []string{"posts/7"}, false},
	} {
		url := Fields{"url": {ValueType: &firestorepb.Value_StringValue{StringValue: "https://example.com/files/7.png"}}}
		leads := Leads([]Record{{Item: "posts/3"}, {Item: "posts/7"}, document("posts/3", url), document("posts/7", nil), tt.record})
		if diff := cmp.Diff(Led{tt.items, !tt.unsure}, leads[4]); diff != "" {
			t.Errorf("%s (-want +got):\n%s", of, diff)
		}
	}
}
