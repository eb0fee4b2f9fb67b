package backends

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/each"
)

// storageBucket returns a bucket of a fresh Storage through Google's client, and the server.
func storageBucket(t *testing.T) (*storage.BucketHandle, *StorageServer) {
	t.Helper()
	b := withoutFirestore(t, Options{})
	client, err := storage.NewClient(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client.Bucket("demo-x.firebasestorage.app"), b.Storage()
}

func put(t *testing.T, o *storage.ObjectHandle, content string, options ...func(*storage.Writer)) *storage.ObjectAttrs {
	t.Helper()
	w := o.NewWriter(context.Background())
	for _, option := range options {
		option(w)
	}
	_, err := io.WriteString(w, content)
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatalf("upload %q: %v", o.ObjectName(), err)
	}
	return w.Attrs()
}

func attributes(t *testing.T, o *storage.ObjectHandle) *storage.ObjectAttrs {
	t.Helper()
	a, err := o.Attrs(context.Background())
	if err != nil {
		t.Fatalf("get %q: %v", o.ObjectName(), err)
	}
	return a
}

func content(t *testing.T, o *storage.ObjectHandle) string {
	t.Helper()
	r, err := o.NewReader(context.Background())
	if err != nil {
		t.Fatalf("download %q: %v", o.ObjectName(), err)
	}
	content, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatalf("download %q: %v", o.ObjectName(), err)
	}
	return string(content)
}

func names(t *testing.T, bucket *storage.BucketHandle, q *storage.Query) []string {
	t.Helper()
	found := []string{}
	for _, o := range all(t, bucket.Objects(context.Background(), q)) {
		found = append(found, o.Prefix+o.Name) // one of them is empty
	}
	return found
}

// all returns all that one of Google's iterators returns.
func all[T any](t *testing.T, list interface{ Next() (T, error) }) (found []T) {
	t.Helper()
	for one, err := range each.Of(list) {
		if err != nil {
			t.Fatal(err)
		}
		found = append(found, one)
	}
	return found
}

// httpStatus returns the HTTP status that an error stands for.
func httpStatus(err error) int {
	var failure *googleapi.Error
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &failure):
		return failure.Code
	case errors.Is(err, storage.ErrObjectNotExist):
		return http.StatusNotFound
	}
	return 0
}

var oddNames = []string{
	"a b", "100%", "a%2Fb", "a+b", "a#b", "a?b=c&d", "a;b:c@d,e=f!", "日本語/写真.jpg", "写真", "写真/", "😀", "/leading", "a//b", "a/./b",
	"a/../b",
	"..a", "a\\b", `a"b'c`, "<a>", "`", "é", "e\u0301", "[0-9]*", "a\tb", strings.Repeat("長", 341),
}

func TestOddObjectNames(t *testing.T) {
	bucket, _ := storageBucket(t)
	for _, name := range oddNames {
		put(t, bucket.Object(name), name)
	}
	want := slices.Sorted(slices.Values(oddNames))
	same(t, "names", want, names(t, bucket, nil))
	for i, name := range want {
		o := bucket.Object(name)
		if got := attributes(t, o).Name; got != name {
			t.Errorf("get %q: name %q", name, got)
		}
		if got := content(t, o); got != name {
			t.Errorf("download %q: %q", name, got)
		}
		updated, err := o.Update(context.Background(), storage.ObjectAttrsToUpdate{Metadata: map[string]string{"k": name}})
		if err != nil {
			t.Errorf("patch %q: %v", name, err)
		} else if updated.Name != name || updated.Metadata["k"] != name {
			t.Errorf("patch %q: %q, %v", name, updated.Name, updated.Metadata)
		}
		if err := o.Delete(context.Background()); err != nil {
			t.Errorf("delete %q: %v", name, err)
		}
		if diff := cmp.Diff(want[i+1:], names(t, bucket, nil)); diff != "" {
			t.Errorf("names without %q (-want +got):\n%s", name, diff)
		}
	}
}

