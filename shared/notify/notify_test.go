package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/googleapis/gax-go/v2"

	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/report"
)

var started = time.Date(2026, 11, 23, 3, 0, 0, 0, time.UTC)

const secret = "very-secret-token"

func failed() *report.Report {
	return &report.Report{
		Job: "cleanDrafts", RunID: "cleanDrafts-20261123T030000Z-0a1b2c3d", Status: report.Failed, StartedAt: started, DurationMs: 1500,
		Scanned: 20, Actions: map[string]report.Counts{"delete <draft>": {Planned: 12, Done: 9, Changed: 1, Failed: 2}, "none": {}},
		Kept:     map[string]int{"young `new`": 3, "@everyone": 5, "zero": 0},
		Failures: []report.Failure{{Target: "users/alice", Action: "delete <draft>", Error: "users/alice: no"}, {Target: "users/bob", Action: "delete <draft>"}},
	}
}

const failedText = `cleanDrafts in my-app: failed
Failed: delete <draft> failed
Done: delete <draft> 9 of 12 (1 changed meanwhile) (2 failed)
Undo until 2026-11-30 03:00 UTC: firesweep undo --project my-app cleanDrafts-20261123T030000Z-0a1b2c3d
Details: firesweep show --project my-app cleanDrafts-20261123T030000Z-0a1b2c3d
Kept: 8 (@everyone 5, young ` + "`new`" + ` 3)`

