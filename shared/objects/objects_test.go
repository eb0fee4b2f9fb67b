package objects_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/usage"
)

func open(t *testing.T, p *backendstest.Project,
	wrap func(http.RoundTripper) http.RoundTripper) (context.Context, *objects.Client, *usage.Meter) {
	t.Helper()
	c, err := objects.Open(t.Context(),
		objects.Bucket{Name: p.Bucket, EmulatorHost: p.Environment["FIREBASE_STORAGE_EMULATOR_HOST"]}, wrap)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	m := new(usage.Meter)
	return usage.NewContext(t.Context(), m), c, m
}

func list(ctx context.Context, t *testing.T, r objects.Reader, prefix, after string) []objects.Object {
	t.Helper()
	var all []objects.Object
	for page, err := range r.Pages(ctx, prefix, objects.Names{From: after, After: after != ""}) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, page...)
	}
	return all
}

func names(all []objects.Object) []string {
	out := []string{}
	for _, o := range all {
		out = append(out, o.Name)
	}
	return out
}

// TestRangesOfNames: wherever a range begins and ends, its listing has all names between, even if the bucket does not
// support offsets.
func TestRangesOfNames(t *testing.T) {
	p := backendstest.Start(t)
	for _, name := range []string{"posts/a", "posts/b", "posts/b/1", "posts/c", "posts/写", "postsx/b", "other/b"} {
		p.Put(t, name, nil, []byte("x"))
	}
	ctx, c, _ := open(t, p, nil)
	all := names(list(ctx, t, c.Reader(), "posts/", ""))
	if len(all) != 5 {
		t.Fatalf("listed %v", all)
	}
	ends := append([]string{"", "posts/", "posts/b+", "posts/z", "posts/\U0010FFFF"}, all...)
	for _, from := range ends {
		for _, before := range ends {
			for _, after := range []bool{false, true} {
				want := []string{}
				for _, name := range all {
					if (name > from || name == from && !after) && (before == "" || name < before) {
						want = append(want, name)
					}
				}
				got := []string{}
				for page, err := range c.Reader().Pages(ctx, "posts/",
					objects.Names{From: from, After: after && from != "", Before: before}) {
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, names(page)...)
				}
				if !slices.Equal(got, want) {
					t.Errorf("from %q (after %v) before %q: %v, want %v", from, after, before, got, want)
				}
			}
		}
	}
}

var oddNames = []string{
	"posts/#hash", "posts/%41.png", "posts/+plus", "posts/?query=1&x", "posts/a b.png", "posts/a/b/c.png", "posts/日本語 写真.png", "posts/😀.png",
}

func TestPages(t *testing.T) {
	p := backendstest.Start(t)
	for _, name := range append(slices.Clone(oddNames), "posts", "postsx/a", "circles/c1/icon/a.png") {
		p.Put(t, name, map[string]string{"postId": "p1"}, []byte("x"))
	}
	ctx, c, m := open(t, p, nil)
	all := list(ctx, t, c.Reader(), "posts/", "")
	if diff := cmp.Diff(oddNames, names(all)); diff != "" {
		t.Errorf("listing (-want +got):\n%s", diff)
	}
	for _, o := range all {
		if o.Generation == 0 || o.Metageneration != 1 || o.Created.IsZero() || o.Metadata["postId"] != "p1" {
			t.Errorf("object %+v", o)
		}
	}
	for i, after := range oddNames {
		if diff := cmp.Diff(oddNames[i+1:], names(list(ctx, t, c.Reader(), "posts/", after))); diff != "" {
			t.Errorf("after %s (-want +got):\n%s", after, diff)
		}
	}
	if u := m.Usage(); u.StorageClassA != int64(1+len(oddNames)) || u.StorageClassB != 0 {
		t.Errorf("usage %+v, want one class A operation a listing", u)
	}
	if got := list(ctx, t, c.Reader(), "nothing/", ""); len(got) != 0 {
		t.Errorf("listing of nothing: %v", got)
	}
}

