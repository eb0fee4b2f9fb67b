package standin

import (
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"time"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Fields are a document's fields. Documents may share them: they are never changed.
type Fields map[string]*pb.Value

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

// The first byte of a value's key: the place of its type in Firestore's order.
const (
	null byte = 1 + iota
	boolean
	number
	timestamp
	text
	blob
	reference
	array
	other
)

// appendKey appends a value's key. Keys are in the order of their values, and none begins another. Maps and places on the earth,
// by which no query here orders, have the same.
func appendKey(key []byte, v *pb.Value) []byte {
	switch x := v.GetValueType().(type) {
	case *pb.Value_NullValue, nil:
		return append(key, null)
	case *pb.Value_BooleanValue:
		if x.BooleanValue {
			return append(key, boolean, 1)
		}
		return append(key, boolean, 0)
	case *pb.Value_IntegerValue:
		return appendNumber(key, float64(x.IntegerValue))
	case *pb.Value_DoubleValue:
		return appendNumber(key, x.DoubleValue)
	case *pb.Value_TimestampValue:
		key = binary.BigEndian.AppendUint64(append(key, timestamp), uint64(x.TimestampValue.GetSeconds())^1<<63)
		return binary.BigEndian.AppendUint32(key, uint32(x.TimestampValue.GetNanos()))
	case *pb.Value_StringValue:
		return appendText(append(key, text), x.StringValue)
	case *pb.Value_BytesValue:
		return appendText(append(key, blob), string(x.BytesValue))
	case *pb.Value_ReferenceValue:
		return appendText(append(key, reference), x.ReferenceValue)
	case *pb.Value_ArrayValue:
		key = append(key, array)
		for _, v := range x.ArrayValue.GetValues() {
			key = appendKey(key, v)
		}
		return append(key, 0)
	default:
		return append(key, other)
	}
}

// appendNumber appends the bits of a number, turned so that they ascend with it.
func appendNumber(key []byte, n float64) []byte {
	bits := math.Float64bits(n + 0) // of which zero has but one form
	if bits>>63 == 1 {
		bits = ^bits
	} else {
		bits |= 1 << 63
	}
	return binary.BigEndian.AppendUint64(append(key, number), bits)
}

func appendText(key []byte, s string) []byte {
	return append(append(key, strings.ReplaceAll(s, "\x00", "\x00\xff")...), 0, 1)
}
