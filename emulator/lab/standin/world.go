package standin

import (
	"fmt"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// World is the data that exist at first. The zero value is empty.
type World struct {
	Objects  Objects
	Accounts []string // user ids

	collections map[string]*collection
}

// written is when all of a world was.
var written = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

// Objects are the objects of a bucket, computed from their number: ten million of them would not fit into memory otherwise.
type Objects struct {
	Len      int
	Name     func(i int) string                        // ascends with i
	Metadata func(i int, add func(name, value string)) // calls add for each
}

// Fields are a document's fields. Documents may share them: they are never changed.
type Fields map[string]*pb.Value

// Put adds n documents to a collection.
func (w *World) Put(path string, n int, id func(i int) string, fields func(i int) Fields) {
	if w.collections == nil {
		w.collections = map[string]*collection{}
	}
	c := w.collections[path]
	if c == nil {
		c = newCollection(path, n)
		w.collections[path] = c
	}
	for i := range n {
		name := id(i)
		c.put(name, &doc{id: name, fields: fields(i), created: written, updated: written})
	}
}

// Make makes fields of a document from texts, ints, bools, times, nil, and lists and maps of those. It panics at anything else.
func Make(of map[string]any) Fields {
	fields := make(Fields, len(of))
	for name, v := range of {
		fields[name] = value(v)
	}
	return fields
}

func value(of any) *pb.Value {
	switch of := of.(type) {
	case nil:
		return &pb.Value{ValueType: &pb.Value_NullValue{NullValue: structpb.NullValue_NULL_VALUE}}
	case string:
		return &pb.Value{ValueType: &pb.Value_StringValue{StringValue: of}}
	case bool:
		return &pb.Value{ValueType: &pb.Value_BooleanValue{BooleanValue: of}}
	case int:
		return &pb.Value{ValueType: &pb.Value_IntegerValue{IntegerValue: int64(of)}}
	case time.Time:
		return &pb.Value{ValueType: &pb.Value_TimestampValue{TimestampValue: timestamppb.New(of)}}
	case map[string]any:
		return &pb.Value{ValueType: &pb.Value_MapValue{MapValue: &pb.MapValue{Fields: Make(of)}}}
	case []any:
		list := &pb.ArrayValue{}
		for _, v := range of {
			list.Values = append(list.Values, value(v))
		}
		return &pb.Value{ValueType: &pb.Value_ArrayValue{ArrayValue: list}}
	}
	panic(fmt.Sprintf("a world cannot hold a %T", of))
}