// spy records the requests that were sent.
type spy struct {
	base http.RoundTripper
	mu   sync.Mutex
	sent []*http.Request
}

func (s *spy) RoundTrip(r *http.Request) (*http.Response, error) {
	s.mu.Lock()
	s.sent = append(s.sent, r)
	s.mu.Unlock()
	return s.base.RoundTrip(r)
}

// TestListingAsItIsSent: an offset is exactly a name, and the request does not ask for access control lists.
func TestListingAsItIsSent(t *testing.T) {
	p := backendstest.Start(t)
	longest := "posts/" + strings.Repeat("長", 339) + "x" // 1,024 bytes
	for _, name := range []string{"posts/a", longest, "posts/龍"} {
		p.Put(t, name, nil, []byte("x"))
	}
	s := &spy{}
	ctx, c, _ := open(t, p, func(base http.RoundTripper) http.RoundTripper { s.base = base; return s })
	if diff := cmp.Diff([]string{longest, "posts/龍"}, names(list(ctx, t, c.Reader(), "posts/", "posts/a"))); diff != "" {
		t.Errorf("after a (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"posts/龍"}, names(list(ctx, t, c.Reader(), "posts/", longest))); diff != "" {
		t.Errorf("after the longest name (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{longest}, names(list(ctx, t, c.Reader(), longest, ""))); diff != "" {
		t.Errorf("with the longest name as prefix (-want +got):\n%s", diff)
	}
	var offsets []string
	for _, r := range s.sent {
		q := r.URL.Query()
		offsets = append(offsets, q.Get("startOffset"))
		if got := q.Get("projection"); got != "noAcl" {
			t.Errorf("projection %q", got)
		}
	}
	if diff := cmp.Diff([]string{"posts/a", longest, ""}, offsets); diff != "" {
		t.Errorf("offsets (-want +got):\n%s", diff)
	}
}

func TestUsage(t *testing.T) {
	p := backendstest.Start(t)
	for _, name := range []string{"o", "b", "a/o", "a/b/o"} {
		p.Put(t, name, nil, []byte("x"))
	}
	ctx, c, m := open(t, p, nil)
	for _, name := range []string{"o", "b", "a/o", "a/b/o", "missing", "missing/o"} {
		if _, found, err := c.Reader().Get(ctx, name); err != nil || found == strings.HasPrefix(name, "missing") {
			t.Errorf("get %s: %v, %v", name, found, err)
		}
	}
	if diff := cmp.Diff(usage.Usage{StorageClassB: 4}, m.Usage()); diff != "" {
		t.Errorf("usage of four gets, and of two that found nothing, which are free (-want +got):\n%s", diff)
	}
	err := c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx, objects.Deletion{Name: "missing", Generation: 1, Metageneration: 1})
	if diff := cmp.Diff(usage.Usage{StorageClassB: 4}, m.Usage()); diff != "" || !errors.Is(err, objects.ErrChanged) {
		t.Errorf("%v; usage of a delete of nothing (-want +got):\n%s", err, diff)
	}
}

// refusing answers every deletion as Google does when it refuses one.
type refusing struct {
	base         http.RoundTripper
	reason, text string
}

func (f refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodDelete {
		return f.base.RoundTrip(r)
	}
	body := fmt.Sprintf(`{"error":{"code":403,"message":%q,"errors":[{"domain":"global","reason":%q,"message":%q}]}}`, f.text,
		f.reason, f.text)
	return &http.Response{
		StatusCode: http.StatusForbidden, Status: "403 Forbidden", Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}, nil
}

// retained are what the attributes of some objects say of their retention.
var retained = map[string]string{
	"posts/retained by its bucket": `"retentionExpirationTime": "2999-01-01T00:00:00Z"`,
	"posts/retained by itself":     `"retention": {"mode": "Locked", "retainUntilTime": "2999-01-01T00:00:00Z"}`,
	"posts/retained once": `"retentionExpirationTime": "2020-01-01T00:00:00Z", "retention": {"mode": "Locked",
		"retainUntilTime": "2020-01-01T00:00:00Z"}`,
}

// retaining answers whoever asks for the attributes of these.
type retaining struct{ base http.RoundTripper }

func (f retaining) RoundTrip(r *http.Request) (*http.Response, error) {
	_, name, _ := strings.Cut(r.URL.Path, "/o/")
	if retained[name] == "" || r.Method != http.MethodGet {
		return f.base.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(strings.NewReader(fmt.Sprintf(`{"name": %q, %s}`, name, retained[name]))),
	}, nil
}

func TestDeleteOfWhatStorageKeeps(t *testing.T) {
	p := backendstest.Start(t)
	if !p.EmbeddedStorage() {
		t.Skip("only the embedded Storage knows holds")
	}
	deleteFirst := func(t *testing.T, name string, wrap func(http.RoundTripper) http.RoundTripper) error {
		t.Helper()
		ctx, c, _ := open(t, p, wrap)
		o := list(ctx, t, c.Reader(), name, "")[0]
		return c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx,
			objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
	}
	bucket := p.Storage(t).Bucket(p.Bucket)
	for name, hold := range map[string]storage.ObjectAttrsToUpdate{
		"posts/temporary": {TemporaryHold: true}, "posts/event": {EventBasedHold: true}, "posts/free": {ContentType: "a/b"},
		"posts/retained by its bucket": {ContentType: "a/b"}, "posts/retained by itself": {ContentType: "a/b"},
		"posts/retained once": {ContentType: "a/b"},
	} {
		p.Put(t, name, nil, []byte("x"))
		if _, err := bucket.Object(name).Update(t.Context(), hold); err != nil {
			t.Fatal(err)
		}
	}
	const message = "of no importance"
	for _, tt := range []struct {
		name, reason, want string // reason: of the answer, "" where Storage answers by itself; want: "" for an error
	}{
		{"posts/temporary", "", objects.HeldByHold},
		{"posts/event", "", objects.HeldByHold},
		{"posts/free", "retentionPolicyNotMet", objects.HeldByRetention},
		{"posts/free", "objectUnderActiveHold", objects.HeldByHold},
		{"posts/free", "forbidden", ""},
		{"posts/retained by its bucket", "forbidden", objects.HeldByRetention},
		{"posts/retained by itself", "forbidden", objects.HeldByRetention},
		{"posts/retained once", "forbidden", ""},
	} {
		var wrap func(http.RoundTripper) http.RoundTripper
		if tt.reason != "" {
			wrap = func(base http.RoundTripper) http.RoundTripper { return retaining{refusing{base, tt.reason, message}} }
		}
		err := deleteFirst(t, tt.name, wrap)
		var held *objects.HeldError
		switch {
		case tt.want != "" && (!errors.As(err, &held) || held.Reason != tt.want):
			t.Errorf("%s, %s: %v, want kept as %s", tt.name, tt.reason, err, tt.want)
		case tt.want == "" && (err == nil || errors.As(err, &held) || !strings.Contains(err.Error(), message)):
			t.Errorf("%s, %s: %v, want the refusal", tt.name, tt.reason, err)
		}
	}
	if diff := cmp.Diff(slices.Concat([]string{"posts/event", "posts/free"}, slices.Sorted(maps.Keys(retained)), []string{"posts/temporary"}),
		p.Objects(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if err := deleteFirst(t, "posts/free", nil); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"posts/event", "posts/temporary"} { // so that the project can be cleared
		if _, err := bucket.Object(name).Update(t.Context(),
			storage.ObjectAttrsToUpdate{TemporaryHold: false, EventBasedHold: false}); err != nil {
			t.Error(err)
		}
	}
}

func TestPagesOfAThousand(t *testing.T) {
	p := backendstest.Start(t)
	p.PutMany(t, 1001, func(i int) (string, map[string]string) { return fmt.Sprintf("posts/%04d", i), nil })
	ctx, c, m := open(t, p, nil)
	var sizes []int
	for page, err := range c.Reader().Pages(ctx, "posts/", objects.Names{}) {
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
	}
	if diff := cmp.Diff([]int{1000, 1}, sizes); diff != "" || m.Usage().StorageClassA != 2 {
		t.Errorf("%d class A operations, page sizes (-want +got):\n%s", m.Usage().StorageClassA, diff)
	}
}

func TestDelete(t *testing.T) {
	p := backendstest.Start(t)
	if !p.EmbeddedStorage() {
		t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
	}
	for _, name := range append(slices.Clone(oddNames), "posts/replaced", "posts/relabelled", "posts/gone") {
		p.Put(t, name, map[string]string{"postId": "PENDING"}, []byte("x"))
	}
	ctx, c, m := open(t, p, nil)
	all := list(ctx, t, c.Reader(), "posts/", "")
	p.Put(t, "posts/replaced", map[string]string{"postId": "p1"}, []byte("y"))
	bucket := p.Storage(t).Bucket(p.Bucket)
	if _, err := bucket.Object("posts/relabelled").Update(t.Context(),
		storage.ObjectAttrsToUpdate{Metadata: map[string]string{"postId": "p1"}}); err != nil {
		t.Fatal(err)
	}
	if err := bucket.Object("posts/gone").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	w := c.Writer(rate.NewLimiter(rate.Inf, 0))
	for _, o := range all {
		err := w.Delete(ctx, objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
		if slices.Contains(oddNames, o.Name) && err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		if !slices.Contains(oddNames, o.Name) && !errors.Is(err, objects.ErrChanged) {
			t.Errorf("%s: %v, want ErrChanged", o.Name, err)
		}
	}
	if diff := cmp.Diff([]string{"posts/relabelled", "posts/replaced"}, p.Objects(t)); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
	if u := m.Usage(); u.StorageDeletes != int64(len(oddNames)) {
		t.Errorf("usage %+v, want %d deletes", u, len(oddNames))
	}
}

// lossy sends every first request to delete an object, and answers 503 to it; to those after it with the status again, if it is not 0.
type lossy struct {
	base  http.RoundTripper
	seen  map[string]bool
	again int
}

func (l lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.base.RoundTrip(r)
	if r.Method == http.MethodDelete && l.seen[r.URL.Path] && l.again != 0 {
		resp.StatusCode, resp.Status, resp.Body = l.again, http.StatusText(l.again), http.NoBody
	}
	if r.Method == http.MethodDelete && !l.seen[r.URL.Path] {
		l.seen[r.URL.Path] = true
		resp.StatusCode, resp.Status = http.StatusServiceUnavailable, "503 Service Unavailable"
	}
	return resp, err
}

func TestDeleteWhoseAnswerIsLost(t *testing.T) {
	p := backendstest.Start(t)
	for _, again := range []int{0, http.StatusPreconditionFailed} { // whichever Google answers to a deletion that is sent again
		p.Put(t, "posts/a", nil, []byte("x"))
		ctx, c, _ := open(t, p, func(base http.RoundTripper) http.RoundTripper { return lossy{base, map[string]bool{}, again} })
		o := list(ctx, t, c.Reader(), "posts/", "")[0]
		err := c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx,
			objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
		if err != nil || len(p.Objects(t)) != 0 {
			t.Errorf("%d: Delete = %v, left %v; want done", again, err, p.Objects(t))
		}
	}
}

// denied answers 403 to everything once an object was deleted, of which it says 503.
type denied struct {
	base    http.RoundTripper
	deleted *bool
}

func (d denied) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.base.RoundTrip(r)
	switch {
	case err == nil && *d.deleted:
		resp.StatusCode, resp.Status, resp.Body = http.StatusForbidden, "403 Forbidden", http.NoBody
	case err == nil && r.Method == http.MethodDelete:
		resp.StatusCode, resp.Status, *d.deleted = http.StatusServiceUnavailable, "503 Service Unavailable", true
	}
	return resp, err
}

// TestDeniedAfterALostAnswer: nothing says that the object stayed, so undo must not leave it out.
func TestDeniedAfterALostAnswer(t *testing.T) {
	p := backendstest.Start(t)
	p.Put(t, "posts/a", nil, []byte("x"))
	ctx, c, _ := open(t, p, func(base http.RoundTripper) http.RoundTripper { return denied{base, new(bool)} })
	o := list(ctx, t, c.Reader(), "posts/", "")[0]
	err := c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx, objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
	if err == nil || objects.Denied(err) {
		t.Errorf("Delete = %v, want the error of the answer that was lost", err)
	}
}

// TestAsleepBetweenDeletions: whether it is too late is asked after the pause, and what the first request came to is told.
func TestAsleepBetweenDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		c, err := objects.Open(t.Context(), objects.Bucket{Name: "b", EmulatorHost: "nowhere"}, func(http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				sent++
				return &http.Response{StatusCode: http.StatusServiceUnavailable, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
			})
		})
		if err != nil {
			t.Fatal(err)
		}
		w, began, late, unsure := c.Writer(rate.NewLimiter(rate.Inf, 0)), time.Now(), errors.New("too late"), false
		w.InTime = func() error {
			if time.Now().After(began) {
				return late
			}
			return nil
		}
		w.Written = func(_ context.Context, _ objects.Deletion, lost bool) { unsure = lost }
		err = w.Delete(t.Context(), objects.Deletion{Name: "a\x1b\u202e", Generation: 1})
		if err == nil || !strings.HasPrefix(err.Error(), `delete object a\x1b\u202e: `) || errors.Is(err, late) || !unsure {
			t.Errorf("%v, told as unsure: %t; want the answer of the request that was sent", err, unsure)
		}
		if err = w.Delete(t.Context(), objects.Deletion{Name: "a", Generation: 1}); !errors.Is(err, late) || sent != 1 {
			t.Errorf("%v after %d requests, want %v after one", err, sent, late)
		}
	})
}

