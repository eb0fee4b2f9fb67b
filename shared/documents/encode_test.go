package documents_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/genproto/googleapis/type/latlng"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
	"pgregory.net/rapid"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/encode"
)

// TestEncode writes documents of random values in the form of the API, reads them as the bundle does, and encodes them again.
// Nothing may be lost, or undo could not restore a document as it was.
func TestEncode(t *testing.T) {
	p := backendstest.Start(t)
	_, c, _ := open(t, p)
	ctx, raw := backendstest.AsOwner(t.Context()), p.RawFirestore(t)
	database := "projects/" + p.ID + "/databases/(default)"
	name := database + "/documents/things/t"
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.MapOfN(rapid.StringMatching(`[a-zé.]{1,4}`), values(database), 0, 5).Draw(rt, "fields")
		_, err := raw.Commit(ctx, &firestorepb.CommitRequest{Database: database, Writes: []*firestorepb.Write{{
			Operation: &firestorepb.Write_Update{Update: &firestorepb.Document{Name: name, Fields: want}},
		}}})
		if err != nil {
			rt.Fatal(err)
		}
		d, found, err := c.Reader().Get(t.Context(), "things/t")
		if err != nil || !found {
			rt.Fatal(found, err)
		}
		got, err := encode.Fields(d.Data)
		if err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got, protocmp.Transform(), cmpopts.EquateNaNs()); diff != "" {
			rt.Errorf("read and encoded (-want +got):\n%s", diff)
		}
	})
}

// values draws whatever a field can hold.
func values(database string) *rapid.Generator[*firestorepb.Value] {
	double := func(v float64) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_DoubleValue{DoubleValue: v}}
	}
	text := func(v string) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
	}
	array := func(v []*firestorepb.Value) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_ArrayValue{ArrayValue: &firestorepb.ArrayValue{Values: v}}}
	}
	plain := rapid.OneOf(
		rapid.Just(&firestorepb.Value{ValueType: &firestorepb.Value_NullValue{NullValue: structpb.NullValue_NULL_VALUE}}),
		rapid.Map(rapid.Bool(), func(v bool) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_BooleanValue{BooleanValue: v}}
		}),
		rapid.Map(rapid.Int64(), func(v int64) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_IntegerValue{IntegerValue: v}}
		}),
		rapid.Map(rapid.Float64(), double),
		rapid.Map(rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), math.Copysign(0, -1), 1}), double),
		rapid.Map(rapid.String(), text),
		rapid.Map(rapid.SliceOf(rapid.Byte()), func(v []byte) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_BytesValue{BytesValue: v}}
		}),
		rapid.Map(rapid.Int64Range(-62_135_596_800_000_000, 253_402_300_799_999_999), func(micros int64) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_TimestampValue{TimestampValue: timestamppb.New(time.UnixMicro(micros))}}
		}),
		rapid.Map(rapid.SampledFrom([]string{"users/u", "a/b/c/ü d", "users/" + strings.Repeat("x", 1500)}),
			func(path string) *firestorepb.Value {
				return &firestorepb.Value{ValueType: &firestorepb.Value_ReferenceValue{ReferenceValue: database + "/documents/" + path}}
			}),
		rapid.Map(rapid.Float64Range(-90, 90), func(v float64) *firestorepb.Value {
			return &firestorepb.Value{ValueType: &firestorepb.Value_GeoPointValue{GeoPointValue: &latlng.LatLng{
				Latitude: v, Longitude: 2 * v,
			}}}
		}),
	)
	vector := rapid.Map(rapid.SliceOfN(rapid.Float64Range(-1, 1), 1, 4), func(v []float64) *firestorepb.Value {
		var elements []*firestorepb.Value
		for _, x := range v {
			elements = append(elements, double(x))
		}
		return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{
			Fields: map[string]*firestorepb.Value{"__type__": text("__vector__"), "value": array(elements)}}}}
	})
	maps := func(of *rapid.Generator[*firestorepb.Value]) *rapid.Generator[*firestorepb.Value] {
		return rapid.Map(rapid.MapOfN(rapid.StringMatching(`[a-z]{1,3}`), of, 0, 3),
			func(v map[string]*firestorepb.Value) *firestorepb.Value {
				return &firestorepb.Value{ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: v}}}
			})
	}
	inner := rapid.OneOf(plain, maps(plain)) // a list holds no vector
	return rapid.OneOf(plain, vector, maps(rapid.OneOf(inner, vector)), rapid.Map(rapid.SliceOfN(inner, 0, 3), array))
}

// TestEncodeWhatIsWritten encodes what jobs write: values may have other types than those of a document that was read.
func TestEncodeWhatIsWritten(t *testing.T) {
	got, err := encode.Fields(map[string]any{
		"at": time.Unix(1, 2_999), "names": []string{"a"}, "n": 3, "labels": map[string]string{"k": "v"}, "op": documents.Delete,
	})
	text := func(v string) *firestorepb.Value {
		return &firestorepb.Value{ValueType: &firestorepb.Value_StringValue{StringValue: v}}
	}
	want := map[string]*firestorepb.Value{
		"at":     {ValueType: &firestorepb.Value_TimestampValue{TimestampValue: &timestamppb.Timestamp{Seconds: 1, Nanos: 2_000}}},
		"names":  {ValueType: &firestorepb.Value_ArrayValue{ArrayValue: &firestorepb.ArrayValue{Values: []*firestorepb.Value{text("a")}}}},
		"n":      {ValueType: &firestorepb.Value_IntegerValue{IntegerValue: 3}},
		"labels": {ValueType: &firestorepb.Value_MapValue{MapValue: &firestorepb.MapValue{Fields: map[string]*firestorepb.Value{"k": text("v")}}}},
		"op":     text("delete"),
	}
	ok(t, err)
	check.Same(t, "encoded", want, got, protocmp.Transform())
	for name, v := range map[string]any{"a channel": make(chan int), "a struct": struct{}{},
		"deep": []any{map[string]any{"y": struct{}{}}}, "replaced": documents.ServerTimestamp, "removed": documents.DeleteField} {
		if _, err := encode.Fields(map[string]any{"f": v}); err == nil || !strings.Contains(err.Error(), "field f") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