func TestUploadForms(t *testing.T) {
	bucket, _ := storageBucket(t)
	large := strings.Repeat("0123456789abcdef", 40<<10) // 640 KiB: three chunks
	for _, test := range []struct {
		name, content string
		chunk         int
	}{
		{"one request", "x", 0},
		{"empty", "", 0},
		{"default", large, googleapi.DefaultUploadChunkSize},
		{"resumable", large, googleapi.MinUploadChunkSize},
		{"resumable, whole chunks", large[:2*googleapi.MinUploadChunkSize], googleapi.MinUploadChunkSize},
		{"large in one request", large, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := bucket.Object(test.name)
			uploaded := put(t, o, test.content, func(w *storage.Writer) {
				w.ChunkSize = test.chunk
				w.ContentType = "text/x-test"
				w.CacheControl = "no-store"
				w.Metadata = map[string]string{"postId": "PENDING", "日本": "語"}
			})
			got := attributes(t, o)
			same(t, "what uploading and getting answer", uploaded, got)
			same(t, "attributes", []any{int64(len(test.content)), "text/x-test", "no-store", bucket.BucketName()},
				[]any{got.Size, got.ContentType, got.CacheControl, got.Bucket})
			same(t, "metadata", map[string]string{"postId": "PENDING", "日本": "語"}, got.Metadata)
			if got := content(t, o); got != test.content {
				t.Errorf("content of %d bytes differs", len(got))
			}
			if sum := md5.Sum([]byte(test.content)); !bytes.Equal(got.MD5, sum[:]) {
				t.Errorf("MD5 %x, want %x", got.MD5, sum)
			}
			if sum := crc32.Checksum([]byte(test.content), crc32.MakeTable(crc32.Castagnoli)); got.CRC32C != sum {
				t.Errorf("CRC32C %x, want %x", got.CRC32C, sum)
			}
		})
	}
}

func TestHolds(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	for name, set := range map[string]func(on bool) storage.ObjectAttrsToUpdate{
		"temporary":   func(on bool) storage.ObjectAttrsToUpdate { return storage.ObjectAttrsToUpdate{TemporaryHold: on} },
		"event-based": func(on bool) storage.ObjectAttrsToUpdate { return storage.ObjectAttrsToUpdate{EventBasedHold: on} },
	} {
		o := bucket.Object(name)
		put(t, o, "1")
		held, err := o.Update(ctx, set(true))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if held.Metageneration != 2 || held.TemporaryHold == held.EventBasedHold {
			t.Errorf("%s: %+v", name, held)
		}
		if err := o.Delete(ctx); httpStatus(err) != http.StatusForbidden {
			t.Errorf("%s: delete: %v", name, err)
		}
		if err := o.NewWriter(ctx).Close(); httpStatus(err) != http.StatusForbidden {
			t.Errorf("%s: overwrite: %v", name, err)
		}
		if err := o.If(storage.Conditions{GenerationMatch: held.Generation + 1}).Delete(ctx); httpStatus(
			err) != http.StatusPreconditionFailed {
			t.Errorf("%s: delete of another generation: %v", name, err)
		}
		if _, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"a": "1"}}); err != nil {
			t.Errorf("%s: attributes may be changed: %v", name, err)
		}
		got := attributes(t, o)
		same(t, name, []any{held.TemporaryHold, held.EventBasedHold, int64(1)}, []any{got.TemporaryHold, got.EventBasedHold, got.Size})
		if _, err := o.Update(ctx, set(false)); err != nil {
			t.Fatal(err)
		}
		if err := o.Delete(ctx); err != nil {
			t.Errorf("%s: delete after the hold: %v", name, err)
		}
	}
	w := bucket.Object("uploaded").NewWriter(ctx)
	w.TemporaryHold = true
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := bucket.Object("uploaded").Delete(ctx); httpStatus(err) != http.StatusForbidden {
		t.Errorf("uploaded with a hold: delete: %v", err)
	}
}

