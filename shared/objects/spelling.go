package objects

import (
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// How many names one text may mention, at most, and at how many places a name may end.
const (
	maxMentioned = 10_000
	maxEnds      = 16
)

var (
	percents = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)
	escapes  = regexp.MustCompile(`\\u[0-9A-Fa-f]{4}`)
	slashes  = regexp.MustCompile(`/(\./|/)+`)
	slashed  = strings.NewReplacer(`\`, "/", "~2F", "/") // as Windows and Firebase's console write it
)

// Spelling returns the same text for names that people take for the same: in capitals or not, with letters that are composed or
// not, of full width or half, with blanks of any kind, with a slash or several. To compare by it keeps an object too many,
// never one too few.
func Spelling(name string) string {
	name = strings.Map(func(r rune) rune {
		return unicode.ToLower(visible(r))
	}, norm.NFKC.String(name))
	return slashes.ReplaceAllString(name, "/")
}

// visible drops what nobody sees, such as a zero-width space.
func visible(r rune) rune {
	if unicode.Is(unicode.Cf, r) {
		return -1
	}
	return r
}

// Mentioned returns the spellings of all names below a folder that a text may mean: a name with something before or behind it,
// several names, a name that is encoded, a name in a text of HTML or JSON. Most of them are no object's. all is false if there
// may be more.
func Mentioned(text, folder string) (names []string, all bool) {
	folder = Spelling(folder)
	seen := map[string]bool{}
	for _, form := range forms(text) {
		form = Spelling(form)
		for at := 0; ; {
			n := strings.Index(form[at:], folder)
			if n < 0 {
				break
			}
			at += n
			before, _ := utf8.DecodeLastRuneInString(form[:at])
			if rest := form[at:]; at == 0 || !ordinary(before) || before == '/' {
				ends := 0
				for end, r := range rest {
					if end > maxName || ends == maxEnds {
						break
					}
					if end > len(folder) && !ordinary(r) {
						ends++
						seen[rest[:end]] = true
						seen[strings.TrimRight(rest[:end], "./-_")] = true
					}
				}
				if len(rest) <= maxName {
					seen[rest] = true
					seen[strings.TrimRight(rest, "./-_")] = true
				}
			}
			if at += len(folder); len(seen) > maxMentioned {
				return nil, false
			}
		}
		if len(seen) == 0 {
			continue // a bare name means nothing by itself
		}
		for _, word := range strings.FieldsFunc(form, func(r rune) bool { return !ordinary(r) }) {
			if !strings.Contains(word, "/") && len(word) <= maxName {
				seen[folder+word] = true // the others of a list may leave the folder out
			}
		}
	}
	delete(seen, folder)
	delete(seen, strings.TrimSuffix(folder, "/"))
	for name := range seen {
		names = append(names, name)
	}
	return names, len(names) <= maxMentioned
}

// ordinary reports whether a character is one that a name seldom ends before.
func ordinary(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsNumber(r) || strings.ContainsRune("._-/", r)
}

// forms returns a text as it is, and decoded in the ways in which people encode names.
func forms(text string) (all []string) {
	all = []string{text}
	add := func(decode func(string) string) {
		for _, form := range all {
			if decoded := decode(form); decoded != form && utf8.ValidString(decoded) {
				all = append(all, decoded)
			}
		}
	}
	add(html.UnescapeString)
	add(func(form string) string {
		return escapes.ReplaceAllStringFunc(form, func(code string) string {
			r, _ := strconv.ParseUint(code[2:], 16, 32)
			return string(rune(r))
		})
	})
	plus := func(form string) string { return strings.ReplaceAll(form, "+", " ") }
	add(slashed.Replace)
	add(plus) // before %2B is one, too
	add(unescaped)
	add(unescaped) // some encode twice
	add(plus)
	return all
}

// unescaped decodes what is percent-encoded of a text, and leaves the rest.
func unescaped(text string) string {
	return percents.ReplaceAllStringFunc(text, func(code string) string {
		b, _ := strconv.ParseUint(code[1:], 16, 8)
		return string([]byte{byte(b)})
	})
}

// Elsewhere reports whether a text has a URL that says nothing of the bucket, so that it may mean anybody's file.
func Elsewhere(text, bucket string) bool {
	urls := strings.Split(unescaped(strings.ReplaceAll(text, `\`, "")), "://")
	for _, url := range urls[1:] {
		if !strings.Contains(url, bucket) {
			return true
		}
	}
	return false
}

// resized is what Firebase's extension Resize Images appends to the name of a copy. The copy may have another extension.
var resized = regexp.MustCompile(`_\d+x\d+(\.[^./]*)?$`)

// Resized returns what tells a resized copy from its original, at the end of its name; "" if nothing does.
func Resized(name string) string { return resized.FindString(name) }

// OriginalOf returns the name without what tells a resized copy beside its original; the name itself if nothing does.
func OriginalOf(name string) string { return resized.ReplaceAllString(name, "$1") }
