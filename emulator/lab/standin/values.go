package standin

import (
	"bytes"
	"cmp"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
)

// kind is the place of a value's type in Firestore's order.
func kind(v *pb.Value) int {
	switch v.GetValueType().(type) {
	case *pb.Value_NullValue, nil:
		return 0
	case *pb.Value_BooleanValue:
		return 1
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue:
		return 2
	case *pb.Value_TimestampValue:
		return 3
	case *pb.Value_StringValue:
		return 4
	case *pb.Value_BytesValue:
		return 5
	case *pb.Value_ReferenceValue:
		return 6
	case *pb.Value_ArrayValue:
		return 8
	default:
		return 9
	}
}

// compare puts two values in Firestore's order. Maps and places on the earth, which no query here orders by, are alike.
func compare(a, b *pb.Value) int {
	if c := cmp.Compare(kind(a), kind(b)); c != 0 {
		return c
	}
	switch x := a.GetValueType().(type) {
	case *pb.Value_BooleanValue:
		return cmp.Compare(truth(x.BooleanValue), truth(b.GetBooleanValue()))
	case *pb.Value_IntegerValue, *pb.Value_DoubleValue:
		return cmp.Compare(number(a), number(b))
	case *pb.Value_TimestampValue:
		s, t := x.TimestampValue, b.GetTimestampValue()
		return cmp.Or(cmp.Compare(s.GetSeconds(), t.GetSeconds()), cmp.Compare(s.GetNanos(), t.GetNanos()))
	case *pb.Value_StringValue:
		return strings.Compare(x.StringValue, b.GetStringValue())
	case *pb.Value_BytesValue:
		return bytes.Compare(x.BytesValue, b.GetBytesValue())
	case *pb.Value_ReferenceValue:
		return compareNames(x.ReferenceValue, b.GetReferenceValue())
	case *pb.Value_ArrayValue:
		s, t := x.ArrayValue.GetValues(), b.GetArrayValue().GetValues()
		for i := range min(len(s), len(t)) {
			if c := compare(s[i], t[i]); c != 0 {
				return c
			}
		}
		return cmp.Compare(len(s), len(t))
	default:
		return 0
	}
}

// compareNames compares paths segment by segment.
func compareNames(a, b string) int {
	for a != "" && b != "" {
		var s, t string
		s, a, _ = strings.Cut(a, "/")
		t, b, _ = strings.Cut(b, "/")
		if c := strings.Compare(s, t); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

func truth(b bool) int {
	if b {
		return 1
	}
	return 0
}

func number(v *pb.Value) float64 {
	if n, ok := v.GetValueType().(*pb.Value_IntegerValue); ok {
		return float64(n.IntegerValue)
	}
	return v.GetDoubleValue()
}
