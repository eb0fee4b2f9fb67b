package undo

// Thing is what a run did to a document, an object or an account in all.
type Thing struct {
	Target  string  `json:"target"` // as [Record.Target]
	What    string  `json:"what"`   // "deleted", "changed" or "created"
	Sent    bool    `json:"sent,omitempty"`
	Reason  string  `json:"reason,omitempty"`  // of an item that was judged
	Fields  []Field `json:"fields,omitempty"`  // of a document, before and after the run
	Account string  `json:"account,omitempty"` // what there was to know of an account, as JSON
}

// Target names what a record is about: a document by its path, an object by gs://bucket/name, an account by "account UID".
func (r Record) Target(bucket string) string {
	switch {
	case r.Write != nil:
		return r.Write.Path
	case r.Object != nil:
		return "gs://" + bucket + "/" + r.Object.Name
	case r.Account != nil:
		return "account " + r.Account.UID
	}
	return r.Item
}

// Things returns what the records of one run come to for each document, object and account, in the order of the first record of each.
func Things(records []Record, bucket string) []Thing {
	all, at := []Thing{}, map[string]int{}
	reasons, writes := map[string]string{}, []Write{}
	for _, r := range records {
		target := r.Target(bucket)
		if r.Item != "" {
			reasons[r.Item] = r.Reason
			continue
		}
		if _, known := at[target]; !known {
			at[target], all = len(all), append(all, Thing{Target: target, What: "deleted"})
		}
		if r.Write != nil {
			writes = append(writes, *r.Write)
		}
		if r.Account != nil {
			all[at[target]].Account = r.Account.Data
		}
	}
	for _, c := range Net(writes) {
		t := &all[at[c.Path]]
		t.What, t.Sent, t.Fields = c.What(), c.Sent, c.Fields()
	}
	for i := range all {
		all[i].Reason = reasons[all[i].Target]
	}
	return all
}
