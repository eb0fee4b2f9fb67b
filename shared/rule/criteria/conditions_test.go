package criteria_test

import (
	"encoding/json"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule/criteria"
)

// ascending are numbers in their order as Firestore compares them, which tells int64 and float64 apart exactly.
var ascending = []any{
	-math.MaxFloat64, int64(math.MinInt64), int64(math.MinInt64 + 1), int64(-1), -0.5, int64(0), 0.5, int64(1),
	int64(1<<53 - 1), float64(1 << 53), int64(1<<53 + 1), int64(1<<53 + 3), float64(1<<53 + 4), int64(1<<53 + 5),
	int64(math.MaxInt64), float64(1 << 63), math.MaxFloat64,
}

// TestNumbersCompare: each operator of order is right for each two numbers, however large.
func TestNumbersCompare(t *testing.T) {
	t.Parallel()
	for i, value := range ascending {
		for j, want := range ascending {
			for key, holds := range map[string]bool{"==": i == j, "!=": i != j, "<": i < j, "<=": i <= j, ">": i > j, ">=": i >= j} {
				if got := judge(criteria.Ops{key: want}, value); (got == criteria.Met) != holds || got == criteria.Unclear {
					t.Errorf("%v (%[1]T) %s %v (%[3]T): %v", value, key, want, got)
				}
			}
		}
	}
}

// TestWhatCannotBeCompared: a value of another type is unclear, so that it keeps an item.
func TestWhatCannotBeCompared(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"1", true, math.NaN(), math.Inf(1), []any{int64(1)}, map[string]any{}} {
		for _, key := range []string{"==", "!=", "<", "<=", ">", ">="} {
			check.Same(t, fmt.Sprint(value, key, 1), criteria.Unclear, judge(criteria.Ops{key: int64(1)}, value))
		}
	}
}

func judge(ops criteria.Ops, value any) criteria.Answer {
	return criteria.Condition{Field: "f", Ops: ops}.Holds(func(string) (any, bool) { return value, true })
}

// TestKeptSaysWhatIsThere: the reason to keep an item says of a value only what is so.
func TestKeptSaysWhatIsThere(t *testing.T) {
	t.Parallel()
	admin := criteria.Condition{Field: "role", Ops: criteria.Ops{"!=": "admin"}}
	open := criteria.Condition{Field: "role", Ops: criteria.Ops{"not-in": []any{"open", "new"}}}
	few := criteria.Condition{Field: "role", Ops: criteria.Ops{"<=": int64(3)}}
	const missing, null, odd = "role is missing", "role is null", "role is of another type"
	done := criteria.Condition{Field: "meta.done", Ops: criteria.Ops{"==": true}}
	const another = "meta.done is written in another way, as a field with a dot in its name or below what is no map, so it is unknown " +
		"whether meta.done is true"
	for _, tt := range []struct {
		of   criteria.Condition
		data map[string]any
		want string
	}{
		{done, map[string]any{"meta.done": true}, another}, {done, map[string]any{"meta": "done"}, another},
		{done, map[string]any{"meta": map[string]any{"done": false}}, "meta.done is not true"}, {done, nil, "meta.done is not true"},
		{admin, map[string]any{"role": "admin"}, "role is admin"}, {admin, nil, missing}, {admin, map[string]any{"role": nil}, null},
		{admin, map[string]any{"role": int64(1)}, odd}, {open, map[string]any{"role": "new"}, "role is open or new"}, {open, nil, missing},
		{open, map[string]any{"role": true}, odd}, {few, map[string]any{"role": int64(4)}, "role is more than 3"}, {few, nil, missing},
		{few, map[string]any{"role": "4"}, odd}, {criteria.Condition{Field: "role", Is: "not empty"}, map[string]any{"role": ""}, "role is empty"},
		{criteria.Condition{Field: "role", Is: "not empty"}, map[string]any{"role": nil}, null},
		{criteria.Condition{Field: "role", Is: "not empty"}, nil, missing}, {criteria.Condition{Field: "role", Is: "not empty"}, map[string]any{"role": int64(0)}, odd},
		{criteria.Condition{Field: "role", Ops: criteria.Ops{"!=": nil}}, map[string]any{"role": nil}, "role is null"},
		{criteria.Condition{Field: "role", Ops: criteria.Ops{"==": "x"}}, nil, "role is not x"},
	} {
		of := documents.Document{Data: tt.data}.Lookup
		got, invalid := tt.of.Kept(tt.of.Holds(of), of)
		check.Same(t, fmt.Sprint(tt.of.Words(), tt.data), []any{tt.want, tt.want == another}, []any{got, invalid})
	}
}

