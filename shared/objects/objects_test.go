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
	"testing"
	"testing/synctest"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/usage"
)

// open opens the bucket of a project. answer is nil where nothing stands between.
func open(t *testing.T, p *backendstest.Project, answer answering) (context.Context, *objects.Client, *usage.Meter) {
	t.Helper()
	return openBucket(t, objects.Bucket{Name: p.Bucket, EmulatorHost: p.Environment["FIREBASE_STORAGE_EMULATOR_HOST"]}, answer)
}

func openBucket(t *testing.T, bucket objects.Bucket, answer answering) (context.Context, *objects.Client, *usage.Meter) {
	t.Helper()
	var wrap func(http.RoundTripper) http.RoundTripper
	if answer != nil {
		wrap = func(base http.RoundTripper) http.RoundTripper {
			return roundTripper(func(r *http.Request) (*http.Response, error) {
				return answer(r, func() (*http.Response, error) { return base.RoundTrip(r) })
			})
		}
	}
	c, err := objects.Open(t.Context(), bucket, wrap)
	ok(t, err)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	m := new(usage.Meter)
	return usage.NewContext(t.Context(), m), c, m
}

var (
	ok   = check.OK
	same = check.Same
)

// deletion deletes an object as it was listed.
func deletion(o objects.Object) objects.Deletion {
	return objects.Deletion{Name: o.Name, Generation: o.Generation, Metageneration: o.Metageneration}
}

// deleteFirst lists what begins so, and deletes the first of that.
func deleteFirst(t *testing.T, p *backendstest.Project, prefix string, answer answering) error {
	t.Helper()
	ctx, c, _ := open(t, p, answer)
	return c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx, deletion(list(ctx, t, c.Reader(), prefix, "")[0]))
}

// answering stands between a client and Cloud Storage: send sends a request.
type answering func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error)

// answer returns an answer to a request.
func answer(r *http.Request, status int, body string) *http.Response {
	return &http.Response{
		StatusCode: status, Status: fmt.Sprint(status, " ", http.StatusText(status)), Request: r,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(body)),
	}
}

func list(ctx context.Context, t *testing.T, r objects.Reader, prefix, after string) []objects.Object {
	t.Helper()
	var all []objects.Object
	for page, err := range r.Pages(ctx, prefix, objects.Names{From: after, After: after != ""}) {
		ok(t, err)
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
					ok(t, err)
					got = append(got, names(page)...)
				}
				same(t, fmt.Sprintf("from %q (after %v) before %q", from, after, before), want, got)
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
	same(t, "listing", oddNames, names(all))
	for _, o := range all {
		if o.Generation == 0 || o.Metageneration != 1 || o.Created.IsZero() || o.Metadata["postId"] != "p1" {
			t.Errorf("object %+v", o)
		}
	}
	for i, after := range oddNames {
		same(t, fmt.Sprintf("after %s", after), oddNames[i+1:], names(list(ctx, t, c.Reader(), "posts/", after)))
	}
	u := m.Usage()
	same(t, "one class A operation a listing", []int64{int64(1 + len(oddNames)), 0}, []int64{u.StorageClassA, u.StorageClassB})
	same(t, "listing of nothing", 0, len(list(ctx, t, c.Reader(), "nothing/", "")))
}

// TestListingAsItIsSent: an offset is exactly a name, and the request does not ask for access control lists.
func TestListingAsItIsSent(t *testing.T) {
	p := backendstest.Start(t)
	longest := "posts/" + strings.Repeat("長", 339) + "x" // 1,024 bytes
	for _, name := range []string{"posts/a", longest, "posts/龍"} {
		p.Put(t, name, nil, []byte("x"))
	}
	var sent []*http.Request
	ctx, c, _ := open(t, p, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		sent = append(sent, r)
		return send()
	})
	same(t, "after a", []string{longest, "posts/龍"}, names(list(ctx, t, c.Reader(), "posts/", "posts/a")))
	same(t, "after the longest name", []string{"posts/龍"}, names(list(ctx, t, c.Reader(), "posts/", longest)))
	same(t, "with the longest name as prefix", []string{longest}, names(list(ctx, t, c.Reader(), longest, "")))
	var offsets []string
	for _, r := range sent {
		q := r.URL.Query()
		offsets = append(offsets, q.Get("startOffset"))
		same(t, "projection", "noAcl", q.Get("projection"))
	}
	same(t, "offsets", []string{"posts/a", longest, ""}, offsets)
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
	same(t, "usage of four gets, and of two that found nothing, which are free", usage.Usage{StorageClassB: 4}, m.Usage())
	err := c.Writer(rate.NewLimiter(rate.Inf, 0)).Delete(ctx, objects.Deletion{Name: "missing", Generation: 1, Metageneration: 1})
	check.Is(t, "a delete of nothing", err, documents.ErrChanged)
	same(t, "its usage", usage.Usage{StorageClassB: 4}, m.Usage())
}