func TestDownloadOfAPart(t *testing.T) {
	bucket, _ := storageBucket(t)
	put(t, bucket.Object("a"), "0123456789")
	r, err := bucket.Object("a").NewRangeReader(context.Background(), 3, 4)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(r); err != nil || string(content) != "3456" || r.Close() != nil {
		t.Errorf("%q, %v", content, err)
	}
}

func TestGenerations(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	o := bucket.Object("a")
	began := time.Now().Add(-time.Minute)
	created := put(t, o, "1", func(w *storage.Writer) { w.Metadata = map[string]string{"a": "1", "b": "2"} })
	if created.Generation == 0 || created.Created.Before(began) {
		t.Errorf("created: %+v", created)
	}
	patched, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"b": "3"}})
	if err != nil {
		t.Fatal(err)
	}
	same(t, "patched, of the generation", created.Generation, patched.Generation)
	same(t, "patched, created", created.Created, patched.Created)
	same(t, "a patch merges metadata", map[string]string{"a": "1", "b": "3"}, patched.Metadata)
	if patched.Updated.Before(created.Updated) || patched.Etag == created.Etag {
		t.Errorf("patched: %+v\nafter: %+v", patched, created)
	}
	cleared, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{}, ContentType: "a/b"})
	if err != nil {
		t.Fatal(err)
	}
	if len(cleared.Metadata) != 0 || cleared.ContentType != "a/b" {
		t.Errorf("cleared: %+v", cleared)
	}
	listed, err := bucket.Objects(ctx, nil).Next()
	if err != nil {
		t.Fatal(err)
	}
	overwritten := put(t, o, "2")
	if overwritten.Generation <= created.Generation || overwritten.Created.Before(created.Created) {
		t.Errorf("overwritten: %+v\nafter: %+v", overwritten, created)
	}
	same(t, "metagenerations when created, patched, cleared, listed and overwritten", []int64{1, 2, 3, 3, 1}, []int64{
		created.Metageneration, patched.Metageneration, cleared.Metageneration, listed.Metageneration, overwritten.Metageneration})
	if _, err := o.Generation(created.Generation).Attrs(ctx); !errors.Is(err, storage.ErrObjectNotExist) {
		t.Errorf("the generation before: %v", err)
	}
	if got, err := o.Generation(overwritten.Generation).Attrs(ctx); err != nil || got.Size != 1 {
		t.Errorf("the generation now: %v, %v", got, err)
	}
	if err := o.Delete(ctx); err != nil {
		t.Fatal(err)
	}
	if again := put(t, o, "3"); again.Generation <= overwritten.Generation || again.Metageneration != 1 {
		t.Errorf("created again: %+v", again)
	}
}

