package objects

import (
	"net/url"
	"slices"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// maxReadings is how many names one text may be looked up by, at most.
const maxReadings = 50

// Texts says what texts that refer to objects of a folder of the bucket are like.
type Texts struct {
	Bucket, EmulatorHost, Folder string
}

// separators are what texts that refer to several objects are divided at: none, what few names have, and what some have.
var separators = []string{"", "\t\r\n,;|\"'<>[]{}`", " \t\r\n,;|\"'<>[]{}`()"}

// Objects returns the objects that a text refers to, of those that there are: as it is and decoded, by the first way to divide it
// that leads to any. ok is false if nobody can tell: its ways to be decoded lead to different objects, or to too many names. It
// asks about each name by which it may refer to one, so that whoever says of none that it is there is told all of them.
//
// Unlike [Mentioned], it knows capitals, takes nothing outside of the folder for something in it, and no file of another bucket
// for ours: what it returns may be deleted.
func (t Texts) Objects(text string, there func(name string) bool) (names []string, ok bool) {
	if Elsewhere(text, t.Bucket) {
		return nil, true
	}
	asked := map[string]bool{}
	isThere := func(name string) bool {
		asked[name] = true
		return there(name)
	}
	for _, form := range forms(strings.ReplaceAll(text, `\/`, "/")) { // as some write JSON
		var found []string
		for _, chars := range separators {
			parts := strings.FieldsFunc(form, func(r rune) bool { return strings.ContainsRune(chars, r) })
			for i := 0; i < len(parts) && len(asked) <= maxReadings; i++ {
				ways := t.names(parts[i])
				if way := slices.IndexFunc(ways, isThere); way >= 0 {
					found = append(found, ways[way])
				}
			}
			if len(found) > 0 {
				break
			}
		}
		slices.Sort(found)
		found = slices.Compact(found)
		switch {
		case len(asked) > maxReadings:
			return nil, false
		case len(names) == 0:
			names = found
		case len(found) > 0 && !slices.Equal(names, found):
			return nil, false
		}
	}
	return names, true
}

// names returns the names that one object may have to which a text refers, the likeliest first.
func (t Texts) names(text string) (names []string) {
	text = strings.TrimSpace(strings.Map(visible, text))
	add := func(name string) {
		for _, spelt := range []string{name, norm.NFC.String(name), norm.NFD.String(name)} {
			if strings.HasPrefix(spelt, t.Folder) && len(spelt) > len(t.Folder) && ValidName(spelt) && !slices.Contains(names, spelt) {
				names = append(names, spelt)
			}
		}
	}
	if urls := strings.Count(text, "://"); urls > 0 {
		for _, location := range []string{text, strings.TrimRight(text, ".,;:!")} {
			if name, err := ObjectName(location, t.Bucket, t.EmulatorHost); err == nil && urls == 1 {
				add(name)
			}
		}
		return names
	}
	for _, path := range []string{text, slashes.ReplaceAllString(text, "/")} {
		add(path)
		path = strings.TrimPrefix(strings.TrimPrefix(path, "."), "/")
		add(path)
		before, _, _ := strings.Cut(path, "?")
		before, _, _ = strings.Cut(before, "#")
		add(before)
		add(strings.TrimRight(path, ".,;:!"))
	}
	return names
}

// References returns how most documents refer to an object.
func (t Texts) References(o Object) (exact []string) {
	escaped := strings.NewReplacer("+", "%20", "%21", "!", "%27", "'", "%28", "(", "%29", ")", "%2A", "*", "%7E", "~").Replace(
		url.QueryEscape(o.Name))
	path := strings.ReplaceAll(escaped, "%2F", "/")
	exact = []string{o.Name, "/" + o.Name, "gs://" + t.Bucket + "/" + o.Name}
	for _, name := range []string{o.Name, path} {
		exact = append(exact, "https://storage.googleapis.com/"+t.Bucket+"/"+name, "https://"+t.Bucket+".storage.googleapis.com/"+name)
	}
	hosts := []string{"https://firebasestorage.googleapis.com", "https://firebasestorage.googleapis.com:443"}
	if t.EmulatorHost != "" {
		hosts = append(hosts, "http://"+t.EmulatorHost)
	}
	for _, host := range hosts {
		download := host + "/v0/b/" + t.Bucket + "/o/" + escaped
		exact = append(exact, download, download+"?alt=media")
		for token := range strings.SplitSeq(o.Metadata["firebaseStorageDownloadTokens"], ",") {
			if token != "" && len(exact) < 20 {
				exact = append(exact, download+"?alt=media&token="+token)
			}
		}
	}
	slices.Sort(exact)
	return slices.Compact(exact)
}
