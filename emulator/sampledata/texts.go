package sampledata

// Text is what a field's texts are.
type Text int

// What a field's texts are.
const (
	Unknown     Text = iota
	ByPeople         // what somebody wrote, tokens and addresses: no log may have it
	NotByPeople      // ids, states, dates, addresses of files
)

var texts = map[string]Text{}

// TextOf returns what the texts of a field are, as a part of the sample says.
func TextOf(field string) Text { return texts[field] }

// writtenByPeople names fields of a part that hold what people wrote, or tokens or addresses. Its file calls it in init.
func writtenByPeople(fields ...string) { are(ByPeople, fields) }

// notByPeople names fields of a part that hold texts of other sorts, such as ids and states.
func notByPeople(fields ...string) { are(NotByPeople, fields) }

func are(text Text, fields []string) {
	for _, field := range fields {
		if before := texts[field]; before != Unknown && before != text {
			panic("two parts of the sample disagree on whether people write " + field)
		}
		texts[field] = text
	}
}
