// Package encode turns fields into the form of Firestore's API, in which a document is kept to be written exactly as it was.
package encode

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Fields returns fields in the form of Firestore's API. It takes the values that a document that was read or a write may hold,
// but not those that Firestore replaces, such as [firestore.ServerTimestamp]. Times are cut to Firestore's microseconds. The
// error names the field whose value is anything else.
func Fields(fields map[string]any) (map[string]*firestorepb.Value, error) {
	encoded := make(map[string]*firestorepb.Value, len(fields))
	for name, v := range fields {
		e, err := encodeValue(v)
		if err != nil {
			return nil, fmt.Errorf("field %s: %w", name, err)
		}
		encoded[name] = e
	}
	return encoded, nil
}

func encodeValue(v any) (*firestorepb.Value, error) {
	if v == firestore.Delete || v == firestore.ServerTimestamp {
		return nil, errors.New("a value that Firestore replaces cannot be kept")
	}
	switch v := v.(type) {
	case *firestorepb.Value: // of a type that the client library does not know
		return v, nil
	case nil:
		return &firestorepb.Value{ValueType: &firestorepb.Value_NullValue{NullValue: structpb.NullValue_NULL_VALUE}}, nil
	case []byte:
		return &firestorepb.Value{ValueType: &firestorepb.Value_BytesValue{BytesValue: v}}, nil
	case time.Time:
		at := timestamppb.New(v.Truncate(time.Microsecond))
		return &firestorepb.Value{ValueType: &firestorepb.Value_TimestampValue{TimestampValue: at}}, nil
	case *latlng.LatLng:
		return &firestorepb.Value{ValueType: &firestorepb.Value_GeoPointValue{GeoPointValue: v}}, nil
	case *firestore.DocumentRef:
		return &firestorepb.Value{ValueType: &firestorepb.Value_ReferenceValue{ReferenceValue: v.Path}}, nil
	case firestore.Vector64:
		return encodeVector(v), nil
	case map[string]any:
		fields, err := Fields(v)
		return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: fields}}}, err
	}
	return encodeKind(reflect.ValueOf(v))
}

// encodeKind encodes booleans, numbers and strings of any Go type, and slices and maps of them.
func encodeKind(v reflect.Value) (*firestorepb.Value, error) {
	switch {
	case v.Kind() == reflect.Bool:
		return &firestorepb.Value{ValueType: &firestorepb.Value_BooleanValue{BooleanValue: v.Bool()}}, nil
	case v.CanInt():
		return &firestorepb.Value{ValueType: &firestorepb.Value_IntegerValue{IntegerValue: v.Int()}}, nil
	case v.CanFloat():
		return &firestorepb.Value{ValueType: &firestorepb.Value_DoubleValue{DoubleValue: v.Float()}}, nil
	case v.Kind() == reflect.String:
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v.String()}}, nil
	case v.Kind() == reflect.Slice:
		values := make([]*firestorepb.Value, v.Len())
		for i := range values {
			var err error
			if values[i], err = encodeValue(v.Index(i).Interface()); err != nil {
				return nil, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return &firestorepb.Value{ValueType: &firestorepb.Value_ArrayValue{ArrayValue: &firestorepb.ArrayValue{Values: values}}}, nil
	case v.Kind() == reflect.Map && v.Type().Key().Kind() == reflect.String:
		fields := make(map[string]any, v.Len())
		for key, value := range v.Seq2() {
			fields[key.String()] = value.Interface()
		}
		return encodeValue(fields)
	}
	return nil, fmt.Errorf("a %s cannot be kept", v.Type())
}

// encodeVector encodes an embedding in the way that Firestore stores it: as a map whose __type__ is __vector__.
func encodeVector(v firestore.Vector64) *firestorepb.Value {
	values := make([]*firestorepb.Value, len(v))
	for i := range values {
		values[i] = &firestorepb.Value{ValueType: &firestorepb.Value_DoubleValue{DoubleValue: v[i]}}
	}
	fields := map[string]*firestorepb.Value{
		"__type__": {ValueType: &firestorepb.Value_StringValue{StringValue: "__vector__"}},
		"value":    {ValueType: &firestorepb.Value_ArrayValue{ArrayValue: &firestorepb.ArrayValue{Values: values}}},
	}
	return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: fields}}}
}
