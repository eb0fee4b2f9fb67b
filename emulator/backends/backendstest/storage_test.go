package backendstest_test

import (
	"crypto/md5"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
)

// storageOf returns a new project, its bucket, and whether Storage is ours. The client repeats nothing, such as what the suite
// does not implement.
func storageOf(t *testing.T) (p *backendstest.Project, bucket *storage.BucketHandle, ours bool) {
	t.Helper()
	p = backendstest.Start(t)
	return p, p.Storage(t).Bucket(p.Bucket).Retryer(storage.WithPolicy(storage.RetryNever)), p.EmbeddedStorage()
}

func upload(t *testing.T, o *storage.ObjectHandle, content string, set ...func(*storage.Writer)) *storage.ObjectAttrs {
	t.Helper()
	w := o.NewWriter(t.Context())
	w.ChunkSize = 0
	for _, f := range set {
		f(w)
	}
	_, err := io.WriteString(w, content)
	ok(t, errors.Join(err, w.Close()))
	return w.Attrs()
}

func attributes(t *testing.T, o *storage.ObjectHandle) *storage.ObjectAttrs {
	t.Helper()
	a, err := o.Attrs(t.Context())
	ok(t, err)
	return a
}

func content(t *testing.T, o *storage.ObjectHandle) string {
	t.Helper()
	r, err := o.NewReader(t.Context())
	ok(t, err)
	content, err := io.ReadAll(r)
	ok(t, errors.Join(err, r.Close()))
	return string(content)
}

// names lists a bucket in pages of some size, 0 being the largest.
func names(t *testing.T, bucket *storage.BucketHandle, q storage.Query, page int) []string {
	t.Helper()
	it := bucket.Objects(t.Context(), &q)
	it.PageInfo().MaxSize = page
	found := []string{}
	for _, o := range all(t, it) {
		found = append(found, o.Prefix+o.Name) // one of them is empty
	}
	return found
}

// httpStatus returns the HTTP status that an error stands for, 0 if for none.
func httpStatus(err error) int {
	var failure *googleapi.Error
	switch {
	case err == nil:
		return http.StatusOK
	case errors.As(err, &failure):
		return failure.Code
	case errors.Is(err, storage.ErrObjectNotExist), errors.Is(err, storage.ErrBucketNotExist):
		return http.StatusNotFound
	}
	return 0
}

// TestOddObjectNames: every name that Google takes is one object's. The suite takes an empty first folder out of it, and takes
// a/./b for a//b.
func TestOddObjectNames(t *testing.T) {
	_, bucket, ours := storageOf(t)
	odd := []string{
		"a b", "100%", "a%2Fb", "a+b", "a#b", "a?b=c&d", "a;b:c@d,e=f!", "日本語/写真.jpg", "写真", "写真/", "😀", "a/../b",
		"..a", "a\\b", `a"b'c`, "<a>", "`", "é", "e\u0301", "[0-9]*", "a\tb", strings.Repeat("長", 341),
	}
	emptyFolders := []string{"/leading", "a/./b", "a//b"}
	for _, name := range slices.Concat(odd, emptyFolders) {
		upload(t, bucket.Object(name), name)
	}
	want := append(as(ours, emptyFolders, []string{"leading", "a//b"}), odd...)
	slices.Sort(want)
	same(t, "names", want, slices.Sorted(slices.Values(names(t, bucket, storage.Query{}, 0))))
	for i, name := range want {
		o := bucket.Object(name)
		same(t, "name", name, attributes(t, o).Name)
		if name != "leading" {
			same(t, "content of "+name, name, content(t, o))
		}
		_, err := o.Update(t.Context(), storage.ObjectAttrsToUpdate{Metadata: map[string]string{"k": name}})
		same(t, "patch of "+name, as(ours, http.StatusOK, http.StatusNotImplemented), httpStatus(err))
		if ours {
			same(t, "metadata of "+name, name, attributes(t, o).Metadata["k"])
		}
		same(t, "deletion of "+name, http.StatusOK, httpStatus(o.Delete(t.Context())))
		left := names(t, bucket, storage.Query{}, 0)
		slices.Sort(left)
		same(t, "names without "+name, want[i+1:], left)
	}
}

