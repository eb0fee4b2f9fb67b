package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/usage"
)

var (
	ok   = check.OK
	same = check.Same
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

// google returns a client of a server in place of Google's, opened as in a function, where no variable names an emulator. Its calls
// need not wait for each other, and it counts its pauses.
func google(t *testing.T, answer http.HandlerFunc, pauses *int) *Client {
	t.Helper()
	backendstest.Start(t) // before the environment changes, which it would set
	t.Setenv(emulatorHost, "")
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c := &Client{project: "demo-google", batches: rate.NewLimiter(rate.Inf, 1)}
	ok(t, c.open(t.Context(), toServer(server.Listener.Addr().String())))
	c.sleep = func(ctx context.Context, _ time.Duration) error {
		*pauses++
		return ctx.Err()
	}
	return c
}

// fake is a server that remembers the uids of the calls that delete or import accounts.
type fake struct {
	calls  [][]string
	pauses int
	// answer returns why which of the uids are refused, by their index; or the status and the text by which the call is refused.
	answer func(call int, uids []string) (refused map[int]string, status int, text string)
}

func (f *fake) open(t *testing.T) *Client {
	t.Helper()
	return google(t, func(w http.ResponseWriter, r *http.Request) {
		var sent struct {
			LocalIDs []string `json:"localIds"`
			Users    []struct {
				LocalID string `json:"localId"`
			} `json:"users"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		uids := sent.LocalIDs
		for _, user := range sent.Users {
			uids = append(uids, user.LocalID)
		}
		f.calls = append(f.calls, uids)
		refused, status, text := f.answer(len(f.calls), uids)
		if status != 0 {
			refuse(w, status, text)
			return
		}
		errs := []map[string]any{}
		for _, index := range slices.Sorted(maps.Keys(refused)) {
			errs = append(errs, map[string]any{"index": index, "message": refused[index]})
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"errors": errs, "error": errs}) // of a deletion, and of an import
	}, &f.pauses)
}

// sizes returns how many uids each call had.
func (f *fake) sizes() (all []int) {
	for _, call := range f.calls {
		all = append(all, len(call))
	}
	return all
}

// refuse answers as Google's API does.
func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]any{"error": map[string]any{"code": status, "message": text}})
}

// TestDelete goes through the client to a server.
func TestDelete(t *testing.T) {
	p := backendstest.Start(t)
	client := p.Auth(t)
	longest := strings.Repeat("a", 128)
	for _, uid := range []string{"u1", "u2", "u12", longest} {
		_, err := client.CreateUser(t.Context(), new(auth.UserToCreate).UID(uid))
		ok(t, err)
	}
	p.FailDelete(t, "u2", "INTERNAL_ERROR")
	c, err := Open(t.Context(), p.ID, false, nil)
	ok(t, err)
	same(t, "calls a second", rate.Limit(1), c.batches.Limit())
	same(t, "calls at once", 1, c.batches.Burst())
	var meter usage.Meter
	bytesOver, most := strings.Repeat("花", 43), strings.Repeat("花", 128)
	got := c.Writer().Delete(usage.NewContext(t.Context(), &meter),
		[]string{"", "u1", longest + "a", "u2", "missing", most + "花", bytesOver, most, longest})
	want := []string{"", "", "", "delete account u2: INTERNAL_ERROR", "", "",
		"delete account " + bytesOver + ": " + errLongUID.Error(), "delete account " + most + ": " + errLongUID.Error(), ""}
	same(t, "errors", want, texts(got))
	none := c.Writer().Delete(t.Context(), []string{"", longest + "a"})
	same(t, "none to delete", []error{nil, nil}, none)
	same(t, "calls", int64(1), meter.Usage().AuthCalls)
	for uid, want := range map[string]bool{"u1": false, "u2": true, "u12": true, longest: false} {
		_, err := client.GetUser(t.Context(), uid)
		if there := err == nil; there != want || !there && !auth.IsUserNotFound(err) {
			t.Errorf("account %.5s there: %v (%v), want %v", uid, there, err, want)
		}
	}
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
			pauses := 0
			w := google(t, func(w http.ResponseWriter, r *http.Request) {
				calls.Add(1)
				answer(w, r)
			}, &pauses).Writer()
			w.InTime = func() error {
				if calls.Load() > 0 {
					return late
				}
				return nil
			}
			got := w.Delete(t.Context(), []string{"u1"})[0]
			same(t, "calls", int64(1), calls.Load())
			same(t, "pauses", 1, pauses)
			if !passing(got) || Refused(got) && name != "too many" || errors.Is(got, late) {
				t.Errorf("%v, want that the call that was made was not answered", got)
			}
			calls.Store(1)
			got = w.Delete(t.Context(), []string{"u1"})[0]
			check.Is(t, "a call that is too late", got, late)
			same(t, "calls", int64(1), calls.Load())
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
			w := google(t, func(w http.ResponseWriter, r *http.Request) {
				if !strings.HasSuffix(r.URL.Path, "/accounts:batchDelete") {
					t.Error(r.URL)
				}
				if int(calls.Add(1)) <= times {
					broken(w, r)
				}
				fmt.Fprint(w, "{}")
			}, &pauses).Writer()
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
	pauses := 0
	w := google(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Client-Version") == "" || !strings.HasSuffix(r.URL.Path, "/v1/projects/demo-google/accounts:batchDelete") {
			t.Errorf("not as the SDK sends it: %s %v", r.URL, r.Header)
		}
		refuse(w, status, text)
	}, &pauses).Writer()
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
	f := &fake{answer: func(call int, _ []string) (map[int]string, int, string) {
		switch call {
		case 1:
			return map[int]string{0: "INTERNAL_ERROR", 1: "TOO_MANY_ATTEMPTS_TRY_LATER", 2: "RESOURCE_EXHAUSTED"}, 0, ""
		case 2:
			return map[int]string{1: "QUOTA_EXCEEDED : Exceeded quota for deleting accounts."}, 0, ""
		}
		return nil, 0, ""
	}}
	got := f.open(t).Writer().Delete(t.Context(), []string{"a", "b", "c", "d"})
	same(t, "errors", []string{"delete account a: INTERNAL_ERROR", "", "", ""}, texts(got))
	same(t, "calls", [][]string{{"a", "b", "c", "d"}, {"b", "c"}, {"c"}}, f.calls)
	same(t, "pauses", 2, f.pauses)
}

// TestQuotaUntilTimeIsUp: a pause that the run's end breaks off leaves the refusal as the result.
func TestQuotaUntilTimeIsUp(t *testing.T) {
	f := &fake{answer: func(int, []string) (map[int]string, int, string) { return nil, http.StatusBadRequest, "QUOTA_EXCEEDED" }}
	c := f.open(t)
	c.sleep = func(context.Context, time.Duration) error { return context.Canceled }
	if got := c.Writer().Delete(t.Context(), []string{"a"}); got[0] == nil || len(f.calls) != 1 {
		t.Errorf("%v after %d calls", got[0], len(f.calls))
	}
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
	f := &fake{answer: func(call int, _ []string) (map[int]string, int, string) {
		switch call {
		case 1:
			return map[int]string{1: "first", 999: "last of the first call"}, 0, ""
		case 2:
			return nil, http.StatusForbidden, "not allowed"
		}
		return map[int]string{499: "last"}, 0, ""
	}}
	var meter usage.Meter
	got := f.open(t).Writer().Delete(usage.NewContext(t.Context(), &meter), uids)
	same(t, "errors", want, texts(got))
	same(t, "sizes of calls", []int{1000, 1000, 500}, f.sizes())
	same(t, "calls metered", int64(3), meter.Usage().AuthCalls)
	same(t, "uids sent", slices.Delete(slices.Clone(uids), 700, 701), slices.Concat(f.calls...))
}

// TestRefusalOfNobody: whose it is cannot be told, so none counts as deleted, and none as back.
func TestRefusalOfNobody(t *testing.T) {
	for _, index := range []int{-1, 2} {
		f := &fake{answer: func(int, []string) (map[int]string, int, string) {
			return map[int]string{0: "of u1", index: "whose?"}, 0, ""
		}}
		c := f.open(t)
		for i, err := range c.Writer().Delete(t.Context(), []string{"u1", "u2"}) {
			if err == nil {
				t.Errorf("index %d: account %d counts as deleted", index, i+1)
			}
		}
		_, err := c.Importer().Import(t.Context(), []Account{{UID: "u1"}, {UID: "u2"}})
		check.Fails(t, err, "whose?")
	}
}

// TestRunsShareThePace has two runs share one call an hour, so that the second gives up at once: it could not be made
// before its deadline.
func TestRunsShareThePace(t *testing.T) {
	f := &fake{answer: func(int, []string) (map[int]string, int, string) { return nil, 0, "" }}
	c := f.open(t)
	c.batches = rate.NewLimiter(rate.Every(time.Hour), 1)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	same(t, "first call", nil, c.Writer().Delete(ctx, []string{"u1"})[0])
	got := c.Writer().Delete(ctx, []string{"u2", ""})
	if got[0] == nil || !strings.HasPrefix(got[0].Error(), "delete account u2: ") {
		t.Errorf("second call: error %v", got[0])
	}
	same(t, "second call", []any{nil, 1}, []any{got[1], len(f.calls)})
}
