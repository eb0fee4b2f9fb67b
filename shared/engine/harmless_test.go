package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
)

// TestIDsThatUsersWrote: an id that holds commands to a terminal, or turns texts around, is shown escaped wherever a person reads it
// in a sentence. The target is the id as it is, so that a command finds it.
func TestIDsThatUsersWrote(t *testing.T) {
	t.Parallel()
	const odd = "things/a\x1b[2J\u202eb\u200bc"
	f := newFunction(t, cleanup.Job{Name: "testJob", Plan: func(ctx context.Context, p *cleanup.Planner) error {
		p.Fail(ctx, odd, "delete thing", errors.New("no luck with "+odd))
		p.Keep(ctx, odd, cleanup.Invalid("no date"), 1)
		p.Warn(ctx, "nobody knows "+odd)
		p.Count(cleanup.Count{Collection: odd, Looked: 100, Due: 100})
		return nil
	}})
	got := f.Run(t, "")
	enginetest.WantReport(t, got, report.Aborted, map[string]report.Counts{})
	answer := httptest.NewRecorder()
	f.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", http.NoBody))
	enginetest.Want(t, "target", odd, got.Failures[len(got.Failures)-1].Target)
	harmful := regexp.MustCompile("[\x1b\u202e\u200b]")
	texts := append([]string{got.Problem(), answer.Body.String()}, got.Warnings...)
	for _, failure := range got.Failures {
		texts = append(texts, failure.Error)
	}
	for _, line := range f.LogLines(t) {
		for _, field := range []string{"message", "problem", "text"} {
			text, _ := line[field].(string)
			texts = append(texts, text)
		}
	}
	found := 0
	for _, text := range texts {
		if harmful.MatchString(text) {
			t.Errorf("%q is not harmless", text)
		}
		if regexp.MustCompile(`things/a\\x1b\[2J\\u202eb\\u200bc`).MatchString(text) {
			found++
		}
	}
	if found < 8 {
		all, _ := json.Marshal(texts)
		t.Errorf("%d texts name the id, want 8: %s", found, all)
	}
}