// retained are what the attributes of some objects say of their retention.
var retained = map[string]string{
	"posts/retained by its bucket": `"retentionExpirationTime": "2999-01-01T00:00:00Z"`,
	"posts/retained by itself":     `"retention": {"mode": "Locked", "retainUntilTime": "2999-01-01T00:00:00Z"}`,
	"posts/retained once": `"retentionExpirationTime": "2020-01-01T00:00:00Z", "retention": {"mode": "Locked",
		"retainUntilTime": "2020-01-01T00:00:00Z"}`,
}

func TestDeleteOfWhatStorageKeeps(t *testing.T) {
	p := backendstest.Start(t)
	if !p.EmbeddedStorage() {
		t.Skip("only the embedded Storage knows holds")
	}
	bucket := p.Storage(t).Bucket(p.Bucket)
	for name, hold := range map[string]storage.ObjectAttrsToUpdate{
		"posts/temporary": {TemporaryHold: true}, "posts/event": {EventBasedHold: true}, "posts/free": {ContentType: "a/b"},
		"posts/retained by its bucket": {ContentType: "a/b"}, "posts/retained by itself": {ContentType: "a/b"},
		"posts/retained once": {ContentType: "a/b"},
	} {
		p.Put(t, name, nil, []byte("x"))
		_, err := bucket.Object(name).Update(t.Context(), hold)
		ok(t, err)
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
		err := deleteFirst(t, p, tt.name, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			_, name, _ := strings.Cut(r.URL.Path, "/o/")
			switch {
			case tt.reason != "" && r.Method == http.MethodDelete: // as Google refuses a deletion
				return answer(r, http.StatusForbidden, fmt.Sprintf(`{"error":{"code":403,"message":%q,"errors":[
					{"domain":"global","reason":%q,"message":%q}]}}`, message, tt.reason, message)), nil
			case tt.reason != "" && r.Method == http.MethodGet && retained[name] != "":
				return answer(r, http.StatusOK, fmt.Sprintf(`{"name": %q, %s}`, name, retained[name])), nil
			}
			return send()
		})
		var held *objects.HeldError
		switch {
		case tt.want != "" && (!errors.As(err, &held) || held.Reason != tt.want):
			t.Errorf("%s, %s: %v, want kept as %s", tt.name, tt.reason, err, tt.want)
		case tt.want == "" && (err == nil || errors.As(err, &held) || !strings.Contains(err.Error(), message)):
			t.Errorf("%s, %s: %v, want the refusal", tt.name, tt.reason, err)
		}
	}
	left := slices.Concat([]string{"posts/event", "posts/free"}, slices.Sorted(maps.Keys(retained)), []string{"posts/temporary"})
	same(t, "left", left, p.Objects(t))
	same(t, "what is free", nil, deleteFirst(t, p, "posts/free", nil))
	for _, name := range []string{"posts/event", "posts/temporary"} { // so that the project can be cleared
		if _, err := bucket.Object(name).Update(t.Context(),
			storage.ObjectAttrsToUpdate{TemporaryHold: false, EventBasedHold: false}); err != nil {
			t.Error(err)
		}
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
	ok(t, bucket.Object("posts/gone").Delete(t.Context()))
	w := c.Writer(rate.NewLimiter(rate.Inf, 0))
	for _, o := range all {
		err := w.Delete(ctx, deletion(o))
		if slices.Contains(oddNames, o.Name) && err != nil {
			t.Errorf("%s: %v", o.Name, err)
		}
		if !slices.Contains(oddNames, o.Name) && !errors.Is(err, documents.ErrChanged) {
			t.Errorf("%s: %v, want ErrChanged", o.Name, err)
		}
	}
	same(t, "left", []string{"posts/relabelled", "posts/replaced"}, p.Objects(t))
	same(t, "deletes", int64(len(oddNames)), m.Usage().StorageDeletes)
}

