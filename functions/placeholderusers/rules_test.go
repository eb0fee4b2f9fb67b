package placeholderusers

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/tasks"
)

var (
	now        = time.Date(2026, 3, 10, 0, 0, 0, 0, time.UTC)
	twoDaysAgo = time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC)
)

const tick = time.Microsecond

func TestJudge(t *testing.T) {
	const attempts, last = "deletion_attempts", "last_deletion_attempt_at"
	for name, tt := range map[string]struct {
		data    map[string]any
		number  int    // of the attempt that is due; 0: none is
		reason  string // why not
		invalid bool
	}{
		"never tried":              {data: detail("u"), number: 1},
		"namespace missing":        {data: detail("u", "namespace_id", enginetest.Missing), number: 1},
		"namespace set":            {data: detail("u", "namespace_id", "g1"), reason: keptNamespace},
		"namespace is a number":    {data: detail("u", "namespace_id", int64(1)), reason: keptNamespace},
		"namespace is a map":       {data: detail("u", "namespace_id", map[string]any{}), reason: keptNamespace},
		"namespace is 0":           {data: detail("u", "namespace_id", int64(0)), reason: keptBadSpace, invalid: true},
		"namespace is empty":       {data: detail("u", "namespace_id", ""), reason: keptBadSpace, invalid: true},
		"namespace is false":       {data: detail("u", "namespace_id", false), reason: keptBadSpace, invalid: true},
		"last attempt in 1970":     {data: detail("u", last, time.Unix(0, 0)), reason: keptBadTime, invalid: true},
		"attempts missing":         {data: detail("u", attempts, enginetest.Missing), number: 1},
		"attempts null":            {data: detail("u", attempts, nil), number: 1},
		"14 attempts":              {data: detail("u", attempts, int64(14)), number: 15},
		"14 attempts, as a real":   {data: detail("u", attempts, 14.0), number: 15},
		"15 attempts":              {data: detail("u", attempts, int64(15)), reason: keptExhausted},
		"attempts as text":         {data: detail("u", attempts, "1"), reason: keptBadAttempts, invalid: true},
		"half an attempt":          {data: detail("u", attempts, 0.5), reason: keptBadAttempts, invalid: true},
		"attempts below 0":         {data: detail("u", attempts, int64(-1)), reason: keptBadAttempts, invalid: true},
		"attempts beyond counting": {data: detail("u", attempts, int64(math.MaxInt64)), reason: keptExhausted},
		"tried exactly 2 days ago": {data: detail("u", last, twoDaysAgo), reason: keptRecent},
		"a tick longer ago":        {data: detail("u", last, twoDaysAgo.Add(-tick)), number: 1},
		"last attempt as text":     {data: detail("u", last, "2020-01-01"), reason: keptBadTime, invalid: true},
		"no user":                  {data: detail(nil), reason: keptNoUser, invalid: true},
		"a path":                   {data: detail("users/u"), reason: keptNoUser, invalid: true},
		"a user who has a number":  {data: detail(int64(7)), number: 1},
		"the longest user":         {data: detail(strings.Repeat("x", 1499)), number: 1},
		"too long to be asked for": {data: detail(strings.Repeat("x", 1500)), reason: keptLongUser, invalid: true},
	} {
		want := cleanup.Decision{Reason: tt.reason, Invalid: tt.invalid}
		if tt.number > 0 {
			want = cleanup.Do(handKind, fmt.Sprintf("in no namespace, attempt %d of 15", tt.number))
		}
		if name == "a tick longer ago" {
			want.Reason += ", the last on 2026-03-07T23:59:59Z"
		}
		enginetest.Want(t, name, want, judge(attempt{Subject: subject(tt.data)}, cleanup.Run{Now: now}))
	}
}

func subject(data map[string]any) cleanup.Subject {
	return cleanup.Subject{Document: documents.Document{Path: details + "/d", Data: data}, Found: true}
}

// TestTheTask is the same whenever it is asked for, another for each attempt, and due a second after the one before.
func TestTheTask(t *testing.T) {
	run := cleanup.Run{Now: now, Started: now.Add(time.Minute)}
	for name, tt := range map[string]struct {
		attempts any
		last     any
		key      []string
		last15   bool
	}{
		"the first": {nil, nil, []string{"d", "1", "0001-01-01T00:00:00Z"}, false},
		"the third": {int64(2), twoDaysAgo.Add(-tick), []string{"d", "3", "2026-03-07T23:59:59.999999Z"}, false},
		"the last":  {14.0, now, []string{"d", "15", "2026-03-10T00:00:00Z"}, true},
	} {
		s := subject(detail(int64(7), "deletion_attempts", tt.attempts, "last_deletion_attempt_at", tt.last))
		body := map[string]string{"placeholder_user_id": "7"}
		task := tasks.Task{Key: tt.key, Body: body}
		got := countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run)
		first := cleanup.Change{Then: []cleanup.FollowUp{{Task: &task, Apart: time.Second, Recorded: &cleanup.Recorded{}}}, Again: true, From: got.From}
		enginetest.Want(t, name+": first", first, got)
		s.From = "another task"
		enginetest.Want(t, name+": after another task", first, countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run))
		s.From = got.From
		got = countAttempt(attempt{Subject: s}, cleanup.Do("count", ""), run)
		enginetest.Want(t, name+": counted", 1, len(got.Writes))
		var notices []cleanup.Notice
		if tt.last15 {
			notices = []cleanup.Notice{{
				Message: "Maximum deletion attempts (15) reached for deletion of placeholder user. Making final deletion attempt.",
				Fields:  map[string]any{"placeholder_user_id": "7"},
			}}
		}
		enginetest.Want(t, name+": notices", notices, got.Notices)
	}
}
