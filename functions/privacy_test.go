package functions_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	"cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/emulator/sampledata/sampletest"
	"github.com/firesweep/firesweep/functions"
	"github.com/firesweep/firesweep/shared/declared"
	"github.com/firesweep/firesweep/shared/documents/wire"
	"github.com/firesweep/firesweep/shared/engine"
	"github.com/firesweep/firesweep/shared/engine/enginetest"
	"github.com/firesweep/firesweep/shared/engine/report"
	"github.com/firesweep/firesweep/shared/manifest"
)

// secret is in every text that a user wrote, and in every token and address.
const secret = "s3cr3t"

// TestEveryTextOfTheSampleIsKnown keeps a field that a user writes from being without a secret.
func TestEveryTextOfTheSampleIsKnown(t *testing.T) {
	t.Parallel()
	var look func(document, field string, value any)
	look = func(document, field string, value any) {
		switch value := value.(type) {
		case string:
			if _, known := sampledata.WrittenByPeople(field); !known {
				t.Errorf("%s has a text in its field %s: name it in emulator/sampledata, in byPeople or notByPeople",
					document, field)
			}
		case map[string]any:
			for k, v := range value {
				look(document, k, v)
			}
		case []any:
			for _, v := range value {
				look(document, field, v)
			}
		}
	}
	for _, e := range upstream(t) {
		if e.Trigger != manifest.Schedule {
			continue
		}
		for _, d := range sampledata.Job(e.Name, time.Now(), "bucket").Documents {
			look(d.Path, "", d.Before)
			look(d.Path, "", d.After)
		}
	}
}

// marked returns a value with the secret in all its texts, and in the tokens of its URLs.
func marked(field string, value any) any {
	switch value := value.(type) {
	case string:
		switch byPeople, _ := sampledata.WrittenByPeople(field); {
		case byPeople && value != "": // an empty token stays one
			return value + " " + secret + " ken@example.com"
		case (field == "imageUrl" || field == "url") && strings.Contains(value, "?"):
			return value + "&token=" + secret
		case field == "imageUrl" && strings.HasPrefix(value, "https://example.com/"):
			return value + "?" + secret
		}
		return value
	case map[string]any:
		out := map[string]any{}
		for k, v := range value {
			out[k] = marked(k, v)
		}
		return out
	case []any:
		out := make([]any, len(value))
		for i, v := range value {
			out[i] = marked(field, v)
		}
		return out
	default:
		return value
	}
}

// rubbish returns a document's fields with the secret in place of every time, number and truth value.
func rubbish(fields map[string]any) map[string]any {
	out := maps.Clone(fields)
	for k, v := range fields {
		switch v.(type) {
		case time.Time, int, int64, float64, bool:
			out[k] = secret
		}
	}
	return out
}

// withSecrets returns a sample with secrets in it, and a look-alike of every document whose ages cannot be read.
func withSecrets(s sampledata.Sample) sampledata.Sample {
	documents := s.Documents
	s.Documents = nil
	for _, d := range documents {
		if d.Before == nil {
			continue
		}
		fields := marked("", d.Before).(map[string]any)
		fields["note"], fields["password"] = secret, secret
		s.Documents = append(s.Documents, sampledata.Document{Path: d.Path, Before: fields})
		if strings.Count(d.Path, "/") == 1 {
			s.Documents = append(s.Documents, sampledata.Document{Path: d.Path + "-odd", Before: rubbish(fields)})
		}
	}
	for i, o := range s.Objects {
		s.Objects[i].Metadata = maps.Clone(o.Metadata)
		if o.Metadata != nil {
			s.Objects[i].Metadata["firebaseStorageDownloadTokens"] = secret
		}
	}
	// Where an id belongs, people may write a text.
	s.Documents = append(s.Documents, sampledata.Document{Path: "posts/text-as-circle", Before: map[string]any{
		"circleId": secret + " is the password of ken@example.com", "userId": "user-hana", "text": secret}})
	s.Objects = append(s.Objects, sampledata.Object{Name: "posts/user-hana/text-as-post.png",
		Metadata: map[string]string{"postId": secret + " is the password of ken@example.com"}})
	return s
}

