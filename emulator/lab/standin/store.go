package standin

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// store is one database.
type store struct {
	root string // projects/P/databases/D/documents

	mu          sync.Mutex
	last        time.Time // of a commit
	collections map[string]*collection
	transacting map[string]map[string]time.Time // by transaction: what it read, and when that was written; zero if it was not there
	begun       int
}

// collection is the documents of one collection.
type collection struct {
	path    string
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
	key []*pb.Value // of the index's fields
	d   *doc
}

func newStore(project string, w *World) *store {
	s := &store{
		root: "projects/" + project + "/databases/(default)/documents", collections: w.collections,
		transacting: map[string]map[string]time.Time{},
	}
	if s.collections == nil {
		s.collections = map[string]*collection{}
	}
	return s
}

func newCollection(path string, n int) *collection {
	return &collection{path: path, docs: make(map[string]*doc, n), fields: map[string]bool{}, indexes: map[string]*index{"": {}}}
}

// collection returns a collection, which comes into being. The lock is held, as it is in all that follows.
func (s *store) collection(path string) *collection {
	c := s.collections[path]
	if c == nil {
		c = newCollection(path, 0)
		s.collections[path] = c
	}
	return c
}

// split divides a document's name into its collection and id.
func (s *store) split(name string) (c *collection, id string, err error) {
	path, ok := strings.CutPrefix(name, s.root+"/")
	at := strings.LastIndexByte(path, '/')
	if !ok || at < 0 || strings.Count(path, "/")%2 == 0 || at == len(path)-1 {
		return nil, "", status.Errorf(codes.InvalidArgument, "%q is no document's name", name)
	}
	return s.collection(path[:at]), path[at+1:], nil
}

func (s *store) get(name string) (*doc, error) {
	c, id, err := s.split(name)
	if err != nil {
		return nil, err
	}
	return c.docs[id], nil
}

