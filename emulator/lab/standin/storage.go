package standin

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	maxPage = 1000 // objects of a page
	maxName = 1024 // bytes
)

// bucket is the service of Cloud Storage, with one bucket.
type bucket struct {
	name    string
	objects Objects

	mu   sync.Mutex
	gone map[int]bool // by number
}

// created is when all objects were, in JSON.
var created = written.Format(`"2006-01-02T15:04:05.000Z"`)

// generation of an object; its first metageneration is its only one.
func generation(i int) int64 { return 1_700_000_000_000_000 + int64(i) }

// isListing reports whether a request asks for a page of a listing.
func isListing(r *http.Request) bool { return strings.HasSuffix(r.URL.EscapedPath(), "/o") }

// ServeHTTP implements http.Handler.
func (b *bucket) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path, ok := strings.CutPrefix(r.URL.EscapedPath(), "/storage/v1/b/"+b.name+"/o")
	name, err := url.PathUnescape(strings.TrimPrefix(path, "/"))
	switch {
	case !ok || err != nil:
		b.refuse(w, http.StatusNotFound, "no such path: "+r.URL.Path)
	case path == "" && r.Method == http.MethodGet:
		b.list(w, r.URL.Query())
	case name != "" && r.Method == http.MethodGet:
		b.get(w, name)
	case name != "" && r.Method == http.MethodDelete:
		b.delete(w, name, r.URL.Query())
	default:
		b.refuse(w, http.StatusNotFound, "no such method: "+r.Method+" "+r.URL.Path)
	}
}

func (b *bucket) refuse(w http.ResponseWriter, status int, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// Whoever asked may be gone, which concerns nobody.
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{
		"code": status, "message": message, "errors": []any{map[string]any{"message": message, "domain": "global"}},
	}})
}

func badOffset(offset string) bool {
	return len(offset) > maxName || !utf8.ValidString(offset) || strings.ContainsAny(offset, "\x00\r\n")
}

// fields that a listing may be asked for.
var listed = []string{"name", "metadata", "timeCreated", "generation", "metageneration"}

// list answers a page of a listing.
func (b *bucket) list(w http.ResponseWriter, q url.Values) {
	fields, err := itemFields(q.Get("fields"))
	if err != nil {
		b.refuse(w, http.StatusBadRequest, err.Error())
		return
	}
	for name := range q {
		switch name {
		case "prefix", "startOffset", "endOffset", "pageToken", "maxResults", "fields", "projection", "alt", "prettyPrint",
			"includeTrailingDelimiter", "delimiter", "versions", "includeFoldersAsPrefixes", "matchGlob", "softDeleted", "filter":
			if slices.Contains([]string{"delimiter", "matchGlob", "filter"}, name) && q.Get(name) != "" ||
				q.Get(name) == "true" && name != "prettyPrint" {
				b.refuse(w, http.StatusNotImplemented, "the stand-in does not know "+name)
				return
			}
		default:
			b.refuse(w, http.StatusBadRequest, "unknown parameter "+name)
			return
		}
	}
	prefix, from, end := q.Get("prefix"), q.Get("startOffset"), q.Get("endOffset")
	if badOffset(from) || badOffset(end) || badOffset(prefix) {
		b.refuse(w, http.StatusBadRequest, "Invalid argument: an offset or a prefix that can begin no name.")
		return
	}
	size := maxPage
	if text := q.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 0 {
			b.refuse(w, http.StatusBadRequest, "maxResults "+text)
			return
		}
		if n > 0 {
			size = min(size, n)
		}
	}
	n := b.objects.Len
	i := sort.Search(n, func(i int) bool { name := b.objects.Name(i); return name >= prefix && name >= from })
	if token := q.Get("pageToken"); token != "" {
		at, err := strconv.Atoi(token)
		if err != nil || at < 0 || at > n {
			b.refuse(w, http.StatusBadRequest, "Invalid page token.")
			return
		}
		i = max(i, at)
	}
	out := append(make([]byte, 0, 300*size), `{"kind":"storage#objects"`...)
	items := 0
	b.mu.Lock()
	for ; i < n; i++ {
		if b.gone[i] {
			continue
		}
		name := b.objects.Name(i)
		if !strings.HasPrefix(name, prefix) || end != "" && name >= end {
			i = n
			break
		}
		if items == size {
			break
		}
		if items++; items == 1 {
			out = append(out, `,"items":[`...)
		} else {
			out = append(out, ',')
		}
		out = b.item(out, i, name, fields)
	}
	b.mu.Unlock()
	if items > 0 {
		out = append(out, ']')
	}
	if i < n {
		out = fmt.Appendf(out, `,"nextPageToken":"%d"`, i)
	}
	send(w, append(out, '}'))
}

func send(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // whoever asked may be gone
}

// itemFields returns which fields of each object are wanted.
func itemFields(text string) ([]string, error) {
	_, text, found := strings.Cut(text, "items(")
	text, _, closed := strings.Cut(text, ")")
	if !found || !closed {
		return listed, nil
	}
	fields := strings.Split(text, ",")
	for _, f := range fields {
		if !slices.Contains(listed, f) {
			return nil, fmt.Errorf("the stand-in's objects have no field %q", f)
		}
	}
	return fields, nil
}

// item appends an object in JSON.
func (b *bucket) item(out []byte, i int, name string, fields []string) []byte {
	out = append(out, '{')
	for n, field := range fields {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(strconv.AppendQuote(out, field), ':')
		switch field {
		case "name":
			out = strconv.AppendQuote(out, name)
		case "timeCreated":
			out = append(out, created...)
		case "generation":
			out = append(strconv.AppendInt(append(out, '"'), generation(i), 10), '"')
		case "metageneration":
			out = append(out, `"1"`...)
		case "metadata":
			out = append(out, '{')
			first := true
			b.objects.Metadata(i, func(name, value string) {
				if !first {
					out = append(out, ',')
				}
				first = false
				out = strconv.AppendQuote(append(strconv.AppendQuote(out, name), ':'), value)
			})
			out = append(out, '}')
		}
	}
	return append(out, '}')
}

// find returns the number of an object that is there.
func (b *bucket) find(name string) (int, bool) {
	i, found := sort.Find(b.objects.Len, func(i int) int { return strings.Compare(name, b.objects.Name(i)) })
	return i, found && !b.gone[i]
}

func (b *bucket) get(w http.ResponseWriter, name string) {
	b.mu.Lock()
	i, found := b.find(name)
	b.mu.Unlock()
	if !found {
		b.refuse(w, http.StatusNotFound, "No such object: "+b.name+"/"+name)
		return
	}
	send(w, b.item(nil, i, name, listed))
}

func (b *bucket) delete(w http.ResponseWriter, name string, q url.Values) {
	b.mu.Lock()
	defer b.mu.Unlock()
	i, found := b.find(name)
	if !found {
		b.refuse(w, http.StatusNotFound, "No such object: "+b.name+"/"+name)
		return
	}
	conditions := map[string]int64{"ifGenerationMatch": generation(i), "ifMetagenerationMatch": 1, "generation": generation(i)}
	for condition, is := range conditions {
		want := q.Get(condition)
		switch {
		case want == "" || want == strconv.FormatInt(is, 10):
		case condition == "generation":
			b.refuse(w, http.StatusNotFound, "No such object: "+b.name+"/"+name)
			return
		default:
			b.refuse(w, http.StatusPreconditionFailed, "At least one of the pre-conditions you specified did not hold.")
			return
		}
	}
	if b.gone == nil {
		b.gone = map[int]bool{}
	}
	b.gone[i] = true
	w.WriteHeader(http.StatusNoContent)
}