// TestNothingThatUsersWroteIsLogged runs every job and worker over data full of secrets.
func TestNothingThatUsersWroteIsLogged(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	if p.Tasks() == nil {
		t.Skip("only the embedded Cloud Tasks can be told to deliver")
	}
	now := time.Now().Add(48 * time.Hour).UTC().Truncate(time.Second) // the objects' age cannot be chosen
	project := sampletest.Open(t, p)
	ok(t, project.Load(t.Context(), withSecrets(sampledata.Of(now, p.Bucket))))
	jobs := functions.Registered()
	for _, e := range functions.All() {
		if e.Trigger != manifest.Schedule {
			continue // its job hands it tasks
		}
		t.Run(e.Name, func(t *testing.T) { // so that only the logs of a job that fails are printed
			done := wantNoSecret(t, p, now, e, func(name string) *engine.Function { return functions.New(jobs[name]) })
			if done == 0 && slices.Contains(sampledata.Jobs(), e.Name) {
				t.Error("it did nothing, so nothing is proved of it: emulator/sampledata must have something for it to do")
			}
		})
	}
	// The secrets were there to be told: a mail, a notification and an archive hold them.
	state, err := project.Read(t.Context())
	ok(t, err)
	for _, in := range []string{"mail/", "/notifications/", "archivedInquiries/"} {
		found := false
		for path, fields := range state.Documents {
			found = found || strings.Contains(path, in) && strings.Contains(fmt.Sprint(fields), secret)
		}
		if !found {
			t.Errorf("no document of %s holds a secret: the jobs met none", in)
		}
	}
}

// TestNothingThatUsersWroteIsLoggedByRules does the same with each rule of docs/examples.
func TestNothingThatUsersWroteIsLoggedByRules(t *testing.T) {
	t.Parallel()
	rules, err := sampledata.Examples("../docs/examples")
	if err != nil || len(rules) != 12 {
		t.Fatalf("docs/examples has %d rules: %v", len(rules), err)
	}
	for _, e := range rules {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			p := backendstest.Start(t)
			now := sampledata.OldEnough()
			sample := withSecrets(sampledata.ExampleData(e, now))
			for _, c := range e.Where {
				for _, d := range sample.Documents {
					if text, is := d.Before[c.Field].(string); is && text != "" && c.Is != "" {
						d.Before[c.Field] = text + " " + secret
					}
				}
			}
			ok(t, sampletest.Open(t, p).Load(t.Context(), sample))
			done := wantNoSecret(t, p, now, e, func(string) *engine.Function {
				return engine.NewFunction(declared.Job(e.Name, *e.Rule), time.Minute, e.Uses())
			})
			if done == 0 {
				t.Error("it did nothing, so nothing is proved of it")
			}
		})
	}
}

// wantNoSecret runs a job and its worker as a preview, with every write failing, and for real, and fails if an answer or a log
// tells a secret. It returns how many actions were done.
func wantNoSecret(
	t *testing.T, p *backendstest.Project, now time.Time, e manifest.Entry, newFunction func(name string) *engine.Function,
) (done int) {
	t.Helper()
	for _, refused := range []bool{true, false} {
		f := enginetest.On(t, newFunction(e.Name), p)
		f.Now, f.Indexes = now, e.Indexes
		all := []*enginetest.Function{f}
		if e.Worker != "" {
			w := enginetest.On(t, newFunction(e.Worker), p)
			f.Env["TASKS_TARGET_URL"] = w.Serve(t)
			all = append(all, w)
		}
		if p.Tasks() != nil {
			p.Tasks().FailCreates(nil)
		}
		if refused {
			if p.Tasks() != nil {
				p.Tasks().FailCreates(func(*cloudtaskspb.Task) error { return status.Error(codes.PermissionDenied, "refused by the test") })
			}
			for _, f := range all {
				refuseWrites(f)
			}
		}
		for _, body := range []string{`{"dryRun":true}`, ""} {
			answer := f.Post(t, body).Body.String()
			withoutSecret(t, e.Name+"'s answer", answer)
			if n := doneOf(t, answer); refused && n > 0 {
				t.Errorf("%d actions were done although every write was refused: %s", n, answer)
			} else if body == "" {
				done += n
			}
		}
		if e.Worker != "" {
			_, err := p.Tasks().Deliver(t.Context(), time.Now().Add(time.Hour))
			ok(t, err)
		}
		for _, f := range all {
			lines := f.LogLines(t)
			for _, line := range lines {
				text, err := json.Marshal(line)
				ok(t, err)
				withoutSecret(t, f.Job.Name+"'s log", string(text))
			}
			if len(lines) == 0 && !refused {
				t.Errorf("%s logged nothing", f.Job.Name)
			}
		}
	}
	return done
}

