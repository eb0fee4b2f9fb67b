package backends

import (
	"cmp"
	"encoding/base64"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

const defaultPage = 1000 // of a list; also the largest

// list answers with a page of objects by name in UTF-8 byte order: of those that are live, of all versions, or of those that are
// soft-deleted. A page's token holds the last object of the page before, or the last prefix.
func (s *StorageServer) list(r *storageRequest) (any, *apiError) {
	after, failure := r.checkList()
	if failure != nil {
		return nil, failure
	}
	query := r.query
	prefix, delimiter, end, limit := query.Get("prefix"), query.Get("delimiter"), query.Get("endOffset"), defaultPage
	if text := query.Get("maxResults"); text != "" {
		most, err := strconv.Atoi(text)
		if err != nil || most < 1 {
			return nil, invalid("Invalid value for maxResults: " + text)
		}
		limit = min(most, defaultPage)
	}
	are := live
	switch {
	case query.Get("softDeleted") == "true":
		are = softDeleted
	case query.Get("versions") == "true":
		are = version
	}
	answer, items, prefixes, last := resource{"kind": "storage#objects"}, []resource{}, []string{}, position{}
	names := r.bucket.sorted()
list:
	for i := sort.SearchStrings(names, max(query.Get("startOffset"), prefix, after.name)); i < len(names); i++ {
		name := names[i]
		if !strings.HasPrefix(name, prefix) || end != "" && name >= end {
			break
		}
		for _, o := range r.bucket.all(name, are) {
			if name == after.name && o.generation <= after.generation {
				continue
			}
			if len(items)+len(prefixes) == limit {
				answer["nextPageToken"] = last.token()
				break list
			}
			if at := strings.Index(name[len(prefix):], delimiter); delimiter != "" && at >= 0 {
				common := name[:len(prefix)+at+len(delimiter)]
				prefixes = append(prefixes, common)
				last = position{name: common + "\xff"} // after all names that begin like this: no byte of UTF-8 is 0xff
				i = sort.SearchStrings(names, last.name) - 1
				break
			}
			items, last = append(items, o.resource(r.base())), position{name, o.generation}
			if live(o) { // a new generation meanwhile is no further object
				last = position{name: name + "\x00"}
			}
		}
	}
	if len(items) > 0 {
		answer["items"] = items
	}
	if len(prefixes) > 0 {
		answer["prefixes"] = prefixes
	}
	return answer, nil
}

// position is where a page of a list ends.
type position struct {
	name       string
	generation int64
}

func (p position) token() string {
	return base64.URLEncoding.EncodeToString([]byte(strconv.FormatInt(p.generation, 10) + "/" + p.name))
}

// checkList refuses what Google refuses, and returns where the page before ended.
func (r *storageRequest) checkList() (after position, failure *apiError) {
	for _, parameter := range []string{"startOffset", "endOffset"} {
		// No object's name has these bytes, except the zero byte, which a front end may refuse anywhere. It is not known how
		// strict Cloud Storage itself is; what this accepts, Cloud Storage accepts.
		offset := r.query.Get(parameter)
		if len(offset) > maxName || !utf8.ValidString(offset) || strings.ContainsAny(offset, "\x00\r\n") {
			return after, invalid("Invalid value for " + parameter + ": " + strconv.Quote(offset))
		}
	}
	if projection := r.query.Get("projection"); !slices.Contains([]string{"", "full", "noAcl"}, projection) {
		return after, invalid("Invalid value for projection: " + projection)
	}
	if token := r.query.Get("pageToken"); token != "" {
		text, err := base64.URLEncoding.DecodeString(token)
		generation, name, _ := strings.Cut(string(text), "/")
		number, notOne := strconv.ParseInt(generation, 10, 64)
		if cmp.Or(err, notOne) != nil {
			return after, invalid("Invalid pageToken.")
		}
		after = position{name, number}
	}
	return after, nil
}

// fieldsPattern is how a request selects fields of the answer, and of the items in it: "a,items(b,c)".
var fieldsPattern = regexp.MustCompile(`^(\w+|items\(\w+(,\w+)*\))(,(\w+|items\(\w+(,\w+)*\)))*$`)

// selected returns the selected fields of an answer. A client that forgets to select what it needs must fail here as with Google.
func selected(answer resource, fields string) resource {
	before, rest, ofItems := strings.Cut(fields, "items(")
	if ofItems {
		inner, after, _ := strings.Cut(rest, ")")
		fields = before + "items" + after
		items, _ := answer["items"].([]resource)
		for i := range items {
			items[i] = selected(items[i], inner)
		}
	}
	part := resource{}
	for name := range strings.SplitSeq(fields, ",") {
		if value, is := answer[name]; is {
			part[name] = value
		}
	}
	return part
}
