package backends

import (
	"cmp"
	"encoding/base64"
	"maps"
	"slices"
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
	b, query := r.bucket, r.query
	prefix, delimiter, end, limit := query.Get("prefix"), query.Get("delimiter"), query.Get("endOffset"), defaultPage
	if text := query.Get("maxResults"); text != "" {
		most, err := strconv.Atoi(text)
		if err != nil || most < 1 {
			return nil, invalid("Invalid value for maxResults: " + text)
		}
		limit = min(most, defaultPage)
	}
	names, of, live := b.sorted(), b.live, false
	switch {
	case query.Get("softDeleted") == "true":
		names, of = slices.Sorted(maps.Keys(b.past)), b.softDeleted
	case query.Get("versions") == "true":
		names = slices.AppendSeq(slices.Clone(names), maps.Keys(b.past))
		slices.Sort(names)
		names, of = slices.Compact(names), b.versions
	default:
		live = true
	}
	answer, items, prefixes, last := resource{"kind": "storage#objects"}, []resource{}, []string{}, position{}
list:
	for i := from(names, max(query.Get("startOffset"), prefix, after.name)); i < len(names); i++ {
		name := names[i]
		if !strings.HasPrefix(name, prefix) || end != "" && name >= end {
			break
		}
		for _, o := range of(name) {
			if name == after.name && o.generation <= after.generation {
				continue
			}
			if len(items)+len(prefixes) == limit {
				answer["nextPageToken"] = last.token()
				break list
			}
			if delimiter != "" {
				if at := strings.Index(name[len(prefix):], delimiter); at >= 0 {
					common := name[:len(prefix)+at+len(delimiter)]
					prefixes = append(prefixes, common)
					last = position{name: common + "\xff"} // after all names that begin like this: no byte of UTF-8 is 0xff
					i = from(names, last.name) - 1
					break
				}
			}
			items, last = append(items, o.resource(r.base(), r.fields["items"])), position{name, o.generation}
			if live { // a new generation meanwhile is no further object
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

// from returns the number of the first of sorted names that is not before another.
func from(names []string, name string) int {
	i, _ := slices.BinarySearch(names, name)
	return i
}

// live returns the live object of a name, if there is one.
func (b *bucket) live(name string) []*object {
	if o := b.objects[name]; o != nil {
		return []*object{o}
	}
	return nil
}

// position is where a page of a list ends.
type position struct {
	name       string
	generation int64
}

func (p position) token() string {
	return base64.URLEncoding.EncodeToString([]byte(strconv.FormatInt(p.generation, 10) + "/" + p.name))
}

// checkList refuses what is not imitated of lists and what Google refuses, and returns where the page before ended.
func (r *storageRequest) checkList() (after position, failure *apiError) {
	for _, parameter := range []string{"matchGlob", "filter", "includeFoldersAsPrefixes", "includeTrailingDelimiter"} {
		if value := r.query.Get(parameter); value != "" && value != "false" {
			failure := notImitated("Storage", r.Request)
			failure.message += " with " + parameter
			return after, failure
		}
	}
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
