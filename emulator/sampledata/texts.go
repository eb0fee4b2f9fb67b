package sampledata

// Text says who wrote the texts of a field.
type Text int

// Who wrote the texts of a field.
const (
	Unknown     Text = iota
	ByPeople         // what users wrote, tokens and addresses: no log may contain them
	NotByPeople      // ids, states, dates, addresses of files
)

var texts = map[string]Text{}

// TextOf returns who wrote the texts of a field, as a part of the sample declares.
func TextOf(field string) Text { return texts[field] }

// writtenByPeople declares the fields of a part with texts that people wrote, tokens or addresses. The part's file calls it in
// init.
func writtenByPeople(fields ...string) { are(ByPeople, fields) }

// notByPeople declares the fields of a part with other texts, such as ids and states.
func notByPeople(fields ...string) { are(NotByPeople, fields) }

func are(text Text, fields []string) {
	for _, field := range fields {
		if before := texts[field]; before != Unknown && before != text {
			panic("two parts of the sample disagree on whether people write " + field)
		}
		texts[field] = text
	}
}
