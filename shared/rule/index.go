package rule

import "slices"

// Indexed reports whether a query can ask for the condition with an index. Other conditions are judged one document at a
// time.
func (c Condition) Indexed() bool { return c.Equals != nil || len(c.In) > 0 || c.Is == True }

// TextField returns the field of the first condition that asks for a string; empty if none does. The query goes through the
// documents by this field, so it does not read documents without a string in it, however many there are.
func (r Rule) TextField() string {
	i := slices.IndexFunc(r.Where, func(c Condition) bool { return c.Is == Text })
	if i < 0 {
		return ""
	}
	return r.Where[i].Field
}

// IndexFields returns the fields of the index that the rule's query needs, in their order. A single field has an automatic
// index, so it needs none, except in a collection group.
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