// TestUploads: content comes in one request or, for which the suite speaks a protocol of Firebase's SDKs only, in chunks.
func TestUploads(t *testing.T) {
	_, bucket, ours := storageOf(t)
	large := strings.Repeat("0123456789abcdef", 40<<10) // 640 KiB: three chunks
	for _, test := range []struct {
		name, content string
		chunk         int
	}{
		{"one request", "x", 0},
		{"empty", "", 0},
		{"large in one request", large, 0},
		{"chunks", large, googleapi.MinUploadChunkSize},
		{"whole chunks", large[:2*googleapi.MinUploadChunkSize], googleapi.MinUploadChunkSize},
	} {
		t.Run(test.name, func(t *testing.T) {
			set := func(w *storage.Writer) {
				w.ChunkSize, w.ContentType, w.CacheControl = test.chunk, "text/x-test", "no-store"
				w.Metadata = map[string]string{"postId": "PENDING", "日本": "語"}
			}
			o := bucket.Object(test.name)
			if test.chunk > 0 && !ours {
				w := o.NewWriter(t.Context())
				set(w)
				_, err := io.WriteString(w, test.content)
				check.Fails(t, errors.Join(err, w.Close()))
				return
			}
			uploaded := upload(t, o, test.content, set)
			got := attributes(t, o)
			same(t, "what uploading and getting answer", uploaded, got)
			same(t, "attributes", []any{int64(len(test.content)), "text/x-test", "no-store", bucket.BucketName()},
				[]any{got.Size, got.ContentType, got.CacheControl, got.Bucket})
			same(t, "metadata", map[string]string{"postId": "PENDING", "日本": "語"}, got.Metadata)
			same(t, "the content is the same", true, content(t, o) == test.content)
			sum := md5.Sum([]byte(test.content))
			same(t, "MD5", sum[:], got.MD5)
			same(t, "CRC32C", crc32.Checksum([]byte(test.content), crc32.MakeTable(crc32.Castagnoli)), got.CRC32C)
		})
	}
}

// TestGenerations: each upload makes a generation, each patch a metageneration. The suite patches nothing, and answers with what
// is there whatever generation is asked for.
func TestGenerations(t *testing.T) {
	ctx := t.Context()
	_, bucket, ours := storageOf(t)
	o := bucket.Object("a")
	began := time.Now().Add(-time.Minute)
	created := upload(t, o, "1", func(w *storage.Writer) { w.Metadata = map[string]string{"a": "1", "b": "2"} })
	if created.Generation == 0 || created.Created.Before(began) || created.Metageneration != 1 {
		t.Errorf("created: %+v", created)
	}
	patched, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{"b": "3"}})
	same(t, "patch", as(ours, http.StatusOK, http.StatusNotImplemented), httpStatus(err))
	if ours {
		same(t, "patched", []any{created.Generation, int64(2), created.Created, map[string]string{"a": "1", "b": "3"}},
			[]any{patched.Generation, patched.Metageneration, patched.Created, patched.Metadata})
		if patched.Updated.Before(created.Updated) || patched.Etag == created.Etag {
			t.Errorf("patched: %+v\nafter: %+v", patched, created)
		}
		_, err := o.Update(ctx, storage.ObjectAttrsToUpdate{Metadata: map[string]string{}, ContentType: "a/b"})
		if cleared := attributes(t, o); err != nil || len(cleared.Metadata) != 0 || cleared.ContentType != "a/b" ||
			cleared.Metageneration != 3 {
			t.Errorf("cleared: %+v, %v", cleared, err)
		}
	}
	newer := func(a, b int64) bool { return a > b || !ours && a == b } // the suite's generations are milliseconds
	overwritten := upload(t, o, "2")
	if !newer(overwritten.Generation, created.Generation) || overwritten.Created.Before(created.Created) ||
		overwritten.Metageneration != 1 {
		t.Errorf("overwritten: %+v\nafter: %+v", overwritten, created)
	}
	_, err = o.Generation(created.Generation).Attrs(ctx)
	same(t, "the generation before", as(ours, http.StatusNotFound, http.StatusOK), httpStatus(err))
	same(t, "the generation now", overwritten, attributes(t, o.Generation(overwritten.Generation)))
	ok(t, o.Delete(ctx))
	if again := upload(t, o, "3"); !newer(again.Generation, overwritten.Generation) || again.Metageneration != 1 {
		t.Errorf("created again: %+v", again)
	}
}