func TestDeletionsAreTold(t *testing.T) {
	p := backendstest.Start(t)
	if !p.EmbeddedStorage() {
		t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
	}
	for _, name := range []string{"posts/a", "posts/changed", "posts/lost", "posts/refused"} {
		p.Put(t, name, nil, []byte("x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, c, _ := open(t, p, func(base http.RoundTripper) http.RoundTripper {
		return roundTripper(func(r *http.Request) (*http.Response, error) {
			switch {
			case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "refused"):
				return &http.Response{StatusCode: http.StatusForbidden, Body: http.NoBody, Request: r, Header: http.Header{}}, nil
			case r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "lost"):
				resp, err := base.RoundTrip(r)
				if err != nil {
					return nil, err
				}
				cancel() // or the request would be sent again
				return nil, errors.Join(io.ErrUnexpectedEOF, resp.Body.Close())
			}
			return base.RoundTrip(r)
		})
	})
	all := list(ctx, t, c.Reader(), "posts/", "")
	p.Put(t, "posts/changed", nil, []byte("y"))
	told := map[string]bool{}
	w := c.Writer(rate.NewLimiter(rate.Inf, 0))
	w.Written = func(_ context.Context, d objects.Deletion, unsure bool) {
		if d.Generation == 0 {
			t.Errorf("%s is told without its generation", d.Name)
		}
		told[d.Name] = unsure
	}
	for _, name := range []string{"posts/a", "posts/changed", "posts/refused", "posts/lost"} {
		o := all[slices.IndexFunc(all, func(o objects.Object) bool { return o.Name == name })]
		// What Delete returns is tested above; here, what it reports to Written.
		_ = w.Delete(ctx, objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration})
	}
	if diff := cmp.Diff(map[string]bool{"posts/a": false, "posts/lost": true}, told); diff != "" {
		t.Errorf("told, and whether unsure (-want +got):\n%s", diff)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
