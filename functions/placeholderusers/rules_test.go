package placeholderusers

import (
	"cmp"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/sweep"
	"github.com/firesweep/firesweep/shared/sweep/sweeptest"
	"github.com/firesweep/firesweep/shared/tasks"
)

var (
	now        = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	twoDaysAgo = time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
)

const tick = time.Microsecond

// detail is one that is due; pairs of fields and values change it, missing removes one.
func detail(userID any, pairs ...any) map[string]any {
	data := map[string]any{"placeholder_user_id": userID, "namespace_id": nil, "deletion_attempts": int64(0), "last_deletion_attempt_at": nil}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] == missing {
			delete(data, pairs[i].(string))
		} else {
			data[pairs[i].(string)] = pairs[i+1]
		}
	}
	return data
}

var missing = &struct{}{}

func TestJudge(t *testing.T) {
	const attempts, last = "deletion_attempts", "last_deletion_attempt_at"
	for name, tt := range map[string]struct {
		data    map[string]any
		user    string // who it is about; "": u
		number  int    // of the attempt that is due; 0: none is
		reason  string // why not
		invalid bool
	}{
		"never tried":              {data: detail("u"), number: 1},
		"namespace missing":        {data: detail("u", "namespace_id", missing), number: 1},
		"namespace set":            {data: detail("u", "namespace_id", "g1"), reason: keptNamespace},
		"namespace is 0":           {data: detail("u", "namespace_id", int64(0)), reason: keptNamespace},
		"attempts missing":         {data: detail("u", attempts, missing), number: 1},
		"14 attempts":              {data: detail("u", attempts, int64(14)), number: 15},
		"14 attempts, as a real":   {data: detail("u", attempts, 14.0), number: 15},
		"15 attempts":              {data: detail("u", attempts, int64(15)), reason: keptExhausted},
		"attempts as text":         {data: detail("u", attempts, "1"), reason: keptBadAttempts, invalid: true},
		"half an attempt":          {data: detail("u", attempts, 0.5), reason: keptBadAttempts, invalid: true},
		"tried exactly 2 days ago": {data: detail("u", last, twoDaysAgo), reason: keptRecent},
		"a tick longer ago":        {data: detail("u", last, twoDaysAgo.Add(-tick)), number: 1},
		"last attempt as text":     {data: detail("u", last, "2020-01-01"), reason: keptBadTime, invalid: true},
		"no user":                  {data: detail(nil), reason: keptNoUser, invalid: true},
		"a path":                   {data: detail("users/u"), reason: keptNoUser, invalid: true},
		"a user who has a number":  {data: detail(int64(7)), user: "7", number: 1},
		"the longest user":         {data: detail(strings.Repeat("x", 1499)), user: strings.Repeat("x", 1499), number: 1},
		"too long to be asked for": {data: detail(strings.Repeat("x", 1500)), reason: keptLongUser, invalid: true},
		"attempts beyond counting": {data: detail("u", attempts, int64(math.MaxInt64)), reason: keptExhausted},
	} {
		d := judge(subject(tt.data), sweep.Run{Now: now})
		if (d.Kind == handKind) != (tt.number > 0) || d.Invalid != tt.invalid || d.Kind == "" && d.Reason != tt.reason {
			t.Errorf("%s: %+v", name, d)
		}
		if a := next(subject(tt.data)); d.Kind != "" && (a.number != tt.number || a.userID != cmp.Or(tt.user, "u") || d.Reason != a.reason()) {
			t.Errorf("%s: %+v, %+v", name, a, d)
		}
	}
}

func subject(data map[string]any) sweep.Subject {
	return sweep.Subject{Document: documents.Document{Path: details + "/d", Data: data}, Found: true}
}

// TestTheTask is the same whenever it is asked for, and due a second after the one before.
func TestTheTask(t *testing.T) {
	s := subject(detail("u", "deletion_attempts", int64(2), "last_deletion_attempt_at", twoDaysAgo.Add(-time.Second)))
	s.Nth = 7
	want := countAttempt(s, sweep.Decision{}, sweep.Run{Now: now, Started: now.Add(time.Minute)})
	sweeptest.Want(t, "task", []tasks.Task{{
		Key: []string{"d", "3", "2026-03-07T23:59:59Z"}, Body: map[string]string{"placeholder_user_id": "u"}, NotBefore: now.Add(67 * time.Second),
	}}, want.Before)
	sweeptest.Want(t, "notices", 0, len(want.Notices))
	s.Data["deletion_attempts"] = int64(14)
	sweeptest.Want(t, "notices of the last", []sweep.Notice{{
		Message: "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt.",
		Fields:  map[string]any{"placeholder_user_id": "u"},
	}}, countAttempt(s, sweep.Decision{}, sweep.Run{}).Notices)
	s.Data["deletion_attempts"] = int64(2)
	sweeptest.Want(t, "reason", "in no namespace, attempt 3 of 15, the last on 2026-03-07T23:59:59Z", next(s).reason())
}

func TestKeyTellsAttemptsApart(t *testing.T) {
	keys := map[string]bool{}
	for _, a := range []attempt{{"u", 2, twoDaysAgo}, {"u", 3, twoDaysAgo}, {"u", 2, now}} {
		keys[strings.Join(a.key("d"), "|")], keys[strings.Join(a.key("d1"), "|")] = true, true
	}
	if len(keys) != 6 {
		t.Errorf("keys %v", keys)
	}
}

func TestTask(t *testing.T) {
	for id, ok := range map[string]bool{"u1": true, "4711": true, "a/b": false, "..": false, "": false} {
		if err := checkTask(map[string]string{"placeholder_user_id": id}); (err == nil) != ok {
			t.Errorf("%q: %v", id, err)
		}
	}
}
