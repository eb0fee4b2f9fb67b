package accounts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/harmless/harmlesstest"
	"github.com/firesweep/firesweep/shared/usage"
)

// texts returns the errors as texts, empty for nil.
func texts(errs []error) []string {
	all := make([]string, len(errs))
	for i, err := range errs {
		if err != nil {
			all[i] = err.Error()
		}
	}
	return all
}

// fake is an API that remembers its calls.
type fake struct {
	calls  [][]string
	answer func(call int, uids []string) (map[int]string, error) // nil: all are deleted
	list   func(token string) (*Listed, error)
}

// GetUsers implements [API].
func (f *fake) GetUsers(context.Context, *Identifiers) ([]*User, error) { return nil, nil }

// Tenants implements [API].
func (f *fake) Tenants(context.Context) (bool, error) { return false, nil }

// ImportUsers implements [API].
func (f *fake) ImportUsers(_ context.Context, u *Upload) (map[int]string, error) {
	var uids []string
	for _, user := range u.Users {
		uids = append(uids, user.LocalId)
	}
	f.calls = append(f.calls, uids)
	return f.answer(len(f.calls), uids)
}

// ListUsers implements [API].
func (f *fake) ListUsers(_ context.Context, token string) (*Listed, error) { return f.list(token) }

// DeleteUsers implements [API].
func (f *fake) DeleteUsers(_ context.Context, uids []string) (map[int]string, error) {
	f.calls = append(f.calls, slices.Clone(uids))
	if f.answer == nil {
		return nil, nil
	}
	return f.answer(len(f.calls), uids)
}

// writer returns a writer on a deleter that need not wait between its calls, and counts its pauses.
func writer(d API, pauses *int) Writer {
	c := newClient(d)
	c.Unpace()
	c.sleep = func(ctx context.Context, _ time.Duration) error {
		*pauses++
		return ctx.Err()
	}
	return c.Writer()
}

// TestDelete goes through the client to a server.
func TestDelete(t *testing.T) {
	p := backendstest.Start(t)
	client := p.Auth(t)
	longest := strings.Repeat("a", 128)
	for _, uid := range []string{"u1", "u2", "u12", longest} {
		if _, err := client.CreateUser(t.Context(), new(auth.UserToCreate).UID(uid)); err != nil {
			t.Fatal(err)
		}
	}
	p.FailDelete(t, "u2", "INTERNAL_ERROR")
	calls := 0
	c, err := Open(t.Context(), p.ID, false, func(d API) API { return counted{d, &calls} })
	if err != nil {
		t.Fatal(err)
	}
	if c.batches.Limit() != 1 || c.batches.Burst() != 1 {
		t.Errorf("%v calls a second, %d at once: the API allows one", c.batches.Limit(), c.batches.Burst())
	}
	var meter usage.Meter
	bytesOver, most := strings.Repeat("花", 43), strings.Repeat("花", 128)
	got := c.Writer().Delete(usage.NewContext(t.Context(), &meter),
		[]string{"", "u1", longest + "a", "u2", "missing", most + "花", bytesOver, most, longest})
	want := []string{"", "", "", "delete account u2: INTERNAL_ERROR", "", "",
		"delete account " + bytesOver + ": " + errLongUID.Error(), "delete account " + most + ": " + errLongUID.Error(), ""}
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if none := c.Writer().Delete(t.Context(), []string{"", longest + "a"}); none[0] != nil || none[1] != nil {
		t.Errorf("none to delete: %v", none)
	}
	if calls != 1 || meter.Usage().AuthCalls != 1 {
		t.Errorf("%d calls, %d metered, want one", calls, meter.Usage().AuthCalls)
	}
	for uid, want := range map[string]bool{"u1": false, "u2": true, "u12": true, longest: false} {
		_, err := client.GetUser(t.Context(), uid)
		if there := err == nil; there != want || !there && !auth.IsUserNotFound(err) {
			t.Errorf("account %.5s there: %v (%v), want %v", uid, there, err, want)
		}
	}
}