func TestText(t *testing.T) {
	t.Parallel()
	aborted, preview, killed, nothing := failed(), failed(), failed(), failed()
	aborted.Status, aborted.Actions, aborted.Kept = report.Aborted, map[string]report.Counts{"delete": {Planned: 12}}, nil
	aborted.Failures = []report.Failure{
		{Action: report.CheckLimits, Error: `MAX_PER_OWNER: 5 items of users/alice: raise MAX_PER_OWNER`},
		{Action: report.CheckLimits, Error: `no document in tasks: run once with {"lift":["empty:tasks"]}`},
		{Action: report.CheckLimits, Error: "something of users/alice"},
	}
	preview.Status, preview.DryRun, preview.Failures, preview.Kept = report.Completed, true, nil, nil
	killed.Status, killed.Actions, killed.Kept, killed.Failures = report.Killed, nil, nil, []report.Failure{{Action: "run"}}
	nothing.Status, nothing.Actions, nothing.Kept, nothing.Failures = report.Completed, nil, nil, nil
	id := failed().RunID
	for _, c := range []struct {
		name string
		of   *report.Report
		days int
		want string
	}{
		{"failed", failed(), 7, failedText},
		{"no undo", failed(), 0, strings.Replace(failedText, "Undo until 2026-11-30 03:00 UTC: firesweep undo --project my-app "+id+"\n", "", 1)},
		{"aborted", aborted, 7, "cleanDrafts in my-app: aborted\nTripped: MAX_PER_OWNER, empty:tasks, a safety limit\nDone: delete 0 of 12\n" +
			"Details: firesweep show --project my-app " + id},
		{"preview", preview, 7, "cleanDrafts in my-app: completed (preview: nothing was changed)\nWould do: delete <draft> 12\n" +
			"Details: firesweep show --project my-app " + id},
		{"killed", killed, 7, "cleanDrafts in my-app: killed\nFailed: run failed\nIt ended without a report; its undo log knows what it did.\n" +
			"Undo until 2026-11-30 03:00 UTC: firesweep undo --project my-app " + id + "\nDetails: firesweep show --project my-app " + id},
		{"nothing", nothing, 7, "cleanDrafts in my-app: completed\nDetails: firesweep show --project my-app " + id},
	} {
		if diff := cmp.Diff(c.want, ofRun("my-app", c.of, c.days).Text); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestTextOfWeek(t *testing.T) {
	t.Parallel()
	first, killed, last := failed(), failed(), failed()
	first.StartedAt = started.AddDate(0, 0, -6)
	killed.StartedAt, killed.Status, killed.Actions, killed.Failures = started.AddDate(0, 0, -1), report.Killed, nil, nil
	killed.RunID = "cleanDrafts-killed"
	last.Status, last.Failures, last.Actions = report.Completed, nil, map[string]report.Counts{"delete <draft>": {Planned: 2, Done: 2}}
	got := ofWeek("my-app", []*report.Report{first, killed, last}, 7)
	want := `cleanDrafts in my-app, week to 2026-11-23: 1 completed, 1 failed, 1 killed
Done: delete <draft> 11 of 14 (1 changed meanwhile) (2 failed)
By the last run: Kept: 8 (@everyone 5, young ` + "`new`" + ` 3)
2026-11-23 03:00 UTC completed, 2 done; until 2026-11-30 03:00 UTC: firesweep undo --project my-app cleanDrafts-20261123T030000Z-0a1b2c3d
2026-11-22 03:00 UTC killed, 0 done; until 2026-11-29 03:00 UTC: firesweep undo --project my-app cleanDrafts-killed
2026-11-17 03:00 UTC failed, 9 done; delete <draft> failed; until 2026-11-24 03:00 UTC: firesweep undo --project my-app cleanDrafts-20261123T030000Z-0a1b2c3d`
	if diff := cmp.Diff(want, got.Text); diff != "" {
		t.Error(diff)
	}
	if len(got.Runs) != 3 || got.Runs[1].Status != report.Killed {
		t.Errorf("runs: %+v", got.Runs)
	}
	if got.rest != "firesweep runs --project my-app cleanDrafts" {
		t.Errorf("what shows the rest: %s", got.rest)
	}
}

func bodyFor(t *testing.T, host string, m Message) string {
	t.Helper()
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(m.body(host)); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(b.String())
}

// TestBodies are what each service takes.
func TestBodies(t *testing.T) {
	t.Parallel()
	m := *ofRun("my-app", failed(), 0)
	m.Text = "<!channel> & `x`\n@everyone"
	slack := `{"mrkdwn":false,"text":"&lt;!channel&gt; &amp; ` + "`x`" + `\n@everyone"}`
	discord := `{"allowed_mentions":{"parse":[]},"content":"\n` + "```" + `\n<!channel> & 'x'\n@everyone\n` + "```" + `\n"}`
	teams := `{"attachments":[{"content":{"$schema":"http://adaptivecards.io/schemas/adaptive-card.json","body":[` +
		`{"inlines":[{"text":"<!channel> & ` + "`x`" + `","type":"TextRun","weight":"Bolder"}],"type":"RichTextBlock"},` +
		`{"inlines":[{"text":"@everyone","type":"TextRun"}],"type":"RichTextBlock"}],"type":"AdaptiveCard","version":"1.4"},` +
		`"contentType":"application/vnd.microsoft.card.adaptive"}],"type":"message"}`
	own := `{"text":"<!channel> & ` + "`x`" + `\n@everyone","project":"my-app","job":"cleanDrafts","runs":[` +
		`{"runId":"cleanDrafts-20261123T030000Z-0a1b2c3d","status":"failed","dryRun":false,"startedAt":"2026-11-23T03:00:00Z",` +
		`"durationMs":1500,"scanned":20,"actions":{"delete <draft>":{"planned":12,"done":9,"changed":1,"failed":2},` +
		`"none":{"planned":0,"done":0,"changed":0,"failed":0}},"kept":{"@everyone":5,"young ` + "`new`" + `":3,"zero":0},` +
		`"problems":["delete <draft> failed"],"show":"firesweep show --project my-app cleanDrafts-20261123T030000Z-0a1b2c3d"}]}`
	for host, want := range map[string]string{
		"hooks.slack.com": slack, "hooks.slack-gov.com": slack,
		"discord.com": discord, "ptb.discord.com": discord, "discordapp.com": discord,
		"prod-1.westeurope.logic.azure.com": teams, "default1.2.environment.api.powerplatform.com": teams,
		"example.com": own, "notdiscord.com": own, "hooks.slack.com.example.com": own,
	} {
		if diff := cmp.Diff(want, bodyFor(t, host, m)); diff != "" {
			t.Errorf("%s: %s", host, diff)
		}
	}
}

// TestLongTexts are cut where the service would refuse them, and say so.
func TestLongTexts(t *testing.T) {
	t.Parallel()
	for most, host := range map[int]string{2000: "discord.com", maxText: "example.com"} {
		for _, n := range []int{most - 2*len(fence), most, 3 * most} {
			m := Message{Text: strings.Repeat("ü", n/2), rest: "firesweep show x"}
			var got struct{ Content, Text string }
			if err := json.Unmarshal([]byte(bodyFor(t, host, m)), &got); err != nil {
				t.Fatal(err)
			}
			text := got.Content + got.Text
			fits := n <= most && (host == "example.com" || n <= maxDiscord)
			if len(text) > most {
				t.Errorf("%s, %d bytes: the message has %d", host, n, len(text))
			}
			if said := strings.Contains(text, "…\nThe rest was cut: firesweep show x shows it."); said == fits {
				t.Errorf("%s, %d bytes: that it was cut is said: %v", host, n, said)
			}
		}
	}
}

// hook is a webhook that answers with a status each, the last one again and again.
type hook struct {
	*httptest.Server
	got   []string
	waits []time.Duration
}

func newHook(t *testing.T, retryAfter string, statuses ...int) *hook {
	t.Helper()
	h := &hook{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.got = append(h.got, fmt.Sprintf("%s %s %s %s", r.Method, r.URL.Path, r.Header.Get("Content-Type"), body))
		status := statuses[min(len(h.got), len(statuses))-1]
		if status == 0 {
			panic(http.ErrAbortHandler) // no answer
		}
		if retryAfter != "" {
			w.Header().Set("Retry-After", retryAfter)
		}
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *hook) address(t *testing.T, base string) config.SecretURL {
	t.Helper()
	env := map[string]string{"GOOGLE_CLOUD_PROJECT": "my-app", "DRY_RUN": "true", "NOTIFY_URL": base + "/" + secret}
	cfg, err := config.Load(func(name string) string { return env[name] }, nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg.NotifyURL
}

func (h *hook) post(t *testing.T) error {
	t.Helper()
	wait := func(_ context.Context, d time.Duration) error { h.waits = append(h.waits, d); return nil }
	return Post(t.Context(), h.address(t, h.URL), *ofRun("my-app", failed(), 7), wait)
}

func TestRetries(t *testing.T) {
	t.Parallel()
	s := time.Second
	for _, c := range []struct {
		name, after string
		statuses    []int
		want        string // the error
		tries       int
		waits       []time.Duration
	}{
		{"at once", "", []int{204}, "", 1, nil},
		{"a refusal", "", []int{404}, "it answered 404", 1, nil},
		{"a redirect", "", []int{307}, "it answered 307", 1, nil},
		{"408", "", []int{408, 200}, "", 2, []time.Duration{s}},
		{"429", "", []int{429, 200}, "", 2, []time.Duration{s}},
		{"no answer", "", []int{0, 202}, "", 2, []time.Duration{s}},
		{"always 503", "", []int{503}, "it answered 503", 3, []time.Duration{s, 2 * s}},
		{"as long as it asks", "2.5", []int{429, 200}, "", 2, []time.Duration{2500 * time.Millisecond}},
		{"at most so long", "10", []int{429, 200}, "", 2, []time.Duration{10 * s}},
		{"longer", "11", []int{429, 200}, "it answered 429, and is to be tried again only in 11s", 1, nil},
		{"a date that is over", "Mon, 02 Jan 2006 15:04:05 GMT", []int{503, 200}, "", 2, []time.Duration{s}},
	} {
		h := newHook(t, c.after, c.statuses...)
		got := ""
		if err := h.post(t); err != nil {
			got = err.Error()
		}
		if got != c.want || len(h.got) != c.tries || !cmp.Equal(c.waits, h.waits) {
			t.Errorf("%s: %q after %d tries and waits of %v, want %q, %d, %v", c.name, got, len(h.got), h.waits, c.want, c.tries, c.waits)
		}
	}
}

func TestPostsJSON(t *testing.T) {
	t.Parallel()
	h := newHook(t, "", 200)
	if err := h.post(t); err != nil {
		t.Fatal(err)
	}
	if got := h.got[0]; !strings.HasPrefix(got, "POST /"+secret+` application/json {"text":"cleanDrafts in my-app: failed\n`) ||
		strings.Contains(got, "alice") {
		t.Error(got)
	}
}

// TestNoMoreTime: what waits for another attempt ends with the call.
func TestNoMoreTime(t *testing.T) {
	t.Parallel()
	h := newHook(t, "", 503)
	ctx, cancel := context.WithCancel(t.Context())
	wait := func(ctx context.Context, d time.Duration) error { cancel(); return gax.Sleep(ctx, 1000*d) }
	if err := Post(ctx, h.address(t, h.URL), Message{}, wait); err == nil || err.Error() != "it answered 503" || len(h.got) != 1 {
		t.Errorf("%v after %d tries", err, len(h.got))
	}
}

// TestTheAddressIsASecret that no error and no way of printing shows.
func TestTheAddressIsASecret(t *testing.T) {
	t.Parallel()
	h := newHook(t, "", 404)
	to := h.address(t, h.URL)
	h.Close()
	wait := func(context.Context, time.Duration) error { return nil }
	err := Post(t.Context(), to, Message{}, wait)
	if err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("nobody listens: %v", err)
	}
	err = Post(t.Context(), config.SecretURL{}, Message{}, wait)
	if err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("no address: %v", err)
	}
	encoded, _ := json.Marshal(map[string]any{"to": to}) // a struct of strings cannot fail
	for _, text := range []string{fmt.Sprint(to), fmt.Sprintf("%v %+v %#v %s %q", to, to, to, to, to), string(encoded),
		fmt.Sprintf("%v %+v", config.Config{NotifyURL: to}, config.Config{NotifyURL: to}), fmt.Sprintf("%#v", config.Config{NotifyURL: to})} {
		if strings.Contains(text, secret) {
			t.Error(text)
		}
	}
}