// TestDeleteWhoseAnswerIsLost: the first request arrives, and is answered 503. Whichever Google answers to a deletion that is
// sent again, the object is deleted. Where that is denied, nothing says that the object stayed, so undo must not leave it out.
func TestDeleteWhoseAnswerIsLost(t *testing.T) {
	p := backendstest.Start(t)
	for _, again := range []int{0, http.StatusPreconditionFailed, http.StatusForbidden} {
		p.Put(t, "posts/a", nil, []byte("x"))
		deleted := false
		err := deleteFirst(t, p, "posts/", func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
			resp, err := send()
			switch {
			case err != nil:
			case deleted && (again == http.StatusForbidden || again != 0 && r.Method == http.MethodDelete):
				resp.StatusCode, resp.Status, resp.Body = again, http.StatusText(again), http.NoBody
			case !deleted && r.Method == http.MethodDelete:
				resp.StatusCode, resp.Status, deleted = http.StatusServiceUnavailable, "503 Service Unavailable", true
			}
			return resp, err
		})
		if unsure := again == http.StatusForbidden; (err != nil) != unsure || unsure && objects.Denied(err) || len(p.Objects(t)) != 0 {
			t.Errorf("%d: Delete = %v, left %v; want done, or the error of the answer that was lost", again, err, p.Objects(t))
		}
	}
}

// TestAsleepBetweenDeletions: whether it is too late is asked after the pause, and what the first request came to is told.
func TestAsleepBetweenDeletions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sent := 0
		_, c, _ := openBucket(t, objects.Bucket{Name: "b", EmulatorHost: "nowhere"},
			func(r *http.Request, _ func() (*http.Response, error)) (*http.Response, error) {
				sent++
				return answer(r, http.StatusServiceUnavailable, ""), nil
			})
		w, began, late := c.Writer(rate.NewLimiter(rate.Inf, 0)), time.Now(), errors.New("too late")
		w.InTime = func() error {
			if time.Now().After(began) {
				return late
			}
			return nil
		}
		err := w.Delete(t.Context(), objects.Deletion{Name: "a", Generation: 1})
		if err == nil || !strings.HasPrefix(err.Error(), "delete object a: ") || errors.Is(err, late) || !objects.Unsure(err) {
			t.Errorf("%v; want the answer of the request that was sent", err)
		}
		err = w.Delete(t.Context(), objects.Deletion{Name: "a", Generation: 1})
		check.Is(t, "no time", err, late)
		same(t, "requests", 1, sent)
	})
}

