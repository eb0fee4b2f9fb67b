package documents

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"cloud.google.com/go/firestore"

	"github.com/firesweep/firesweep/shared/harmless"
)

// ValidName reports whether a document can have an id, by Firestore's limits: valid UTF-8 of 1 to 1500 bytes, without a slash,
// and neither ".", ".." nor reserved ("__…__"), unless it is one of Datastore's numbers, which Firestore shows as "__id7__".
func ValidName(id string) bool {
	return id != "" && len(id) <= 1500 && utf8.ValidString(id) &&
		!strings.Contains(id, "/") && id != "." && id != ".." && (!reserved(id) || numbered.MatchString(id))
}

func reserved(id string) bool {
	return len(id) >= 4 && strings.HasPrefix(id, "__") && strings.HasSuffix(id, "__")
}

var numbered = regexp.MustCompile(`^__id-?\d+__$`)

// mistakes are what programs write as an id if they have none.
var mistakes = []string{"undefined", "null", "NaN", "true", "false", "[object Object]"}

// ValidID reports whether an id that stands in data (metadata, an object's name, a field) names a document: a document can
// have it (see [ValidName]), it is not reserved, no program wrote it by mistake, and it has no blanks at its ends, such as those
// that nobody sees. A document may have such an id all the same, so an id that was read from a document's own path needs only
// [ValidName]. See docs/contributing/spec.md, Ids: what names an invalid id is kept.
func ValidID(id string) bool {
	return ValidName(id) && !reserved(id) && strings.TrimFunc(id, blank) == id && !slices.Contains(mistakes, id)
}

// blank reports whether nobody sees a character.
func blank(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }

// IDIn returns the id of the document of a collection that a value in one of d's fields names: by its id or number (see
// [IDOf]), or by a reference. ok is false if the value names none, or one of another collection or database.
func (d Document) IDIn(collection string, value any) (id string, ok bool) {
	reference, isReference := value.(*firestore.DocumentRef)
	if !isReference {
		return IDOf(value)
	}
	if reference == nil || d.Database == "" {
		return "", false
	}
	id, ok = strings.CutPrefix(reference.Path, d.Database+"/documents/"+collection+"/")
	return id, ok && ValidID(id)
}

// IDOf returns the id of the document that a field's value names; ok is false if it names none. An application that numbers
// its documents may write a number where others write a string: 42 names the document with the id "42". Such numbers begin at
// 1, so 0 and negative numbers name nothing. Neither does a floating-point number, because it may stand for several whole
// numbers.
func IDOf(value any) (id string, ok bool) {
	switch v := value.(type) {
	case string:
		return v, ValidID(v)
	case int64:
		return strconv.FormatInt(v, 10), v > 0
	default:
		return "", false
	}
}

// plainID matches an id that says nothing: too short and too plain for a text, an address or a token with dots.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// Shown returns the path of a document or a collection as reports, errors and the log show it. Whoever creates documents may
// write any text into an id, also into that of one above. So an id that is not made of at most 128 letters, digits, "-" and "_"
// is shown by its length and by the beginning of its SHA-256. Names of collections are shown, for rules know them, but no
// endless ones.
func Shown(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		if i%2 == 1 {
			parts[i] = shownID(part)
		} else {
			parts[i] = harmless.Cut(part, 128)
		}
	}
	return strings.Join(parts, "/")
}

func shownID(id string) string {
	if plainID.MatchString(id) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return fmt.Sprintf("[%d bytes, SHA-256 %x…]", len(id), sum[:6])
}

// String returns the document's path as [Shown] has it: no text that is made of a reference itself tells what somebody wrote.
func (r Ref) String() string { return Shown(r.Collection) + "/" + shownID(r.ID) }

// Names is the opposite of [Document.IDIn]: it returns all values by which a field may name the document, except those for which
// no query can ask. They are the id as a string, that number if the id is a whole number without leading zeros, and a reference.
// In a query, the number also matches an equal floating-point number.
func (r Ref) Names(reference any) []any {
	names := []any{r.ID}
	if n, err := strconv.ParseInt(r.ID, 10, 64); err == nil && strconv.FormatInt(n, 10) == r.ID {
		names = append(names, n)
	}
	return slices.DeleteFunc(append(names, reference), func(name any) bool { return !Queryable(name) })
}

// Keeping returns all values of a field because of which a document may be kept, except those for which no query can ask:
// [Ref.Names], [Ref.Texts], [Ref.BlankTexts], and its whole name, with the project and the database.
func (r Ref) Keeping(reference any) []any {
	all := slices.Concat(r.Names(reference), r.Texts(), r.BlankTexts())
	if of, isReference := reference.(*firestore.DocumentRef); isReference && of != nil {
		all = append(all, of.Path)
	}
	return slices.DeleteFunc(all, func(name any) bool { return !Queryable(name) })
}

// Texts returns the document's path as applications write it into a field instead of a reference.
func (r Ref) Texts() []any { return []any{r.Path(), "/" + r.Path(), r.Path() + "/"} }

// BlankTexts returns texts that refer to the document with a blank beside its id or path, as a form takes it. They name nothing.
func (r Ref) BlankTexts() (texts []any) {
	for _, text := range []string{r.ID, r.Path()} {
		texts = append(texts, " "+text, text+" ", text+"\n")
	}
	return texts
}

// RefIn returns the document to which a value refers: a reference, or a path as a text, see [Ref.Texts].
func RefIn(value any) (ref Ref, ok bool) {
	text, isText := value.(string)
	if !isText {
		return ReferenceOf(value)
	}
	ref, err := RefOf(strings.Trim(text, "/"))
	return ref, err == nil && ValidID(ref.ID)
}

// Ref returns a reference to a document, for a [Filter] to compare with. It is nil if the path is not a document's path.
func (r Reader) Ref(path string) any {
	if ref := r.c.firestore.Doc(path); ref != nil {
		return ref
	}
	return nil
}
