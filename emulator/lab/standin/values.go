package standin

import (
	"encoding/binary"
	"math"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"

	"github.com/firesweep/firesweep/shared/documents/encode"
)

// Fields are a document's fields. Documents may share them: they are never changed.
type Fields map[string]*pb.Value

// Make makes fields of a document from what a client takes. It panics at anything else.
func Make(of map[string]any) Fields {
	fields, err := encode.Fields(of)
	if err != nil {
		panic(err)
	}
	return fields
}

func value(of any) *pb.Value { return Make(map[string]any{"": of})[""] }

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