// TestTextsOfTimes: a text is read as ISO 8601, also with a blank in place of the T; without an offset, it is the latest that it may
// mean. What has another order is no time.
func TestTextsOfTimes(t *testing.T) {
	t.Parallel()
	at := func(hour int) time.Time { return time.Date(2020, 11, 3, hour, 0, 0, 0, time.UTC) }
	for text, want := range map[string]time.Time{
		"2020-11-03T10:00:00Z": at(10), "2020-11-03 10:00:00Z": at(10), "2020-11-03 10:00Z": at(10), "2020-11-03T10:00:00+0200": at(8),
		"2020-11-03 10:00:00+02:00": at(8), "2020-11-03 10:00:00 +0000": at(10), "2020-11-03T10:00:00.000-0100": at(11),
		"2020-11-03 10:00:00": at(22), "2020-11-03 10:00": at(22), "2020-11-03 10:00:00.123": at(22).Add(123 * time.Millisecond),
		"2020-11-03 10:00:00.123456": at(22).Add(123456 * time.Microsecond), "2020-11-03": at(36),

		"2020-11-03 ": {}, "2020-11-03  10:00": {}, "2020-11-03 10:00 PM": {}, "2020-11-03 Z": {}, "2020-11-03Z": {}, "2020-11-03 +0000": {}, "03-11-2020 10:00:00": {},
		"2020-11-03 10:00:00 UTC": {}, "20201103T101010Z": {}, "2020/11/03 10:00": {}, "Nov 3, 2020": {}, "": {}, "1970-01-01 00:00:00": {},
	} {
		got, ok := criteria.Age{As: "text"}.At(text)
		if ok != !want.IsZero() || ok && !got.Equal(want) {
			t.Errorf("%q: %v, %t, want %v", text, got, ok, want)
		}
	}
}

// TestNumberOf: a number is an int64 as long as it fits, and no number if it fits no type.
func TestNumberOf(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]any{
		"0": int64(0), "9223372036854775807": int64(math.MaxInt64), "9223372036854775808": float64(1 << 63), "1.0": 1.0, "1e400": nil,
	} {
		got, err := criteria.NumberOf(json.Number(text))
		if (err != nil) != (want == nil) || want != nil && got != want {
			t.Errorf("%s: %v (%[2]T), %v", text, got, err)
		}
	}
}

// TestNoClaimsAtAll: of accounts and objects, it can be asked whether they have any claims or metadata.
func TestNoClaimsAtAll(t *testing.T) {
	t.Parallel()
	with := map[string]json.RawMessage{"admin": []byte("null")}
	for _, tt := range []struct {
		of    criteria.Lookup
		field string
		empty bool
	}{
		{criteria.FieldsOfAccount(accounts.Account{}), "claims", true}, {criteria.FieldsOfAccount(accounts.Account{Claims: with}), "claims", false},
		{criteria.FieldsOfObject(objects.Object{}), "metadata", true},
		{criteria.FieldsOfObject(objects.Object{Metadata: map[string]string{"a": ""}}), "metadata", false},
	} {
		for state, want := range map[string]bool{"empty": tt.empty, "not empty": !tt.empty} {
			if got := (criteria.Condition{Field: tt.field, Is: state}).Holds(tt.of); (got == criteria.Met) != want || got == criteria.Unclear {
				t.Errorf("%s is %s: %v, want %t", tt.field, state, got, want)
			}
		}
	}
}

// TestClaims: a claim may lie within another, and its name may have dots.
func TestClaims(t *testing.T) {
	t.Parallel()
	of := criteria.FieldsOfAccount(accounts.Account{Claims: map[string]json.RawMessage{
		"admin": []byte("true"), "roles": []byte(`{"admin": true, "n": 9007199254740993}`), "example.com/admin": []byte("true"), "plan": []byte(`"free"`),
		"n": []byte("9007199254740993"), "half": []byte("1.5"), "infinite": []byte("1e999"), "all": []byte("[9007199254740993]"),
	}})
	for field, want := range map[string]criteria.Answer{
		"claims.admin": criteria.Met, "claims.roles.admin": criteria.Met, "claims.example.com/admin": criteria.Met,
		"claims.roles.other": criteria.Unmet, "claims.other.admin": criteria.Unmet, "claims.plan.admin": criteria.Unclear,
	} {
		check.Same(t, field, want, criteria.Condition{Field: field, Ops: criteria.Ops{"==": true}}.Holds(of))
	}
	const large = int64(9007199254740993) // which no float64 is
	for _, tt := range []struct {
		field, op string
		value     any
		want      criteria.Answer
	}{
		{"claims.n", "==", large, criteria.Met}, {"claims.n", "==", large - 1, criteria.Unmet}, {"claims.n", "!=", large, criteria.Unmet},
		{"claims.n", ">", large - 1, criteria.Met}, {"claims.roles.n", "<=", large - 1, criteria.Unmet},
		{"claims.all", "array-contains", large, criteria.Met}, {"claims.half", "==", 1.5, criteria.Met}, {"claims.half", "<", int64(2), criteria.Met},
		{"claims.n", "==", "9007199254740993", criteria.Unclear}, {"claims.infinite", ">", large, criteria.Unclear},
	} {
		check.Same(t, fmt.Sprint(tt), tt.want, criteria.Condition{Field: tt.field, Ops: criteria.Ops{tt.op: tt.value}}.Holds(of))
	}
}

// TestUndated: the reason why an item is kept whose time cannot be read fits the type of the value.
func TestUndated(t *testing.T) {
	t.Parallel()
	for as, want := range map[string]string{"text": "at is not a date and time of ISO 8601", "timestamp": "at is not a timestamp",
		"seconds": "at is a number of seconds since 1970, but of no year from 2000 to 9999"} {
		check.Same(t, as, want, criteria.Age{Field: "at", As: as}.Undated(int64(1)))
	}
	check.Same(t, "elsewhere", "a.at is written in another way, as a field with a dot in its name or below what is no map",
		criteria.Age{Field: "a.at"}.Undated(criteria.Misplaced{}))
}
