package standin

import (
	"maps"
	"slices"
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
	root    string // projects/P/databases/D/documents
	written time.Time
	below   func(path string) Collection

	mu          sync.Mutex
	last        time.Time // of a commit
	collections map[string]*collection
	transacting map[string]map[string]time.Time // by transaction: what it read, and when that was written; zero if it was not there
	begun       int
}

// collection is what was made, and over it what was written.
type collection struct {
	Collection
	gone  bits             // numbers that no longer say what is there
	lost  int              // how many
	own   map[string]*doc  // written documents, by id
	order []*doc           // of own, by id; nil after a write
	kept  map[string]int64 // counts, until the next write
}

// doc is a document.
type doc struct {
	id               string
	fields           map[string]*pb.Value        // of one that was written
	made             func(name string) *pb.Value // of one that is made
	names            []string                    // and those of its fields
	created, updated time.Time
}

func (d *doc) field(path string) *pb.Value {
	if d.made != nil {
		return d.made(path)
	}
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

func (d *doc) all() map[string]*pb.Value {
	if d.made == nil {
		return d.fields
	}
	fields := make(map[string]*pb.Value, len(d.names))
	for _, name := range d.names {
		if v := d.made(name); v != nil {
			fields[name] = v
		}
	}
	return fields
}

func newStore(project string, w World) *store {
	s := &store{
		root: "projects/" + project + "/databases/(default)/documents", written: w.Written, below: w.Below,
		collections: map[string]*collection{}, transacting: map[string]map[string]time.Time{},
	}
	for _, c := range w.Collections {
		s.collections[c.Path] = &collection{Collection: c, own: map[string]*doc{}}
	}
	return s
}

// collection returns a collection, which comes into being. The lock is held, as it is in all that follows.
func (s *store) collection(path string) *collection {
	c := s.collections[path]
	if c == nil {
		c = &collection{Collection: Collection{Path: path}, own: map[string]*doc{}}
		if s.below != nil {
			c.Collection = s.below(path)
			c.Path = path
		}
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
	return c.get(s, id), nil
}

func (c *collection) get(s *store, id string) *doc {
	if d := c.own[id]; d != nil {
		return d
	}
	if c.Len == 0 {
		return nil
	}
	i, found := c.find(id)
	if !found || c.gone.has(i) {
		return nil
	}
	return c.numbered(s, i)
}

// numbered returns a document that is made.
func (c *collection) numbered(s *store, i int) *doc {
	return &doc{
		id: c.ID(i), made: func(name string) *pb.Value { return c.Field(i, name) }, names: c.Names, created: s.written, updated: s.written,
	}
}

// put writes a document, or deletes it if there is none.
func (c *collection) put(id string, d *doc) {
	c.kept = nil
	if c.Len > 0 {
		if i, found := c.find(id); found && c.gone.add(i, c.Len) {
			c.lost++
		}
	}
	if had := c.own[id]; had != nil || d != nil {
		c.order = nil
	}
	if delete(c.own, id); d != nil {
		c.own[id] = d
	}
}

// sorted returns the written documents by id.
func (c *collection) sorted() []*doc {
	if c.order == nil {
		for _, id := range slices.Sorted(maps.Keys(c.own)) {
			c.order = append(c.order, c.own[id])
		}
	}
	return c.order
}

func (s *store) name(c *collection, d *doc) string { return s.root + "/" + c.Path + "/" + d.id }

// message returns a document as it is answered; a mask names the fields to send, nil: all.
func (s *store) message(c *collection, d *doc, mask *pb.DocumentMask) *pb.Document {
	m := &pb.Document{Name: s.name(c, d), CreateTime: timestamppb.New(d.created), UpdateTime: timestamppb.New(d.updated)}
	if mask == nil {
		m.Fields = d.all()
		return m
	}
	for _, path := range mask.GetFieldPaths() {
		if v := d.field(path); v != nil {
			if m.Fields == nil {
				m.Fields = map[string]*pb.Value{}
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
	had := c.get(s, id)
	d := &doc{id: id, created: at, updated: at, fields: map[string]*pb.Value{}}
	if had != nil {
		d.created = had.created
	}
	if mask := w.GetUpdateMask(); mask == nil {
		d.fields = proto.CloneOf(w.GetUpdate()).GetFields()
	} else {
		if had != nil {
			d.fields = (&pb.Document{Fields: had.all()}).GetFields()
			d.fields = proto.CloneOf(&pb.Document{Fields: d.fields}).GetFields()
		}
		if d.fields == nil {
			d.fields = map[string]*pb.Value{}
		}
		from := &doc{fields: w.GetUpdate().GetFields()}
		for _, path := range mask.GetFieldPaths() {
			set(d.fields, path, from.field(path))
		}
	}
	result := &pb.WriteResult{UpdateTime: timestamppb.New(at)}
	for _, t := range w.GetUpdateTransforms() {
		v, err := transformed(d.field(t.GetFieldPath()), t, at)
		if err != nil {
			return nil, err
		}
		if d.fields == nil {
			d.fields = map[string]*pb.Value{}
		}
		set(d.fields, t.GetFieldPath(), v)
		result.TransformResults = append(result.TransformResults, v)
	}
	c.put(id, d)
	return result, nil
}

// set sets a field, or deletes it if there is no value.
func set(fields map[string]*pb.Value, path string, v *pb.Value) {
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
		return Time(at), nil
	case *pb.DocumentTransform_FieldTransform_Increment:
		return Int(had.GetIntegerValue() + t.Increment.GetIntegerValue()), nil
	default:
		return nil, status.Errorf(codes.Unimplemented, "a %T", t)
	}
}