// put writes a document, or deletes it if there is none.
func (c *collection) put(id string, d *doc) {
	had := c.docs[id]
	for _, i := range c.indexes {
		if at, e := i.find(had); e != nil {
			i.entries = slices.Delete(i.entries, at, at+1)
		}
		if at, e := i.find(d); e != nil {
			i.entries = slices.Insert(i.entries, at, *e)
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
		if first, _, _ := strings.Cut(field, "."); !c.fields[field] && !c.fields[first] {
			return i
		}
	}
	for _, all := range c.indexes[""].entries { // by id: what ascends with it is soon sorted
		if e := i.entry(all.d); e != nil {
			i.entries = append(i.entries, *e)
		}
	}
	slices.SortFunc(i.entries, entry.compare)
	c.indexes[name] = i
	return i
}

// entry returns a document's entry, nil if it has none.
func (i *index) entry(d *doc) *entry {
	e := &entry{d: d, key: make([]*pb.Value, len(i.fields))}
	for n, field := range i.fields {
		if e.key[n] = d.field(field); e.key[n] == nil {
			return nil
		}
	}
	return e
}

// find returns a document's entry and its place; nil if it has none, or there is no document.
func (i *index) find(d *doc) (at int, e *entry) {
	if d == nil {
		return 0, nil
	}
	if e = i.entry(d); e == nil {
		return 0, nil
	}
	if n := len(i.entries); n == 0 || i.entries[n-1].compare(*e) < 0 {
		return n, e
	}
	return sort.Search(len(i.entries), func(n int) bool { return i.entries[n].compare(*e) >= 0 }), e
}

func (e entry) compare(f entry) int {
	for n := range e.key {
		if e.key[n] == f.key[n] { // documents may share their fields
			continue
		}
		if c := compare(e.key[n], f.key[n]); c != 0 {
			return c
		}
	}
	return cmp.Compare(e.d.id, f.d.id)
}

func (d *doc) field(path string) *pb.Value {
	v, rest, nested := d.fields[path], "", false
	if v == nil {
		var first string
		if first, rest, nested = strings.Cut(path, "."); nested {
			v = d.fields[first]
		}
	}
	for nested && v != nil {
		var first string
		first, rest, nested = strings.Cut(rest, ".")
		v = v.GetMapValue().GetFields()[first]
	}
	return v
}

func (s *store) name(c *collection, d *doc) string { return s.root + "/" + c.path + "/" + d.id }

// message returns a document as it is answered; a mask names the fields to send, nil: all.
func (s *store) message(c *collection, d *doc, mask *pb.DocumentMask) *pb.Document {
	m := &pb.Document{Name: s.name(c, d), CreateTime: timestamppb.New(d.created), UpdateTime: timestamppb.New(d.updated)}
	if mask == nil {
		m.Fields = d.fields
		return m
	}
	for _, path := range mask.GetFieldPaths() {
		if v := d.field(path); v != nil {
			if m.Fields == nil {
				m.Fields = Fields{}
			}
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

// check returns an error if a write's condition does not hold.
func check(w *pb.Write, d *doc) error {
	switch cond := w.GetCurrentDocument().GetConditionType().(type) {
	case *pb.Precondition_Exists:
		if cond.Exists && d == nil {
			return status.Error(codes.NotFound, "No document to update.")
		}
		if !cond.Exists && d != nil {
			return status.Error(codes.AlreadyExists, "Document already exists.")
		}
	case *pb.Precondition_UpdateTime:
		switch {
		case d == nil:
			return status.Error(codes.NotFound, "No document to update.")
		case !d.updated.Equal(cond.UpdateTime.AsTime()):
			return status.Error(codes.FailedPrecondition, "the stored version does not match the required base version")
		}
	}
	return nil
}

// target returns the name of the document that a write is about.
func target(w *pb.Write) string {
	if name := w.GetDelete(); name != "" {
		return name
	}
	return w.GetUpdate().GetName()
}

// apply carries a write out whose condition holds.
func (s *store) apply(w *pb.Write, at time.Time) (*pb.WriteResult, error) {
	c, id, err := s.split(target(w))
	if err != nil {
		return nil, err
	}
	if w.GetDelete() != "" {
		c.put(id, nil)
		return &pb.WriteResult{}, nil
	}
	if w.GetUpdate() == nil {
		return nil, status.Errorf(codes.Unimplemented, "a write that neither updates nor deletes: %v", w)
	}
	had := c.docs[id]
	d := &doc{id: id, created: at, updated: at, fields: Fields{}}
	if had != nil {
		d.created = had.created
	}
	given := &doc{fields: proto.CloneOf(w.GetUpdate()).GetFields()}
	if mask := w.GetUpdateMask(); mask == nil {
		maps.Copy(d.fields, given.fields)
	} else {
		if had != nil {
			maps.Copy(d.fields, proto.CloneOf(&pb.Document{Fields: had.fields}).GetFields())
		}
		for _, path := range mask.GetFieldPaths() {
			set(d.fields, path, given.field(path))
		}
	}
	result := &pb.WriteResult{UpdateTime: timestamppb.New(at)}
	for _, t := range w.GetUpdateTransforms() {
		v, err := transformed(d.field(t.GetFieldPath()), t, at)
		if err != nil {
			return nil, err
		}
		set(d.fields, t.GetFieldPath(), v)
		result.TransformResults = append(result.TransformResults, v)
	}
	c.put(id, d)
	return result, nil
}

// set sets a field, or deletes it if there is no value.
func set(fields Fields, path string, v *pb.Value) {
	first, rest, nested := strings.Cut(path, ".")
	if !nested {
		if delete(fields, first); v != nil {
			fields[first] = v
		}
		return
	}
	inner := fields[first].GetMapValue()
	if inner == nil {
		if v == nil {
			return
		}
		inner = &pb.MapValue{}
		fields[first] = &pb.Value{ValueType: &pb.Value_MapValue{MapValue: inner}}
	}
	if inner.Fields == nil {
		inner.Fields = map[string]*pb.Value{}
	}
	set(inner.Fields, rest, v)
}

func transformed(had *pb.Value, t *pb.DocumentTransform_FieldTransform, at time.Time) (*pb.Value, error) {
	switch t := t.GetTransformType().(type) {
	case *pb.DocumentTransform_FieldTransform_SetToServerValue:
		return value(at), nil
	case *pb.DocumentTransform_FieldTransform_Increment:
		return value(int(had.GetIntegerValue() + t.Increment.GetIntegerValue())), nil
	default:
		return nil, status.Errorf(codes.Unimplemented, "a %T", t)
	}
}
