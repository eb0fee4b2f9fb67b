package documents

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestIDOf(t *testing.T) {
	for _, tt := range []struct {
		value any
		want  string // "": it names nothing
	}{
		{"u1", "u1"}, {"42", "42"}, {"042", "042"}, {"-1", "-1"}, {"0", "0"}, {strings.Repeat("x", 1500), strings.Repeat("x", 1500)},
		{int64(42), "42"}, {int64(1), "1"}, {int64(math.MaxInt64), "9223372036854775807"},
		{int64(0), ""}, {int64(-1), ""}, {int64(math.MinInt64), ""}, {42.0, ""}, {math.NaN(), ""}, {math.Inf(1), ""},
		{nil, ""}, {true, ""}, {"", ""}, {"a/b", ""}, {"..", ""}, {"__x__", ""}, {strings.Repeat("x", 1501), ""},
		{[]any{"u1"}, ""}, {map[string]any{"id": "u1"}, ""}, {[]byte("u1"), ""},
	} {
		id, ok := IDOf(tt.value)
		if ok != (tt.want != "") || ok && id != tt.want {
			t.Errorf("IDOf(%.20v) = %.20q, %v, want %.20q", tt.value, id, ok, tt.want)
		}
	}
}

func TestNamesOf(t *testing.T) {
	for id, number := range map[string]any{
		"u1": nil, "42": int64(42), "0": int64(0), "-7": int64(-7), "9223372036854775807": int64(math.MaxInt64),
		"042": nil, "+42": nil, "-0": nil, "4_2": nil, "42a": nil, "42.0": nil, "9223372036854775808": nil, "٤٢": nil,
	} {
		want := []any{id}
		if number != nil {
			want = append(want, number)
		}
		if diff := cmp.Diff(want, NamesOf(id)); diff != "" {
			t.Errorf("NamesOf(%q) (-want +got):\n%s", id, diff)
		}
	}
}
