package sweep

import (
	"github.com/firesweep/firesweep/shared/documents"
)

// Leftovers are the records of objects to delete that versions from before the journal kept, in cleanupJobs/{job}/leftovers.
func Leftovers(job string) Earlier {
	return Earlier{Collection: "cleanupJobs/" + job + "/leftovers", Read: readLeftovers}
}

func readLeftovers(record documents.Document) (then []FollowUp, _ []Item, err error) {
	_, dated := record.Time("at")
	groups, isList := record.Data["objects"].([]any)
	ok := dated && isList
	for _, group := range groups {
		g, _ := group.(map[string]any)
		names, isList := g["names"].([]any)
		folder, isBool := g["folder"].(bool)
		post, isText := g["postId"].(string)
		absent, isPath := g["absent"].(string)
		ok = ok && isList && isBool && isText && isPath
		var document documents.Ref
		if absent != "" {
			var err error
			document, err = documents.RefOf(absent)
			ok = ok && err == nil
		}
		for _, name := range names {
			text, _ := name.(string)
			o := ObjectDeletion{Name: text, Folder: folder}
			if post != "" {
				o.OwnerKey, o.Owner = "postId", post
			}
			ok = ok && o.valid()
			then = append(then, FollowUp{Object: o, Absent: document})
		}
	}
	if !ok {
		return nil, nil, ErrForeign
	}
	return then, nil, nil
}