// TestLimitsTellNothingThatUsersWrote: whichever limit trips because of ids and texts of users.
func TestLimitsTellNothingThatUsersWrote(t *testing.T) {
	t.Parallel()
	odd := func(i int) string {
		return fmt.Sprintf("%s%d run once with {\"force\":true}\n\u202e ken@example.com", secret, i)
	}
	media := func(*testing.T) *engine.Function {
		return functions.New(functions.Registered()["cleanupOrphanedMedia"])
	}
	drafts := func(more string) func(*testing.T) *engine.Function {
		return func(t *testing.T) *engine.Function {
			all, err := manifest.ParseRules(manifest.File{Name: "rules.json", Text: []byte(`{"rules": [{"name": "cleanupDrafts",
				"description": "d", "schedule": "0 3 * * *", "timeZone": "UTC", "collection": "drafts", "maxDuePercent": 100,
				"age": {"field": "at", "days": 1}, ` + more + `}]}`)})
			ok(t, err)
			return engine.NewFunction(declared.Job(all[0].Name, *all[0].Rule), time.Minute, all[0].Uses())
		}
	}
	for name, tt := range map[string]struct {
		trips string
		job   func(*testing.T) *engine.Function
		env   map[string]string
		empty bool // the collections of owners
	}{
		"number":                     {"MAX_ACTIONS: ", media, map[string]string{"MAX_ACTIONS": "5", "MAX_DUE_PERCENT": "100"}, false},
		"share":                      {"MAX_DUE_PERCENT: ", media, map[string]string{"MAX_DUE_PERCENT": "50"}, false},
		"empty collection":           {"empty collection: ", media, nil, true},
		"a field that nobody has":    {"has draft, by which", drafts(`"unless": [{"collection": "notes", "field": "draft"}]`), nil, false},
		"what is deleted too":        {"never found: ", drafts(`"with": [{"collection": "notes", "field": "draft"}]`), nil, false},
		"a folder that is not there": {"never found: ", drafts(`"with": [{"objects": "drafts/**", "field": "text"}]`), nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := enginetest.New(t, tt.job(t))
			f.Now = time.Now().Add(48 * time.Hour) // the objects' age cannot be chosen
			maps.Copy(f.Env, tt.env)
			if !tt.empty {
				f.Set(t, "posts/one", map[string]any{"userId": "u"})
				f.Set(t, "circles/one", map[string]any{"name": "x"})
			}
			for i := range 30 {
				f.Put(t, fmt.Sprintf("posts/u/%02d.png", i), map[string]string{"postId": odd(i)}, nil)
				if !tt.empty {
					f.Set(t, fmt.Sprintf("posts/p%02d", i), map[string]any{"circleId": odd(i), "userId": "u"})
				}
				f.Set(t, "drafts/"+odd(i), map[string]any{"at": time.Now().AddDate(0, 0, -9), "text": odd(i)})
				f.Set(t, "notes/"+odd(i), map[string]any{"text": odd(i)})
			}
			answer := f.Post(t, "").Body.String()
			if !strings.Contains(answer, `"status":"aborted"`) || !strings.Contains(answer, tt.trips) {
				t.Errorf("%q does not trip: %s", tt.trips, answer)
			}
			withoutSecret(t, "the answer", answer)
			text, err := json.Marshal(f.LogLines(t))
			ok(t, err)
			withoutSecret(t, "the log", string(text))
		})
	}
}

func withoutSecret(t *testing.T, where, text string) {
	t.Helper()
	for _, leak := range []string{secret, "@example.com"} {
		if strings.Contains(text, leak) {
			t.Errorf("%s holds %q: %s", where, leak, text)
		}
	}
}

func doneOf(t *testing.T, answer string) (done int) {
	t.Helper()
	var rep report.Report
	ok(t, json.Unmarshal([]byte(answer), &rep))
	for _, c := range rep.Actions {
		done += c.Done
	}
	return done
}

// refuseWrites has every write fail but those of the run's own records.
func refuseWrites(f *enginetest.Function) {
	f.Hooks.Dial = append(f.Hooks.Dial, wire.Before(func(_ context.Context, method string, req any) error {
		commit, _ := req.(*firestorepb.CommitRequest)
		for _, w := range commit.GetWrites() {
			name := w.GetDelete() + w.GetUpdate().GetName()
			if !strings.Contains(name, "/documents/cleanup") {
				return status.Errorf(codes.PermissionDenied, "%s refused by the test", path.Base(method))
			}
		}
		return nil
	})...)
	f.Hooks.Accounts = func(method string, _ []string, send func() error) error {
		if method == "DeleteUsers" {
			return errors.New("refused by the test")
		}
		return send()
	}
	f.Hooks.Transport = enginetest.OnStorage(func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method != http.MethodDelete {
			return send()
		}
		return enginetest.StorageRefuses(r, http.StatusForbidden), nil
	})
}
