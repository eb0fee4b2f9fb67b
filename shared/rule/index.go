package rule

import "slices"

// Indexed reports whether Firestore finds by an index what the condition asks for. The others are judged one document at a time.
func (c Condition) Indexed() bool { return c.Equals != nil || len(c.In) > 0 || c.Is == True }

// TextField returns the field of the first condition that asks for a text, by which the documents are gone through; empty if none
// does. Documents that hold none, however many, are not read then.
func (r Rule) TextField() string {
	i := slices.IndexFunc(r.Where, func(c Condition) bool { return c.Is == Text })
	if i < 0 {
		return ""
	}
	return r.Where[i].Field
}

// IndexFields returns the fields of the index that the rule's query needs, in their order. One field alone needs none but the
// automatic one, except in a collection group.
func (r Rule) IndexFields() []string {
	if r.Objects != "" || r.Accounts != "" {
		return nil
	}
	var fields []string
	for _, c := range r.Where {
		if c.Indexed() {
			fields = append(fields, c.Field)
		}
	}
	if text := r.TextField(); text != "" {
		fields = append(fields, text)
	}
	return append(fields, r.Age.Field)
}