// TestPreconditions: what a request expects of an object decides whether it is done. The suite does it whatever is expected.
func TestPreconditions(t *testing.T) {
	ctx := t.Context()
	_, bucket, ours := storageOf(t)
	for name, request := range map[string]struct {
		send         func(*storage.ObjectHandle) error
		needs        bool // an object
		suite, other int  // the suite's status if there is one, and if there is none
	}{
		"delete": {func(o *storage.ObjectHandle) error { return o.Delete(ctx) }, true, 200, 404},
		"patch": {func(o *storage.ObjectHandle) error {
			_, err := o.Update(ctx, storage.ObjectAttrsToUpdate{ContentType: "a/b"})
			return err
		}, true, 501, 501},
		"get": {func(o *storage.ObjectHandle) error { _, err := o.Attrs(ctx); return err }, true, 200, 404},
		"download": {func(o *storage.ObjectHandle) error {
			r, err := o.NewReader(ctx)
			if err == nil {
				err = r.Close()
			}
			return err
		}, true, 200, 404},
		"upload": {func(o *storage.ObjectHandle) error {
			w := o.NewWriter(ctx)
			w.ChunkSize = 0
			return w.Close()
		}, false, 200, 200},
		"upload in chunks": {func(o *storage.ObjectHandle) error {
			w := o.NewWriter(ctx)
			w.ChunkSize = googleapi.MinUploadChunkSize
			_, err := w.Write(make([]byte, 2*googleapi.MinUploadChunkSize))
			return errors.Join(err, w.Close())
		}, false, 0, 0},
	} {
		for condition, test := range map[string]struct {
			of        func(*storage.ObjectAttrs) storage.Conditions
			there     int // if there is an object
			uploading int // if there is none, and it needs none
		}{
			"generation": {func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation}
			}, 200, 412},
			"other generation": {func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation + 1}
			}, 412, 412},
			"both": {func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation, MetagenerationMatch: a.Metageneration}
			}, 200, 412},
			"other metageneration": {func(a *storage.ObjectAttrs) storage.Conditions {
				return storage.Conditions{GenerationMatch: a.Generation, MetagenerationMatch: a.Metageneration + 1}
			}, 412, 412},
			"none": {func(*storage.ObjectAttrs) storage.Conditions { return storage.Conditions{DoesNotExist: true} }, 412, 200},
		} {
			o, missing := bucket.Object(name+condition), bucket.Object("no "+name+condition)
			before := upload(t, o, "1")
			got := httpStatus(request.send(o.If(test.of(before))))
			same(t, name+" if "+condition, as(ours, test.there, request.suite), got)
			if got != http.StatusOK {
				same(t, name+" if "+condition+" has changed it", before, attributes(t, o))
			}
			want := test.uploading
			if request.needs {
				want = http.StatusNotFound
			}
			got = httpStatus(request.send(missing.If(test.of(before))))
			same(t, name+" a missing object if "+condition, as(ours, want, request.other), got)
		}
	}
}

