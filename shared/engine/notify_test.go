package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/notify"
)

// chat is a webhook that remembers what it was told.
type chat struct {
	mu     sync.Mutex
	heard  []notify.Message
	status int // of its answers
}

// newChat has a function tell a webhook of its runs.
func newChat(t *testing.T, f *enginetest.Function, when string) *chat {
	t.Helper()
	c := &chat{status: http.StatusOK}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		var m notify.Message
		if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
			t.Error(err)
		}
		c.heard = append(c.heard, m)
		w.WriteHeader(c.status)
	}))
	t.Cleanup(s.Close)
	f.Env["NOTIFY_URL"], f.Env["NOTIFY"] = s.URL+"/very-secret-token", when
	f.Hooks.WaitToNotify = func(context.Context, time.Duration) error { return nil }
	return c
}

// said returns the status of each run of each message since the last call, "dry" before that of a preview.
func (c *chat) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, m := range c.heard {
		var of []string
		for _, r := range m.Runs {
			text := string(r.Status)
			if r.DryRun {
				text = "dry " + text
			}
			of = append(of, text)
		}
		all = append(all, strings.Join(of, ","))
	}
	c.heard = nil
	return strings.Join(all, "; ")
}

// TestWhoIsTold of which runs.
func TestWhoIsTold(t *testing.T) {
	t.Parallel()
	for when, want := range map[string][]string{ // a preview, a run, one that is aborted; each by hand and by schedule
		"failures": {"", "", "", "", "aborted", "aborted"},
		"always":   {"", "dry completed", "completed", "completed", "aborted", "aborted"},
	} {
		f := newFunction(t, thingsJob(10))
		c := newChat(t, f, when)
		for i, body := range []string{`{"dryRun":true}`, "", "aborted"} {
			if body == "aborted" {
				seed(t, f, 3)
				f.Env["MAX_ACTIONS"], body = "1", ""
			}
			f.Now = time.Time{}
			f.Run(t, body)
			enginetest.Want(t, when+", by hand", want[2*i], c.said())
			f.Now = start.Add(time.Duration(i-9) * time.Minute)
			f.Run(t, body)
			enginetest.Want(t, when+", by schedule", want[2*i+1], c.said())
		}
	}
}

// TestOneMessageForAllCalls of a run that continues.
func TestOneMessageForAllCalls(t *testing.T) {
	t.Parallel()
	s := newSlow(t, 5)
	c := newChat(t, s.Function, "always")
	s.call(t, "")
	enginetest.Want(t, "before the last call", "", c.said())
	if n := s.deliver(t); n < 2 {
		t.Fatalf("%d tasks, want a chain", n)
	}
	c.mu.Lock()
	if len(c.heard) != 1 || c.heard[0].Runs[0].RunID != onlyReport(t, s.Function).RunID || c.heard[0].Runs[0].Actions["delete thing"].Done != 5 {
		t.Errorf("%+v", c.heard)
	}
	c.mu.Unlock()
}

// TestOneMessageForAllShards, also where Cloud Tasks tries again what failed after the message was sent.
func TestOneMessageForAllShards(t *testing.T) {
	t.Parallel()
	s := newSharded(t).seeded(t)
	c := newChat(t, s.Function, "always")
	s.began = func(begin string) error {
		if begin == "t010" || begin == "t020" {
			return errors.New("not yet")
		}
		return nil
	}
	s.call(t, "")
	enginetest.Want(t, "before any shard", "", c.said())
	if _, err := s.deliverOnce(t); err == nil {
		t.Error("no shard failed")
	}
	enginetest.Want(t, "shards that fail", "failed", c.said())
	s.began = nil
	if _, err := s.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	enginetest.Want(t, "things left", 0, len(left(t, s.Function)))
	enginetest.Want(t, "once it is done after all", "", c.said())
}

// TestKilledIsTold by the call that finds the run.
func TestKilledIsTold(t *testing.T) {
	t.Parallel()
	for when, want := range map[string]string{"failures": "killed", "always": "killed; completed", "weekly": "killed,completed"} {
		f := newFunction(t, thingsJob(10))
		seed(t, f, 2)
		wall := start
		f.Clock = func() time.Time { return wall }
		var record map[string]any
		f.Hooks.BeforeApply = func() { record = job(t, f) }
		killed := f.Run(t, "")
		f.Reset(t)
		f.Set(t, "cleanupJobs/testJob", record) // what a run leaves that is killed while it applies
		f.Hooks.BeforeApply = nil
		c := newChat(t, f, when)
		wall = start.Add(f.Timeout + time.Minute)
		f.Run(t, "")
		c.mu.Lock()
		if len(c.heard) == 0 || c.heard[0].Runs[0].RunID != killed.RunID ||
			!strings.Contains(c.heard[0].Text, "firesweep undo --project "+c.heard[0].Project+" "+killed.RunID) {
			t.Errorf("%s: %+v", when, c.heard)
		}
		c.mu.Unlock()
		enginetest.Want(t, when, want, c.said())
	}
}

// TestWeekly: the first run of a week tells of all since the first of the week before.
func TestWeekly(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	wall := time.Date(2026, 11, 20, 3, 0, 0, 0, time.UTC) // a Friday
	f.Clock = func() time.Time { return wall }
	c := newChat(t, f, "weekly")
	for _, step := range []struct {
		day  string
		body string
		want string
	}{
		{"2026-11-20T03:00:00Z", "", "completed"}, // the first ever
		{"2026-11-21T03:00:00Z", "", ""},
		{"2026-11-22T23:59:59Z", "", ""},
		{"2026-11-23T00:00:00Z", `{"dryRun":true}`, ""}, // a Monday
		{"2026-11-23T00:00:00Z", "", "completed,completed,completed"},
		{"2026-11-23T00:00:01Z", "", ""},
		{"2026-11-29T23:59:59Z", "", ""},
		{"2026-12-02T03:00:00Z", "", "completed,completed,completed"},
		{"2026-12-14T03:00:00Z", "", "completed"}, // none in the week before
	} {
		at, err := time.Parse(time.RFC3339, step.day)
		if err != nil {
			t.Fatal(err)
		}
		wall = at
		f.Now = at
		f.Run(t, step.body)
		enginetest.Want(t, step.day+step.body, step.want, c.said())
	}
}

// TestNobodyAnswers: the run is as if nobody were to be told, and the log says so once, without the secret.
func TestNobodyAnswers(t *testing.T) {
	t.Parallel()
	f := newFunction(t, thingsJob(10))
	c := newChat(t, f, "always")
	c.status = http.StatusInternalServerError
	enginetest.Want(t, "answer", http.StatusOK, f.Post(t, "").Code)
	enginetest.Want(t, "tries", "completed; completed; completed", c.said())
	enginetest.Want(t, "status", "completed", string(onlyReport(t, f).Status))
	var warned []string
	for _, line := range f.LogLines(t) {
		text, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "very-secret-token") {
			t.Errorf("the log shows the secret: %s", text)
		}
		if m, _ := line["message"].(string); strings.Contains(m, "could not tell") {
			warned = append(warned, line["severity"].(string)+" "+m)
		}
	}
	want := []string{"WARNING testJob could not tell 127.0.0.1 of run " + onlyReport(t, f).RunID + ": it answered 500"}
	if !slices.Equal(warned, want) {
		t.Errorf("%q, want %q", warned, want)
	}
}