func TestPreconditions(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	requests := map[string]func(*storage.ObjectHandle) error{
		"delete": func(o *storage.ObjectHandle) error { return o.Delete(ctx) },
		"patch": func(o *storage.ObjectHandle) error {
			_, err := o.Update(ctx, storage.ObjectAttrsToUpdate{ContentType: "a/b"})
			return err
		},
		"get": func(o *storage.ObjectHandle) error { _, err := o.Attrs(ctx); return err },
		"download": func(o *storage.ObjectHandle) error {
			r, err := o.NewReader(ctx)
			if err == nil {
				err = r.Close()
			}
			return err
		},
		"upload": func(o *storage.ObjectHandle) error { return o.NewWriter(ctx).Close() },
		"resumable upload": func(o *storage.ObjectHandle) error {
			w := o.NewWriter(ctx)
			w.ChunkSize = googleapi.MinUploadChunkSize
			_, err := w.Write(make([]byte, 2*googleapi.MinUploadChunkSize))
			return errors.Join(err, w.Close())
		},
	}
	for name, request := range requests {
		for _, test := range []struct {
			name       string
			conditions func(*storage.ObjectAttrs) storage.Conditions
			want       int
			missing    int // for a missing object; 0: not asked
		}{
			{"generation", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation}
			}, 200, 404},
			{"other generation", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation + 1}
			}, 412, 404},
			{"both", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation, MetagenerationMatch: a.Metageneration}
			}, 200, 404},
			{"other metageneration", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation, MetagenerationMatch: a.Metageneration - 1}
			}, 412, 404},
			{"not this generation", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationNotMatch: a.Generation}
			}, 304, 0},
			{"not another generation", func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationNotMatch: a.Generation - 1}
			}, 200, 0},
		} {
			t.Run(name+"/"+test.name, func(t *testing.T) {
				if name == "download" && strings.HasPrefix(test.name, "not ") {
					t.Skip("not in the XML API, which the client downloads with")
				}
				o := bucket.Object("o")
				put(t, o, "1")
				before, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"k": "v"}})
				if err != nil {
					t.Fatal(err)
				}
				err = request(o.If(test.conditions(before)))
				if got := httpStatus(err); got != test.want {
					t.Errorf("status %d (%v), want %d", got, err, test.want)
				}
				var failure *googleapi.Error
				if test.want == http.StatusPreconditionFailed && errors.As(err, &failure) && name != "download" { // whose errors are XML
					same(t, "errors", []googleapi.ErrorItem{{Reason: "conditionNotMet",
						Message: "At least one of the pre-conditions you specified did not hold."}}, failure.Errors)
				}
				if test.want != http.StatusOK {
					if diff := cmp.Diff(before, attributes(t, o)); diff != "" {
						t.Errorf("it was changed all the same:\n%s", diff)
					}
				}
				if test.missing == 0 {
					return
				}
				want := test.missing
				if strings.Contains(name, "upload") {
					want = http.StatusPreconditionFailed // an upload needs no object, and no object has no generation
				}
				if got := httpStatus(request(bucket.Object("missing").If(test.conditions(before)))); got != want {
					t.Errorf("a missing object: status %d, want %d", got, want)
				}
			})
		}
	}
	t.Run("upload/does not exist", func(t *testing.T) {
		o := bucket.Object("once").If(storage.Conditions{DoesNotExist: true})
		if err := o.NewWriter(ctx).Close(); err != nil {
			t.Error(err)
		}
		if got := httpStatus(o.NewWriter(ctx).Close()); got != http.StatusPreconditionFailed {
			t.Errorf("second time: status %d", got)
		}
	})
}