// google is a server in place of Google's: the SDK is opened as in a function, where no variable names an emulator.
func google(t *testing.T, answer http.HandlerFunc) API {
	t.Helper()
	backendstest.Start(t) // before the environment changes, which it would set
	t.Setenv("FIREBASE_AUTH_EMULATOR_HOST", "")
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	made, err := newSDK(t.Context(), "demo-google", toServer(server.Listener.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	return client{sdk: made}
}

// toServer sends requests to a server on this machine.
type toServer string

// RoundTrip implements [http.RoundTripper].
func (s toServer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Scheme, r.URL.Host = "http", string(s)
	return http.DefaultTransport.RoundTrip(r)
}

// breaks are answers after which a deletion may have taken effect.
var breaks = map[string]http.HandlerFunc{
	"unavailable": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
	"lost answer": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	"half of it": func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "2")
		_, _ = io.WriteString(w, "{")
	},
	"too many": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTooManyRequests) },
}

// TestAsleepBetweenCalls: a call whose answer broke off may have taken effect, and none follows once it is too late: neither one that
// the writer makes, nor one that the SDK makes by itself.
func TestAsleepBetweenCalls(t *testing.T) {
	for name, answer := range breaks {
		t.Run(name, func(t *testing.T) {
			var calls atomic.Int64
			late := errors.New("too late")
			api := google(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				answer(w, r)
			})
			pauses := 0
			w := writer(api, &pauses)
			w.InTime = func() error {
				if calls.Load() > 0 {
					return late
				}
				return nil
			}
			got := w.Delete(t.Context(), []string{"u1"})[0]
			if calls.Load() != 1 || pauses != 1 {
				t.Errorf("%d calls and %d pauses, want one of each", calls.Load(), pauses)
			}
			if !passing(got) || Refused(got) && name != "too many" || errors.Is(got, late) {
				t.Errorf("%v, want that the call that was made was not answered", got)
			}
			calls.Store(1)
			if got := w.Delete(t.Context(), []string{"u1"})[0]; !errors.Is(got, late) || calls.Load() != 1 {
				t.Errorf("%v after %d calls, want %v after none", got, calls.Load()-1, late)
			}
		})
	}
}

// TestSentAgain: the writer sends again what passes, each time if there is time, and at last gives up. The call for a single
// account would fire the application's onDelete trigger, which that for many does not.
func TestSentAgain(t *testing.T) {
	for name, broken := range breaks {
		for _, times := range []int{2, maxAttempts} {
			var calls atomic.Int32
			asked, pauses := 0, 0
			w := writer(google(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/accounts:batchDelete") {
					t.Error(r.URL)
				}
				if int(calls.Add(1)) <= times {
					broken(w, r)
				}
				fmt.Fprint(w, "{}")
			}), &pauses)
			w.InTime = func() error {
				asked++
				return nil
			}
			got := w.Delete(t.Context(), []string{"u1"})[0]
			if want := min(times+1, maxAttempts); (got == nil) != (times < maxAttempts) || int(calls.Load()) != want || asked != want || pauses != want-1 {
				t.Errorf("%s: %v after %d calls and %d pauses, asked %d times", name, got, calls.Load(), pauses, asked)
			}
		}
	}
}

// TestWordsOfGoogle: an error that the SDK tells has the status and the words of the API.
func TestWordsOfGoogle(t *testing.T) {
	status, text := http.StatusForbidden, "PERMISSION_DENIED : no right"
	api := google(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Client-Version") == "" || !strings.HasSuffix(r.URL.Path, "/v1/projects/demo-google/accounts:batchDelete") {
			t.Errorf("not as the SDK sends it: %s %v", r.URL, r.Header)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":%q}}`, status, text)
	})
	pauses := 0
	w := writer(api, &pauses)
	got := w.Delete(t.Context(), []string{"u1"})[0]
	if fmt.Sprint(got) != "delete account u1: PERMISSION_DENIED : no right" || !Refused(got) || pauses != 0 {
		t.Errorf("%v, refused %t, after %d pauses", got, Refused(got), pauses)
	}
	status, text = http.StatusBadRequest, "QUOTA_EXCEEDED : Exceeded quota for deleting accounts."
	if got := w.Delete(t.Context(), []string{"u1"})[0]; !strings.HasSuffix(fmt.Sprint(got), text) || pauses != maxAttempts-1 {
		t.Errorf("%v after %d pauses", got, pauses)
	}
}

