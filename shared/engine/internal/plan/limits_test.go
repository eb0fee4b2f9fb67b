package plan

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
)

func TestSafetyLimits(t *testing.T) {
	limits := Limits{Config: config.Config{MaxActions: 100, MaxMissingPercent: 50, MinLookups: 20}}
	tests := []struct {
		name    string
		limits  Limits
		actions int
		lookups map[string]cleanup.Lookups
		tripped []string // a part of each message
	}{
		{name: "nothing planned", limits: limits},
		{name: "as many actions as allowed", limits: limits, actions: 100},
		{name: "one action too many", limits: limits, actions: 101, tripped: []string{"MAX_ACTIONS: the plan has more than 100 actions"}},
		{name: "half missing", limits: limits, lookups: map[string]cleanup.Lookups{"posts": {Asked: 20, Missing: 10}}},
		{name: "more than half missing", limits: limits, lookups: map[string]cleanup.Lookups{"posts": {Asked: 20, Missing: 11}},
			tripped: []string{"11 of 20 posts looked up (55.0 %) do not exist, but at most 50 %"}},
		{name: "all missing of too few to tell", limits: limits, lookups: map[string]cleanup.Lookups{"posts": {Asked: 19, Missing: 19}}},
		{name: "each kind on its own", limits: limits, lookups: map[string]cleanup.Lookups{
			"circles": {Asked: 1000, Missing: 0}, "posts": {Asked: 20, Missing: 20}, "tasks": {Asked: 40, Missing: 40}},
			tripped: []string{"20 of 20 posts", "40 of 40 tasks"}},
		{name: "none may be missing", limits: Limits{Config: config.Config{MaxActions: 1, MinLookups: 1}},
			lookups: map[string]cleanup.Lookups{"posts": {Asked: 1000, Missing: 1}}, tripped: []string{"1 of 1000 posts"}},
		{name: "all may be missing", limits: Limits{Config: config.Config{MaxActions: 1, MaxMissingPercent: 100, MinLookups: 1}},
			lookups: map[string]cleanup.Lookups{"posts": {Asked: 1000, Missing: 1000}}},
		{name: "both at once", limits: limits, actions: 101, lookups: map[string]cleanup.Lookups{"posts": {Asked: 20, Missing: 20}},
			tripped: []string{"MAX_ACTIONS", "MAX_MISSING_PERCENT"}},
		{name: "lifted", limits: Limits{Config: limits.Config, Lifted: true},
			actions: 1_000_000, lookups: map[string]cleanup.Lookups{"posts": {Asked: 20, Missing: 20}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.limits.Check(tt.actions, tt.lookups)
			var limit *cleanup.LimitError
			if !errors.As(err, &limit) {
				if err != nil || len(tt.tripped) > 0 {
					t.Fatalf("Check = %v, want %q", err, tt.tripped)
				}
				return
			}
			if len(limit.Tripped) != len(tt.tripped) {
				t.Fatalf("tripped %q, want %q", limit, tt.tripped)
			}
			for i, part := range tt.tripped {
				if !strings.Contains(limit.Tripped[i].Text, part) || !strings.Contains(limit.Tripped[i].Text, `{"force":true}`) {
					t.Errorf("message %q should say %q and how to lift it", limit.Tripped[i].Text, part)
				}
			}
		})
	}
}

// TestUploads counts owners by the upload of their newest object, in whatever order the objects come.
func TestUploads(t *testing.T) {
	t.Parallel()
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	restored := []upload{{"a", day(1), true}, {"b", day(2), true}, {"c", day(4), false}, {"d", day(5), false}, {"c", day(3), false}, {"d", day(6), false}}
	for _, tt := range []struct {
		name    string
		uploads []upload
		n       int
		cut     bool
	}{
		{"none", nil, 2, false},
		{"the newest two are missing", restored, 2, true},
		{"the newest three are not", restored, 3, false},
		{"too few to tell", restored, 5, false},
		{"all are missing", []upload{{"c", day(1), false}, {"d", day(2), false}}, 2, false},
		{"a new object of an old owner", append([]upload{{"a", day(7), true}}, restored...), 2, false},
		{"an older one of an owner that is there", append([]upload{{"e", day(7), true}}, restored...), 2, false},
		{"at the same time", []upload{{"a", day(1), true}, {"b", day(1), false}, {"c", day(1), false}}, 3, false},
	} {
		for turn := range max(1, len(tt.uploads)) {
			var u uploads
			for i := range tt.uploads {
				u.add(tt.n, tt.uploads[(i+turn)%len(tt.uploads)])
			}
			if got := u.cut(tt.n); got != tt.cut {
				t.Errorf("%s, turned by %d: %v, newest %v", tt.name, turn, got, u.newest)
			}
		}
	}
}