// Of requests that are conditional on the same state, one gets through.
func TestRequestsAreAtomic(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	for round := range 20 {
		o := bucket.Object(fmt.Sprint(round))
		a := put(t, o, "1")
		same := o.If(storage.Conditions{GenerationMatch: a.Generation, MetagenerationMatch: 1})
		var through atomic.Int32
		var all sync.WaitGroup
		for i := range 6 {
			all.Go(func() {
				var err error
				switch i % 3 {
				case 0:
					err = same.Delete(ctx)
				case 1:
					_, err = same.Update(ctx, storage.ObjectAttrsToUpdate{ContentType: "a/b"})
				case 2:
					err = same.NewWriter(ctx).Close()
				}
				switch httpStatus(err) {
				case http.StatusOK:
					through.Add(1)
				case http.StatusPreconditionFailed, http.StatusNotFound:
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		if through.Load() != 1 {
			t.Fatalf("%d of the requests got through", through.Load())
		}
	}
}

func TestList(t *testing.T) {
	bucket, _ := storageBucket(t)
	if got := names(t, bucket, nil); len(got) != 0 {
		t.Errorf("a bucket never used: %q", got)
	}
	for _, name := range []string{"circles/c1/b", "circles/c1/a", "circles/c12/a", "circles/c1", "b", "a", "é", "z", "\uffff", "😀",
		"circles0"} {
		put(t, bucket.Object(name), name)
	}
	for _, test := range []struct {
		name  string
		query storage.Query
		want  []string
	}{
		// U+FFFF comes before U+1F600 in UTF-8, not in UTF-16.
		{"all", storage.Query{},
			[]string{"a", "b", "circles/c1", "circles/c1/a", "circles/c1/b", "circles/c12/a", "circles0", "z", "é", "\uffff", "😀"}},
		{"prefix", storage.Query{Prefix: "circles/c1/"}, []string{"circles/c1/a", "circles/c1/b"}},
		{"prefix of names", storage.Query{Prefix: "circles/c1"},
			[]string{"circles/c1", "circles/c1/a", "circles/c1/b", "circles/c12/a"}},
		{"prefix without names", storage.Query{Prefix: "q"}, []string{}},
		{"start", storage.Query{StartOffset: "circles0"}, []string{"circles0", "z", "é", "\uffff", "😀"}},
		{"end", storage.Query{EndOffset: "circles/c1"}, []string{"a", "b"}},
		{"start, end and prefix", storage.Query{Prefix: "circles/", StartOffset: "circles/c1/", EndOffset: "circles/c12/"},
			[]string{"circles/c1/a", "circles/c1/b"}},
		{"delimiter", storage.Query{Delimiter: "/"}, []string{"a", "b", "circles0", "z", "é", "\uffff", "😀", "circles/"}},
		{"prefix and delimiter", storage.Query{Prefix: "circles/", Delimiter: "/"},
			[]string{"circles/c1", "circles/c1/", "circles/c12/"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			same(t, "names", test.want, names(t, bucket, &test.query))
			// In pages of one, of which the client makes one list again: the prefixes come where they are in the order.
			it := bucket.Objects(context.Background(), &test.query)
			it.PageInfo().MaxSize = 1
			got := []string{}
			for _, o := range all(t, it) {
				got = append(got, o.Prefix+o.Name)
			}
			want := slices.Clone(test.want)
			slices.Sort(want)
			slices.Sort(got)
			same(t, "in pages of one", want, got)
		})
	}
}

func TestListAnswersOnlyWhatIsSelected(t *testing.T) {
	bucket, _ := storageBucket(t)
	put(t, bucket.Object("a"), "1", func(w *storage.Writer) { w.Metadata = map[string]string{"k": "v"} })
	var q storage.Query
	if err := q.SetAttrSelection([]string{"Name", "Metadata", "Generation"}); err != nil {
		t.Fatal(err)
	}
	o, err := bucket.Objects(context.Background(), &q).Next()
	if err != nil {
		t.Fatal(err)
	}
	same(t, "selected", []any{"a", map[string]string{"k": "v"}, false}, []any{o.Name, o.Metadata, o.Generation == 0})
	same(t, "not selected", []any{int64(0), int64(0), time.Time{}}, []any{o.Metageneration, o.Size, o.Created})
}

func TestFields(t *testing.T) {
	value := resource{"a": 1, "b": resource{"c": 2, "d": 3}, "e": []any{resource{"f": 4, "g": 5}}}
	for fields, want := range map[string]any{
		"a":                resource{"a": 1},
		"a, b":             resource{"a": 1, "b": resource{"c": 2, "d": 3}},
		"b(c),x":           resource{"b": resource{"c": 2}},
		"e(f),b(d)":        resource{"e": []any{resource{"f": 4}}, "b": resource{"d": 3}},
		"x(y(z),w),e(g,f)": resource{"e": []any{resource{"f": 4, "g": 5}}},
	} {
		s, rest, err := parseFields(fields)
		if err != nil || rest != "" {
			t.Errorf("%s: %q, %v", fields, rest, err)
			continue
		}
		if diff := cmp.Diff(want, s.of(value)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", fields, diff)
		}
	}
	for _, fields := range []string{"", "a,", "a(", "a(b", "a)", "(a)", "a()"} {
		if s, rest, err := parseFields(fields); err == nil && rest == "" {
			t.Errorf("%q was understood: %v", fields, s)
		}
	}
}

func TestListWhileObjectsComeAndGo(t *testing.T) {
	ctx := context.Background()
	bucket, _ := storageBucket(t)
	var want []string
	for i := range 30 {
		name := fmt.Sprintf("%02d", i)
		put(t, bucket.Object(name), name)
		want = append(want, name)
	}
	it := bucket.Objects(ctx, nil)
	it.PageInfo().MaxSize = 7
	var got []string
	for o, err := range each.Of(it) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, o.Name)
		if err := bucket.Object(o.Name).Delete(ctx); err != nil {
			t.Error(err)
		}
		put(t, bucket.Object("00-again-"+o.Name), "") // before what is to be listed yet
	}
	for _, name := range want {
		if !slices.Contains(got, name) {
			t.Errorf("%s was not listed", name)
		}
	}
}

// TestPathsOfNodesClient: the client of Node leaves /storage/v1 out where it asks an emulator.
func TestPathsOfNodesClient(t *testing.T) {
	bucket, server := storageBucket(t)
	put(t, bucket.Object("a/b.txt"), "text")
	base := httptest.NewServer(server)
	defer base.Close()
	for _, ask := range []struct {
		method, path, want string
		status             int
	}{
		{"GET", "/o/a%2Fb.txt?alt=media", "text", 200},
		{"GET", "/o/a%2Fb.txt", `"name":"a/b.txt"`, 200},
		{"GET", "/o?prefix=a/", `"name":"a/b.txt"`, 200},
		{"DELETE", "/o/a%2Fb.txt", "", 204},
		{"GET", "/o/a%2Fb.txt", "", 404},
	} {
		if status, text := call(t, ask.method, base.URL+"/b/"+bucket.BucketName()+ask.path, ""); status != ask.status || !strings.Contains(text, ask.want) {
			t.Errorf("%s %s: %d %s", ask.method, ask.path, status, text)
		}
	}
}

func TestInvalidStorageRequests(t *testing.T) {
	b := withoutFirestore(t, Options{})
	base := b.Environment()[StorageHost]
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		method, path, header, body string
		want                       int
	}{
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", "{}", 400},              // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=" + long, "", "{}", 400}, // too long
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a%0Ab", "", "{}", 400},   // a line break
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=%FF", "", "{}", 400},     // no UTF-8
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=..", "", "{}", 400},      // reserved
		{"POST", "/upload/storage/v1/b/b/o?uploadType=media&name=a", "", "x", 400},            // no such form
		{"POST", "/upload/storage/v1/b/b/o?uploadType=multipart&name=a", "", "{}", 400},       // no parts
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable", "", `{"name":7}`, 400},      // no name
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"met`, 400},    // no JSON
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a", "", `{"metadata":{"a":1}}`, 400},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "", "x", 404},
		{"PUT", "/upload/storage/v1/b/b/o?uploadType=resumable&upload_id=x", "bytes 0-9/10", "x", 400},
		{"POST", "/upload/storage/v1/b/b/o?uploadType=resumable&name=a&ifGenerationMatch=x", "", "{}", 400},
		{"GET", "/storage/v1/b/b/o?maxResults=0", "", "", 400},
		{"GET", "/storage/v1/b/b/o?pageToken=%21", "", "", 400},
		{"GET", "/storage/v1/b/b/o?fields=items(", "", "", 400},
		{"GET", "/storage/v1/b/b/o?versions=true&delimiter=/", "", "", 200},
		{"GET", "/storage/v1/b/b/o?matchGlob=*", "", "", 501},
		{"PUT", "/storage/v1/b/b/o/missing", "", "{}", 501},
		{"GET", "/storage/v1/b/b/o?startOffset=a%00", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=a%0Ab", "", "", 400},
		{"GET", "/storage/v1/b/b/o?endOffset=a%0D", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=%FF", "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long, "", "", 400},
		{"GET", "/storage/v1/b/b/o?startOffset=" + long[:1024], "", "", 200},
		{"GET", "/storage/v1/b/b/o?projection=some", "", "", 400},
		{"GET", "/storage/v1/b/b/o?projection=noAcl", "", "", 200},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{}", 404},
		{"PATCH", "/storage/v1/b/b/o/missing", "", "{", 400},
		{"GET", "/storage/v1/b", "", "", 501},
		{"GET", "/v0/b/b/o/a", "", "", 501},
		{"GET", "/storage/v1/b/b", "", "", 200},
		{"GET", "/storage/v1/b/b/o", "", "", 200},
	} {
		status, text := call(t, test.method, base+test.path, test.body, func(r *http.Request) {
			if test.header != "" {
				r.Header.Set("Content-Range", test.header)
			}
		})
		if status != test.want {
			t.Errorf("%s %.80s: %d, want %d: %s", test.method, test.path, status, test.want, text)
		}
	}
}

func TestParseContentRange(t *testing.T) {
	for _, test := range []struct {
		text        string
		chunk       int
		start, size int
		ok          bool
	}{
		{"", 5, 0, 5, true},
		{"bytes 0-4/*", 5, 0, -1, true},
		{"bytes 5-9/10", 5, 5, 10, true},
		{"bytes */10", 0, 0, 10, true},
		{"bytes */*", 0, 0, -1, true},
		{"bytes 0-*/*", 5, 0, 5, true},
		{"bytes 5-*/*", 5, 5, 10, true},
		{"bytes 5-*/*", 0, 5, 5, true},
		{"bytes 5-*/10", 5, 5, 10, true},
		{"bytes */10", 1, 0, 0, false},
		{"bytes 5-*/10", 4, 0, 0, false},
		{"bytes -5-*/*", 5, 0, 0, false},
		{"bytes x-*/*", 5, 0, 0, false},
		{"bytes 0-4/10", 4, 0, 0, false},
		{"bytes 0-4", 5, 0, 0, false},
		{"0-4/10", 5, 0, 0, false},
		{"bytes x-4/10", 5, 0, 0, false},
		{"bytes 0-4/x", 5, 0, 0, false},
		{"bytes 04/10", 5, 0, 0, false},
	} {
		start, size, ok := parseContentRange(test.text, test.chunk)
		if !ok {
			start, size = 0, 0
		}
		same(t, fmt.Sprintf("%q with %d bytes", test.text, test.chunk), []any{test.start, test.size, test.ok}, []any{start, size, ok})
	}
}

// TestPut holds that an object that is stored without a request is like an uploaded one.
func TestPut(t *testing.T) {
	bucket, server := storageBucket(t)
	metadata := map[string]string{"postId": "p1"}
	uploaded := put(t, bucket.Object("uploaded"), "", func(w *storage.Writer) {
		w.Metadata, w.ContentType = metadata, "application/octet-stream"
	})
	for name, given := range map[string]map[string]string{"stored": metadata, "plain": nil} {
		if err := server.Put(uploaded.Bucket, name, given); err != nil {
			t.Fatal(err)
		}
		got := attributes(t, bucket.Object(name))
		if got.Generation <= uploaded.Generation || got.Created.Before(uploaded.Created) {
			t.Errorf("%s: %+v, uploaded before: %+v", name, got, uploaded)
		}
		same(t, name, []any{int64(1), uploaded.ContentType, uploaded.CRC32C, int64(0)},
			[]any{got.Metageneration, got.ContentType, got.CRC32C, got.Size})
		same(t, "metadata of "+name, given, got.Metadata)
	}
	for _, name := range []string{"", "a\n", ".."} {
		if err := server.Put(uploaded.Bucket, name, nil); err == nil {
			t.Errorf("an object can be called %q", name)
		}
	}
}

func TestAgeAndClear(t *testing.T) {
	bucket, server := storageBucket(t)
	was := put(t, bucket.Object("old"), "1")
	server.Age("demo-x.firebasestorage.app", 48*time.Hour)
	young := put(t, bucket.Object("young"), "2")
	is := attributes(t, bucket.Object("old"))
	same(t, "created", was.Created.Add(-48*time.Hour), is.Created)
	same(t, "updated", was.Updated.Add(-48*time.Hour), is.Updated)
	same(t, "generation", was.Generation, is.Generation)
	same(t, "uploaded after it", young.Created, attributes(t, bucket.Object("young")).Created)
	server.Clear("another")
	same(t, "names", []string{"old", "young"}, names(t, bucket, nil))
	server.Clear(bucket.BucketName())
	same(t, "names, when cleared", []string{}, names(t, bucket, nil))
}