// TestUnsure: a deletion whose answer was lost may have taken effect, and no other that failed.
func TestUnsure(t *testing.T) {
	p := backendstest.Start(t)
	if !p.EmbeddedStorage() {
		t.Skip("only the embedded Storage enforces preconditions; the Firebase Emulator Suite's deletes regardless")
	}
	for _, name := range []string{"posts/a", "posts/changed", "posts/lost", "posts/refused"} {
		p.Put(t, name, nil, []byte("x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, c, _ := open(t, p, func(r *http.Request, send func() (*http.Response, error)) (*http.Response, error) {
		if r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "refused") {
			return answer(r, http.StatusForbidden, ""), nil
		}
		resp, err := send()
		if err == nil && r.Method == http.MethodDelete && strings.HasSuffix(r.URL.Path, "lost") {
			cancel() // or the request would be sent again
			return nil, errors.Join(io.ErrUnexpectedEOF, resp.Body.Close())
		}
		return resp, err
	})
	all := list(ctx, t, c.Reader(), "posts/", "")
	p.Put(t, "posts/changed", nil, []byte("y"))
	w, unsure := c.Writer(rate.NewLimiter(rate.Inf, 0)), map[string]bool{}
	for _, name := range []string{"posts/a", "posts/changed", "posts/refused", "posts/lost"} {
		o := all[slices.IndexFunc(all, func(o objects.Object) bool { return o.Name == name })]
		if err := w.Delete(ctx, deletion(o)); err != nil {
			unsure[name] = objects.Unsure(err)
		}
	}
	same(t, "failed, and whether unsure", map[string]bool{"posts/changed": false, "posts/refused": false, "posts/lost": true}, unsure)
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestReadings: of the objects that there are, a text leads to those that it means, however it was written, and to no other.
func TestReadings(t *testing.T) {
	t.Parallel()
	const download = "https://firebasestorage.googleapis.com/v0/b/my.app/o/"
	texts := objects.Texts{Bucket: "my.app", EmulatorHost: "127.0.0.1:9199", Folder: "p/"}
	there := []string{"p/a.png", "p/b.png", "p/B.png", "p/c d.png", "p/e%20f.png", "p/e f.png", "p/Café.png", "p/q/g.png", "q/p/b.png", "q/h.png", "p/i", "p/i j", "p/k+l.png"}
	for text, want := range map[string]string{
		"p/b.png": "p/b.png", " p/b.png": "p/b.png", "p/b.png\n": "p/b.png", "/p/b.png": "p/b.png", "./p/b.png": "p/b.png", "p//b.png": "p/b.png",
		"p/./b.png": "p/b.png", `p\b.png`: "p/b.png", "p/B.png": "p/B.png", "\ufeffp/b.png": "p/b.png", "p/\u200bb.png": "p/b.png",
		"p%2Fb.png": "p/b.png", "p%252Fb.png": "p/b.png", "p/b%2Epng": "p/b.png", "p/b.png?alt=media&token=1f": "p/b.png", "p/b.png#t=1": "p/b.png",
		"p/b.png?a#b": "p/b.png", "p/b.png,p/a.png": "p/a.png p/b.png", "p/a.png; p/b.png": "p/a.png p/b.png", "p/a.png|p/q/g.png": "p/a.png p/q/g.png",
		`["p/a.png","p/b.png"]`: "p/a.png p/b.png", `<img src="p/b.png">`: "p/b.png", "![](p/b.png)": "p/b.png", "url('p/b.png')": "p/b.png",
		"p\\u002Fb.png": "p/b.png", "p&#47;b.png": "p/b.png", "p/b.png.": "p/b.png", "(p/b.png)": "p/b.png",
		download + "p%2Fb.png?alt=media&token=1": "p/b.png", download + "p%2Fa.png?alt=media," + download + "p%2Fb.png?alt=media": "p/a.png p/b.png",
		" " + download + "p%2Fb.png ": "p/b.png", strings.ReplaceAll(download, "/", `\/`) + "p%2Fb.png": "p/b.png", "gs://my.app/p/b.png": "p/b.png",
		"https://storage.googleapis.com/my.app/p/c%20d.png": "p/c d.png", "https://my.app.storage.googleapis.com/p/b.png?x=1": "p/b.png",
		"http://127.0.0.1:9199/v0/b/my.app/o/p%2Fb.png?alt=media": "p/b.png", "p/c d.png": "p/c d.png", "p/c%20d.png": "p/c d.png", "p/c+d.png": "p/c d.png",
		"p/Cafe\u0301.png": "p/Café.png", "p/i j": "p/i j", "p/i k": "p/i", "p/k+l.png": "p/k+l.png", "gs://my.app/p/c%20d.png": "p/c d.png",

		"p/e%20f.png": "?", "gs://my.app/p/e%20f.png": "?", // there are both
		"": "", "b.png": "", "p/": "", "p/none.png": "", "q/p/b.png": "", "q/h.png": "", "x/p/b.png": "", "p/../q/h.png": "", "gs://y/p/b.png": "", "P/b.png": "",
		"https://example.com/p/b.png": "", "https://example.com/?x=p/b.png p/a.png": "", "gs://y/p/b.png,p/a.png": "",
		"https://firebasestorage.googleapis.com/v0/b/y/o/p%2Fb.png": "", "https://firebasestorage.googleapis.com/v0/b/y/o/x%2Fx%2Fp%2Fb.png": "",
	} {
		var asked []string
		none := func(name string) bool { asked = append(asked, name); return false }
		found, ok := texts.Objects(text, none)
		same(t, text+", where there are none", []any{0, true}, []any{len(found), ok})
		names, ok := texts.Objects(text, func(name string) bool {
			same(t, fmt.Sprintf("whether %q asks about %q", text, name), true, slices.Contains(asked, name))
			return slices.Contains(there, name)
		})
		if got := strings.Join(names, " "); ok == (want == "?") || ok && got != want {
			t.Errorf("%q leads to %q (%t), want %q; it asks about %q", text, got, ok, want, asked)
		}
		slices.Sort(asked)
		if asked = slices.Compact(asked); len(asked) > 12 || slices.ContainsFunc(asked, func(name string) bool { return !strings.HasPrefix(name, "p/") }) {
			t.Errorf("%q is looked up by %q", text, asked)
		}
	}
	var many strings.Builder
	for i := range 60 {
		fmt.Fprintf(&many, "p/%d.png,", i)
	}
	for text, all := range map[string]bool{strings.Repeat("p/x,", 10) + strings.Repeat("p/y y/", 10_000): true, many.String(): false} {
		n := 0
		if _, ok := texts.Objects(text, func(string) bool { n++; return false }); ok != all || n > 60 {
			t.Errorf("%.20s: %d names are looked up, and that is all: %t", text, n, ok)
		}
	}
}

// TestReferences: whatever the console and the SDKs make of an object is among the ways in which documents refer to it.
func TestReferences(t *testing.T) {
	t.Parallel()
	texts := objects.Texts{Bucket: "my.app", Folder: "p/"}
	exact := texts.References(objects.Object{Name: "p/a (1)+ü.png", Metadata: map[string]string{"firebaseStorageDownloadTokens": "t1,t2"}})
	const escaped = "https://firebasestorage.googleapis.com/v0/b/my.app/o/p%2Fa%20(1)%2B%C3%BC.png"
	for _, text := range []string{"p/a (1)+ü.png", "/p/a (1)+ü.png", "gs://my.app/p/a (1)+ü.png", "https://storage.googleapis.com/my.app/p/a%20(1)%2B%C3%BC.png",
		escaped, escaped + "?alt=media", escaped + "?alt=media&token=t1", escaped + "?alt=media&token=t2",
		strings.Replace(escaped, "com/", "com:443/", 1) + "?alt=media&token=t1"} {
		same(t, fmt.Sprintf("%s is among %q", text, exact), true, slices.Contains(exact, text))
	}
	if len(exact) > 25 {
		t.Errorf("%d", len(exact))
	}
}

// TestMentioned: whatever people write for a name, it is among those that the text may mean.
func TestMentioned(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"p/b.png", " p/b.png", "p/b.png ", "p/b.png\n", "/p/b.png", "./p/b.png", "p//b.png", "p/./b.png", `p\b.png`, "P/B.PNG", "\ufeffp/b.png",
		"p/\u200bb.png", "p%2Fb.png", "p%252Fb.png", "p/b%2Epng", "p/b.png?alt=media&token=1f", "p/b.png#t=1", "p/b.png,p/c.png", "p/a.png;p/b.png",
		"p/a.png|p/b.png", "p/a.png b.png", `["p/a.png","p/b.png"]`, `<img src="p/b.png">`, "![](p/b.png)", "url('p/b.png')", "p\\u002Fb.png",
		"https://firebasestorage.googleapis.com/v0/b/x/o/p%2Fa.png?alt=media,https://firebasestorage.googleapis.com/v0/b/x/o/p%2Fb.png?alt=media",
		"gs://x/p/b.png", `https:\/\/firebasestorage.googleapis.com\/v0\/b\/x\/o\/p%2Fb.png`, "p&#47;b.png", "p/b.png.", "(p/b.png)",
	} {
		names, all := objects.Mentioned(text, "p/")
		same(t, text+" means all, and one of them", []bool{true, true}, []bool{all, slices.Contains(names, "p/b.png")})
	}
	names, _ := objects.Mentioned("p/Cafe\u0301+noir.png", "p/")
	same(t, "an accent", true, slices.Contains(names, objects.Spelling("p/Café noir.png")))
	for _, text := range []string{"", "b.png", "q/b.png", "shop/b.png", "p", "p/", "https://example.com/b.png"} {
		names, all := objects.Mentioned(text, "p/")
		same(t, text, []any{0, true}, []any{len(names), all})
	}
	var many strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&many, "p/%d.png,", i)
	}
	_, all := objects.Mentioned(many.String(), "p/")
	same(t, "that more names than anybody can hold are all", false, all)
}

func TestReadOnly(t *testing.T) {
	t.Parallel()
	sent := 0
	client := http.Client{Transport: objects.ReadOnly(roundTripper(func(r *http.Request) (*http.Response, error) {
		sent++
		return answer(r, http.StatusNoContent, ""), nil
	}))}
	for _, tt := range []struct {
		method string
		sent   bool
	}{
		{http.MethodGet, true}, {http.MethodHead, true}, {http.MethodDelete, false}, {http.MethodPost, false},
		{http.MethodPut, false}, {http.MethodPatch, false},
	} {
		sent = 0
		var body io.Reader
		if !tt.sent {
			body = strings.NewReader("{}")
		}
		r, err := http.NewRequestWithContext(t.Context(), tt.method, "http://storage.invalid/b/bucket/o/name", body)
		ok(t, err)
		response, err := client.Do(r)
		if err == nil {
			_ = response.Body.Close()
		}
		same(t, tt.method+" is sent", []bool{tt.sent, tt.sent}, []bool{err == nil, sent == 1})
		if err != nil && !strings.Contains(err.Error(), "only reads") {
			t.Errorf("%s: %v", tt.method, err)
		}
	}
}