// TestQuotaOfSome makes the call again for those accounts alone that were kept by it.
func TestQuotaOfSome(t *testing.T) {
	f := &fake{answer: func(call int, _ []string) (map[int]string, error) {
		switch call {
		case 1:
			return map[int]string{0: "INTERNAL_ERROR", 1: "TOO_MANY_ATTEMPTS_TRY_LATER", 2: "RESOURCE_EXHAUSTED"}, nil
		case 2:
			return map[int]string{1: "QUOTA_EXCEEDED : Exceeded quota for deleting accounts."}, nil
		}
		return nil, nil
	}}
	pauses := 0
	got := writer(f, &pauses).Delete(t.Context(), []string{"a\u202e", "b", "c", "d"})
	if diff := cmp.Diff([]string{`delete account a\u202e: INTERNAL_ERROR`, "", "", ""}, texts(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([][]string{{"a\u202e", "b", "c", "d"}, {"b", "c"}, {"c"}}, f.calls); diff != "" || pauses != 2 {
		t.Errorf("%d pauses, calls (-want +got):\n%s", pauses, diff)
	}
}

// TestQuotaUntilTimeIsUp: a pause that the run's end breaks off leaves the refusal as the result.
func TestQuotaUntilTimeIsUp(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fake{answer: func(int, []string) (map[int]string, error) {
		cancel()
		return nil, errors.New("QUOTA_EXCEEDED")
	}}
	pauses := 0
	if got := writer(f, &pauses).Delete(ctx, []string{"a"}); got[0] == nil {
		t.Error("a deletion that was canceled counts as done")
	}
	if len(f.calls) != 1 || pauses != 1 {
		t.Errorf("%d calls and %d pauses, want one of each", len(f.calls), pauses)
	}
}

type counted struct {
	API
	calls *int
}

// DeleteUsers implements [API].
func (c counted) DeleteUsers(ctx context.Context, uids []string) (map[int]string, error) {
	*c.calls++
	return c.API.DeleteUsers(ctx, uids)
}

func TestThousandAccountsACall(t *testing.T) {
	var uids []string
	for i := range 2500 {
		uids = append(uids, fmt.Sprintf("u%d", i))
	}
	uids = slices.Insert(uids, 700, "") // moves the others on, in uids and not in the calls
	want := make([]string, len(uids))
	want[1] = "delete account u1: first"
	want[1000] = "delete account u999: last of the first call"
	for i := 1001; i < 2001; i++ {
		want[i] = "delete account " + uids[i] + ": not allowed"
	}
	want[2500] = "delete account u2499: last"

	f := &fake{answer: func(call int, _ []string) (map[int]string, error) {
		switch call {
		case 1:
			return map[int]string{1: "first", 999: "last of the first call"}, nil
		case 2:
			return nil, &googleapi.Error{Code: http.StatusForbidden, Message: "not allowed"}
		default:
			return map[int]string{499: "last"}, nil
		}
	}}
	var meter usage.Meter
	got := writer(f, new(int)).Delete(usage.NewContext(t.Context(), &meter), uids)
	if diff := cmp.Diff(want, texts(got)); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
	var sizes []int
	for _, call := range f.calls {
		sizes = append(sizes, len(call))
	}
	if diff := cmp.Diff([]int{1000, 1000, 500}, sizes); diff != "" || meter.Usage().AuthCalls != 3 {
		t.Errorf("%d calls metered, sizes (-want +got):\n%s", meter.Usage().AuthCalls, diff)
	}
	if sent := slices.Concat(f.calls...); !slices.Equal(sent, slices.Delete(slices.Clone(uids), 700, 701)) {
		t.Error("not every uid was sent once and in order")
	}
}

func TestErrorOfNobodyIsEverybodys(t *testing.T) {
	for _, index := range []int{-1, 2} {
		f := &fake{answer: func(int, []string) (map[int]string, error) {
			return map[int]string{0: "of u1", index: "of whom?"}, nil
		}}
		for i, err := range writer(f, new(int)).Delete(t.Context(), []string{"u1", "u2"}) {
			if err == nil {
				t.Errorf("index %d: account %d counts as deleted", index, i+1)
			}
		}
	}
}

// TestRunsShareThePace has two runs share one call an hour, so that the second gives up at once: it could not be made
// before its deadline.
func TestRunsShareThePace(t *testing.T) {
	f := &fake{}
	c := newClient(f)
	c.batches = rate.NewLimiter(rate.Every(time.Hour), 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if got := c.Writer().Delete(ctx, []string{"u1"}); got[0] != nil {
		t.Errorf("first call: %v", got[0])
	}
	got := c.Writer().Delete(ctx, []string{"u2", ""})
	if got[0] == nil || !strings.HasPrefix(got[0].Error(), "delete account u2: ") {
		t.Errorf("second call: error %v", got[0])
	}
	if got[1] != nil || len(f.calls) != 1 {
		t.Errorf("second call: error %v of no uid, %d calls", got[1], len(f.calls))
	}
}

func TestCanceled(t *testing.T) {
	f := &fake{}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := writer(f, new(int)).Delete(ctx, []string{"u1"}); !errors.Is(got[0], context.Canceled) || len(f.calls) != 0 {
		t.Errorf("errors %v, %d calls", got, len(f.calls))
	}
}

func TestDeletedAccountsAreTold(t *testing.T) {
	f := &fake{answer: func(int, []string) (map[int]string, error) {
		return map[int]string{1: "INTERNAL_ERROR"}, nil
	}}
	w := writer(f, new(int))
	var told [][]string
	w.Written = func(_ context.Context, uids []string) { told = append(told, uids) }
	w.Delete(t.Context(), []string{"u1", "u2", "", "u3", strings.Repeat("a", 129)})
	f.answer = func(int, []string) (map[int]string, error) { return nil, errors.New("unavailable") }
	w.Delete(t.Context(), []string{"u4", "u5"})
	if diff := cmp.Diff([][]string{{"u1", "u3"}}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// TestErrorsAreHarmless: no error repeats a uid, or what Authentication answers, so that it does anything to who reads it.
func TestErrorsAreHarmless(t *testing.T) {
	for _, evil := range harmlesstest.Texts {
		refused := &googleapi.Error{Code: http.StatusForbidden, Message: "no right to " + evil}
		for _, answer := range []func(int, []string) (map[int]string, error){
			func(int, []string) (map[int]string, error) { return nil, refused },
			func(int, []string) (map[int]string, error) { return map[int]string{0: evil}, nil },
			func(int, []string) (map[int]string, error) { return map[int]string{7: evil}, nil },
		} {
			f := &fake{answer: answer, list: func(string) (*Listed, error) { return nil, refused }}
			w, i := writer(f, new(int)), newClient(f).Importer()
			if ValidUID(evil) { // no other has an account
				harmlesstest.Check(t, "Delete", w.Delete(t.Context(), []string{evil})[0])
			}
			harmlesstest.Check(t, "Delete of one", w.Delete(t.Context(), []string{"u1"})[0])
			reasons, err := i.Import(t.Context(), []Account{{UID: "u1"}})
			if err == nil {
				err = errors.New(reasons["u1"])
			}
			harmlesstest.Check(t, "Import", err)
			for _, err := range w.Pages(t.Context(), "") {
				harmlesstest.Check(t, "Pages", err)
			}
			_, err = Parse(evil)
			harmlesstest.Check(t, "Parse", err)
		}
	}
}