// TestList: names come in the order of their bytes. The suite's order is UTF-16's, and it ignores offsets.
func TestList(t *testing.T) {
	_, bucket, ours := storageOf(t)
	same(t, "a bucket never used", []string{}, names(t, bucket, storage.Query{}, 0))
	everything := []string{"a", "b", "circles/c1", "circles/c1/a", "circles/c1/b", "circles/c12/a", "circles0", "z", "é"}
	later := as(ours, []string{"\uffff", "😀"}, []string{"😀", "\uffff"})
	for _, name := range slices.Concat(later, everything) {
		upload(t, bucket.Object(name), name)
	}
	everything = append(everything, later...)
	for _, test := range []struct {
		name  string
		query storage.Query
		want  []string
		suite []string // nil: the same
	}{
		{"all", storage.Query{}, everything, nil},
		{"prefix", storage.Query{Prefix: "circles/c1/"}, []string{"circles/c1/a", "circles/c1/b"}, nil},
		{"prefix of names", storage.Query{Prefix: "circles/c1"}, everything[2:6], nil},
		{"prefix without names", storage.Query{Prefix: "q"}, []string{}, nil},
		{"start", storage.Query{StartOffset: "circles0"}, everything[6:], everything},
		{"end", storage.Query{EndOffset: "circles/c1"}, everything[:2], everything},
		{"start, end and prefix", storage.Query{Prefix: "circles/", StartOffset: "circles/c1/", EndOffset: "circles/c12/"},
			everything[3:5], everything[2:6]},
		{"delimiter", storage.Query{Delimiter: "/"}, append(slices.Concat(everything[:2], everything[6:]), "circles/"), nil},
		{"prefix and delimiter", storage.Query{Prefix: "circles/", Delimiter: "/"},
			[]string{"circles/c1", "circles/c1/", "circles/c12/"}, nil},
	} {
		want := test.want
		if !ours && test.suite != nil {
			want = test.suite
		}
		same(t, test.name, want, names(t, bucket, test.query, 0))
		// In pages of one, of which the client makes one list again, the prefixes come where they are in the order.
		got := names(t, bucket, test.query, 1)
		slices.Sort(got)
		if !ours {
			got = slices.Compact(got) // it has a prefix on each page
		}
		want = slices.Clone(want)
		slices.Sort(want)
		same(t, test.name+", in pages of one", want, got)
	}
}

// kept lists what a bucket keeps besides live objects, in pages of two: name, size and, of versions, whether it is live.
func kept(t *testing.T, bucket *storage.BucketHandle, q storage.Query) (generations []int64, found []string) {
	t.Helper()
	it := bucket.Objects(t.Context(), &q)
	it.PageInfo().MaxSize = 2
	for _, o := range all(t, it) {
		if q.SoftDeleted && (o.SoftDeleteTime.IsZero() || !o.HardDeleteTime.Equal(o.SoftDeleteTime.Add(7*24*time.Hour))) {
			t.Errorf("%s: deleted %s, lost %s", o.Name, o.SoftDeleteTime, o.HardDeleteTime)
		}
		one := fmt.Sprintf("%s:%d", o.Name, o.Size)
		if q.Versions && o.Deleted.IsZero() {
			one += " live"
		}
		generations, found = append(generations, o.Generation), append(found, one)
	}
	return generations, found
}

// TestSoftDelete: what is deleted or overwritten can be restored, as a new generation. The suite has lost it.
func TestSoftDelete(t *testing.T) {
	ctx := t.Context()
	_, bucket, ours := storageOf(t)
	a, odd := bucket.Object("f/a"), bucket.Object("f/ü#1/restore")
	first := upload(t, a, "1").Generation
	upload(t, a, "22", func(w *storage.Writer) { w.Metadata = map[string]string{"postId": "p"} })
	upload(t, odd, "333")
	upload(t, bucket.Object("g"), "4444")
	for _, o := range []*storage.ObjectHandle{a, odd, bucket.Object("g")} {
		ok(t, o.Delete(ctx))
	}
	same(t, "live", []string{}, names(t, bucket, storage.Query{}, 0))
	generations, found := kept(t, bucket, storage.Query{SoftDeleted: true, Prefix: "f/"})
	same(t, "soft-deleted", as(ours, []string{"f/a:1", "f/a:2", "f/ü#1/restore:3"}, nil), found)
	restore := func(o *storage.ObjectHandle, generation int64) (*storage.ObjectAttrs, int) {
		t.Helper()
		attrs, err := o.Generation(generation).Restore(ctx, &storage.RestoreOptions{})
		return attrs, httpStatus(err)
	}
	if !ours {
		_, status := restore(a, first)
		same(t, "restore", http.StatusNotImplemented, status)
		return
	}
	same(t, "the generation that was overwritten", first, generations[0])
	last := generations[1]
	same(t, "metadata", "p", attributes(t, a.Generation(last).SoftDeleted()).Metadata["postId"])
	_, err := a.Generation(last).Attrs(ctx)
	same(t, "a soft-deleted generation as a live one", http.StatusNotFound, httpStatus(err))
	before := time.Now()
	none := a.If(storage.Conditions{DoesNotExist: true})
	restored, status := restore(none, last)
	same(t, "restore", http.StatusOK, status)
	if restored.Generation <= last || restored.Created.Before(before.Add(-time.Millisecond)) {
		t.Errorf("restored %+v, which is not new", restored)
	}
	same(t, "restored", []any{int64(1), "p", time.Time{}, "22"},
		[]any{restored.Metageneration, restored.Metadata["postId"], restored.SoftDeleteTime, content(t, a)})
	_, status = restore(odd, generations[2])
	same(t, "an odd name", []any{http.StatusOK, "333"}, []any{status, content(t, odd)})
	// Once more, with an object that is live: not over it, unless nothing is said about it.
	_, status = restore(none, first)
	same(t, "over a live object", http.StatusPreconditionFailed, status)
	_, status = restore(a, first)
	same(t, "over any object", []any{http.StatusOK, "1"}, []any{status, content(t, a)})
	_, found = kept(t, bucket, storage.Query{SoftDeleted: true, Prefix: "f/a"})
	same(t, "what was restored stays, and what was overwritten has come", []string{"f/a:1", "f/a:2", "f/a:2"}, found)
	_, status = restore(a, 7)
	same(t, "a generation that never was", http.StatusNotFound, status)
}

