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

// Reading is what a text may refer to, by one way to decode it: objects, by each way to divide it, the likeliest first; each
// object by the first of some names that there is.
type Reading [][][]string

// separators are what texts that refer to several objects are divided at: none, what few names have, and what some have.
var separators = []string{"", "\t\r\n,;|\"'<>[]{}`", " \t\r\n,;|\"'<>[]{}`()"}

// Readings returns what a text may refer to, as it is and decoded. Unlike [Mentioned], it knows capitals, takes nothing outside
// of the folder for something in it, and no file of another bucket for ours: what it returns may be deleted.
func (t Texts) Readings(text string) (all []Reading) {
	if Elsewhere(text, t.Bucket) {
		return nil
	}
	for _, form := range forms(strings.ReplaceAll(text, `\/`, "/")) { // as some write JSON
		var r Reading
		for _, chars := range separators {
			var several [][]string
			for _, part := range strings.FieldsFunc(form, func(r rune) bool { return strings.ContainsRune(chars, r) }) {
				if names := t.names(part); len(names) > 0 {
					several = append(several, names)
				}
			}
			r = append(r, several)
		}
		all = append(all, r)
	}
	return all
}

// names returns the names that one object may have to which a text refers, the likeliest first.
func (t Texts) names(text string) (names []string) {
	text = strings.TrimSpace(strings.Map(visible, text))
	add := func(name string) {
		for _, spelt := range []string{name, norm.NFC.String(name), norm.NFD.String(name)} {
			if strings.HasPrefix(spelt, t.Folder) && len(spelt) > len(t.Folder) && validName(spelt) && !slices.Contains(names, spelt) {
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

// Lookups returns all names of readings, each once.
func Lookups(all []Reading) (names []string) {
	for _, r := range all {
		for _, several := range r {
			names = append(names, slices.Concat(several...)...)
		}
	}
	slices.Sort(names)
	names = slices.Compact(names)
	return names[:min(len(names), maxReadings)]
}

// Chosen returns the objects that a text refers to, of those that there are. ok is false if its ways to be decoded lead to
// different ones.
func Chosen(all []Reading, there func(string) bool) (names []string, ok bool) {
	for _, r := range all {
		var chosen []string
		for _, several := range r {
			if len(chosen) == 0 {
				chosen = found(several, there)
			}
		}
		slices.Sort(chosen)
		switch {
		case len(chosen) == 0:
		case len(names) == 0:
			names = chosen
		case !slices.Equal(names, chosen):
			return nil, false
		}
	}
	return names, true
}

// found returns the first that there is of each list of names.
func found(all [][]string, there func(string) bool) (names []string) {
	for _, ways := range all {
		if i := slices.IndexFunc(ways, there); i >= 0 && !slices.Contains(names, ways[i]) {
			names = append(names, ways[i])
		}
	}
	return names
}

// References returns how documents refer to an object: texts, and beginnings of texts, which take in all others of a download
// URL.
func (t Texts) References(o Object) (exact, beginnings []string) {
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
		beginnings = append(beginnings, download)
		exact = append(exact, download, download+"?alt=media")
		for token := range strings.SplitSeq(o.Metadata["firebaseStorageDownloadTokens"], ",") {
			if token != "" && len(exact) < 20 {
				exact = append(exact, download+"?alt=media&token="+token)
			}
		}
	}
	slices.Sort(exact)
	return slices.Compact(exact), append(beginnings, o.Name)
}
