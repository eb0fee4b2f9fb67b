package cleanup

import "github.com/firesweep/firesweep/shared/documents"

// Update returns the change that sets fields of a document that exists; [documents.DeleteField] removes one.
func Update(ref documents.Ref, fields map[string]any) Change {
	return Change{Writes: []documents.Write{{Op: documents.Update, Ref: ref, Data: fields}}}
}

// Delete returns the change that deletes documents.
func Delete(all ...documents.Document) (c Change) {
	for _, d := range all {
		c.Writes = append(c.Writes, documents.Write{Op: documents.Delete, Ref: d.Ref()})
	}
	return c
}