// TestVersioning: what is deleted or overwritten is noncurrent, and can be copied. The suite has live objects only, and copies
// none.
func TestVersioning(t *testing.T) {
	ctx := t.Context()
	p, bucket, ours := storageOf(t)
	if ours {
		p.SetVersioning(t)
	}
	versions := func(prefix string) []string {
		_, found := kept(t, bucket, storage.Query{Versions: true, Prefix: prefix})
		return found
	}
	a, other := bucket.Object("f/a"), bucket.Object("f/ü#1/rewriteTo")
	first := upload(t, a, "1").Generation
	upload(t, a, "22") // overwrites
	live := upload(t, other, "333").Generation
	upload(t, bucket.Object("g"), "4444")
	ok(t, a.Delete(ctx))
	there := []string{"f/a:1", "f/a:2", "f/ü#1/rewriteTo:3 live"}
	same(t, "versions", as(ours, there, there[2:]), versions("f/"))
	copied := func(to, from *storage.ObjectHandle) int {
		_, err := to.CopierFrom(from).Run(ctx)
		return httpStatus(err)
	}
	if !ours {
		same(t, "copy", http.StatusNotImplemented, copied(a, other))
		return
	}
	attrs, err := bucket.Attrs(ctx)
	ok(t, err)
	same(t, "versioning", true, attrs.VersioningEnabled)
	_, found := kept(t, bucket, storage.Query{SoftDeleted: true})
	same(t, "soft-deleted", []string(nil), found)
	same(t, "a noncurrent generation is told", false, attributes(t, a.Generation(first)).Deleted.IsZero())
	onto := a.If(storage.Conditions{DoesNotExist: true})
	same(t, "copy a noncurrent generation onto its name", []any{200, "1"}, []any{copied(onto, a.Generation(first)), content(t, a)})
	same(t, "onto a live object", http.StatusPreconditionFailed, copied(onto, a.Generation(first)))
	same(t, "of a generation that never was", http.StatusNotFound, copied(other, a.Generation(7)))
	same(t, "delete a noncurrent generation", http.StatusOK, httpStatus(a.Generation(first).Delete(ctx)))
	same(t, "versions", []string{"f/a:2", "f/a:1 live"}, versions("f/a"))
	generations, _ := kept(t, bucket, storage.Query{SoftDeleted: true, Prefix: "f/a"})
	same(t, "soft-deleted", []int64{first}, generations)
	same(t, "delete the live generation by its number", http.StatusOK, httpStatus(other.Generation(live).Delete(ctx)))
	_, found = kept(t, bucket, storage.Query{SoftDeleted: true, Prefix: "f/ü"})
	same(t, "it is soft-deleted in spite of versioning", []string{"f/ü#1/rewriteTo:3"}, found)
	same(t, "its versions", []string(nil), versions("f/ü"))
}
