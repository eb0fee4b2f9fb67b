package standin

import (
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// store is one database.
type store struct {
	root string // projects/P/databases/D/documents

	mu          sync.Mutex // held by all that follows
	last        time.Time  // of a commit
	collections collections
}

// collections are those of a database, by their paths.
type collections map[string]*collection

// collection is the documents of one collection.
type collection struct {
	docs    map[string]*doc
	fields  map[string]bool   // that any document has had
	indexes map[string]*index // by their fields; that of none holds all documents
}

// doc is a document. It is never changed, only replaced.
type doc struct {
	id               string
	fields           Fields
	created, updated time.Time
}

// index holds those documents that have all its fields, in the order of these and then of their ids.
type index struct {
	fields  []string
	entries []entry
}

type entry struct {
	key string // the keys of the index's fields, and the id
	d   *doc
}

func newStore(project string, w *World) *store {
	s := &store{root: "projects/" + project + "/databases/(default)/documents", collections: collections{}}
	maps.Copy(s.collections, w.collections)
	return s
}

// of returns a collection, which comes into being with room for n documents.
func (all collections) of(path string, n int) *collection {
	if all[path] == nil {
		all[path] = &collection{docs: make(map[string]*doc, n), fields: map[string]bool{}, indexes: map[string]*index{"": {}}}
	}
	return all[path]
}

// split divides a document's name into its collection and id.
func (s *store) split(name string) (c *collection, id string, err error) {
	path, ok := strings.CutPrefix(name, s.root+"/")
	at := strings.LastIndexByte(path, '/')
	if !ok || at < 0 || strings.Count(path, "/")%2 == 0 || at == len(path)-1 {
		return nil, "", wrong("%q is no document's name", name)
	}
	return s.collections.of(path[:at], 0), path[at+1:], nil
}

// put writes a document, or deletes it if there is none.
func (c *collection) put(id string, d *doc) {
	had := c.docs[id]
	for _, i := range c.indexes {
		if key, has := i.key(had); has {
			at := i.search(key)
			i.entries = slices.Delete(i.entries, at, at+1)
		}
		if key, has := i.key(d); has {
			i.entries = slices.Insert(i.entries, i.search(key), entry{key, d})
		}
	}
	if d == nil {
		delete(c.docs, id)
		return
	}
	c.docs[id] = d
	for name := range d.fields {
		c.fields[name] = true
	}
}

// index returns the collection's index of fields, which it makes when it is asked for it first.
func (c *collection) index(fields []string) *index {
	name := strings.Join(fields, ",")
	if i := c.indexes[name]; i != nil {
		return i
	}
	i := &index{fields: fields}
	for _, field := range fields {
		if first, _, _ := strings.Cut(field, "."); !c.fields[first] { // nothing is in it, and what is not kept is not looked through
			return i
		}
	}
	for _, all := range c.indexes[""].entries {
		if key, has := i.key(all.d); has {
			i.entries = append(i.entries, entry{key, all.d})
		}
	}
	slices.SortFunc(i.entries, func(a, b entry) int { return strings.Compare(a.key, b.key) })
	c.indexes[name] = i
	return i
}

// key returns a document's key; has is false if it is not in the index, or there is no document.
func (i *index) key(d *doc) (key string, has bool) {
	if d == nil {
		return "", false
	}
	if len(i.fields) == 0 {
		return d.id, true
	}
	var b []byte
	for _, field := range i.fields {
		v := d.field(field)
		if v == nil {
			return "", false
		}
		b = appendKey(b, v)
	}
	return string(append(b, d.id...)), true
}

// search returns the place of the first entry that is not before a key.
func (i *index) search(key string) int {
	if n := len(i.entries); n == 0 || i.entries[n-1].key < key { // as it is when a world is made
		return n
	}
	return sort.Search(len(i.entries), func(n int) bool { return i.entries[n].key >= key })
}

// field returns the value at a path, nil if there is none.
func (d *doc) field(path string) *pb.Value {
	first, rest, nested := strings.Cut(path, ".")
	v := d.fields[first]
	for nested && v != nil {
		first, rest, nested = strings.Cut(rest, ".")
		v = v.GetMapValue().GetFields()[first]
	}
	return v
}

// message returns a document of a folder, which ends with a slash, as it is answered; a mask names the fields to send, nil: all.
func message(folder string, d *doc, mask *pb.DocumentMask) *pb.Document {
	m := &pb.Document{Name: folder + d.id, CreateTime: timestamppb.New(d.created), UpdateTime: timestamppb.New(d.updated)}
	if mask == nil {
		m.Fields = d.fields
		return m
	}
	m.Fields = Fields{}
	for _, path := range mask.GetFieldPaths() {
		if v := d.field(path); v != nil {
			m.Fields[path] = v
		}
	}
	return m
}

// tick returns the time of a commit, which is behind all others.
func (s *store) tick() time.Time {
	now := time.Now().UTC().Truncate(time.Microsecond)
	if !now.After(s.last) {
		now = s.last.Add(time.Microsecond)
	}
	s.last = now
	return now
}

// target returns the name of the document that a write is about.
func target(w *pb.Write) string {
	if name := w.GetDelete(); name != "" {
		return name
	}
	return w.GetUpdate().GetName()
}

// check returns an error if a write cannot be carried out.
func (s *store) check(w *pb.Write) error {
	c, id, err := s.split(target(w))
	if err != nil {
		return err
	}
	d := c.docs[id]
	switch cond := w.GetCurrentDocument().GetConditionType().(type) {
	case *pb.Precondition_Exists:
		if cond.Exists && d == nil {
			return status.Error(codes.NotFound, "No document to update.")
		}
		if !cond.Exists && d != nil {
			return status.Error(codes.AlreadyExists, "Document already exists.")
		}
	case *pb.Precondition_UpdateTime:
		if d == nil || !d.updated.Equal(cond.UpdateTime.AsTime()) {
			return status.Error(codes.FailedPrecondition, "the stored version does not match the required base version")
		}
	}
	paths := w.GetUpdateMask().GetFieldPaths()
	for _, t := range w.GetUpdateTransforms() {
		if paths = append(paths, t.GetFieldPath()); t.GetSetToServerValue() == 0 {
			return unknown("the transform %v", t)
		}
	}
	if slices.ContainsFunc(paths, func(path string) bool { return strings.Contains(path, ".") }) {
		return unknown("writes of a part of a field: %v", paths)
	}
	return nil
}

// apply carries a write out that was checked.
func (s *store) apply(w *pb.Write, at time.Time) *pb.WriteResult {
	c, id, _ := s.split(target(w)) // it was checked
	if w.GetDelete() != "" {
		c.put(id, nil)
		return &pb.WriteResult{}
	}
	had := c.docs[id]
	d := &doc{id: id, created: at, updated: at, fields: Fields{}}
	if had != nil {
		d.created = had.created
	}
	given := w.GetUpdate().GetFields()
	if mask := w.GetUpdateMask(); mask == nil {
		maps.Copy(d.fields, given)
	} else if had != nil {
		maps.Copy(d.fields, had.fields)
	}
	for _, path := range w.GetUpdateMask().GetFieldPaths() {
		if d.fields[path] = given[path]; given[path] == nil {
			delete(d.fields, path)
		}
	}
	result := &pb.WriteResult{UpdateTime: timestamppb.New(at)}
	for _, t := range w.GetUpdateTransforms() {
		v := value(at)
		d.fields[t.GetFieldPath()] = v
		result.TransformResults = append(result.TransformResults, v)
	}
	c.put(id, d)
	return result
}
