package standin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/cloudtasks/apiv2/cloudtaskspb"
	gofirestore "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

var written = time.Date(2025, 6, 1, 0, 0, 0, 0, time.UTC)

// world has 100 things that are made: n ascends, from numbers to texts, group alternates, half have a tag.
func world() World {
	return World{
		Written: written,
		Collections: []Collection{{
			Path: "things", Len: 100, ID: func(i int) string { return fmt.Sprintf("t%03d", i) }, Names: []string{"n", "group", "tag"}, Ascending: []string{"n"},
			Field: func(i int, name string) *pb.Value {
				switch {
				case name == "n" && i >= 98:
					return Text("behind all numbers")
				case name == "n":
					return Int(int64(i / 2))
				case name == "group":
					return Text([]string{"a", "b", "c"}[i%3])
				case name == "tag" && i%2 == 0:
					return Null()
				}
				return nil
			},
		}},
		Objects: Objects{
			Len: 2500, Name: func(i int) string { return fmt.Sprintf("f/%04d", i) },
			Metadata: func(i int, add func(name, value string)) { add("n", fmt.Sprint(i)) },
		},
	}
}

// clientOf returns a client of the stand-in.
func clientOf(t *testing.T, w World) *gofirestore.Client {
	t.Helper()
	c, _ := over(t, w, Link{})
	return c
}

// over returns a client of the stand-in behind a link.
func over(t *testing.T, w World, link Link) (*gofirestore.Client, *Google) {
	t.Helper()
	g, err := Start("p", "bucket", w, link)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := grpc.NewClient("passthrough:///firestore.googleapis.com:443", g.Dial()...) // given, because the client would look for an emulator first
	if err != nil {
		t.Fatal(err)
	}
	c, err := gofirestore.NewClient(t.Context(), "p", option.WithGRPCConn(conn))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
	})
	return c, g
}

// TestAnswersAsTheEmulator asks the stand-in and Google's emulator the same, on the same documents, some of which were
// written since.
func TestAnswersAsTheEmulator(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	w := world()
	for i := range w.Collections[0].Len {
		fields := map[string]any{"n": i / 2, "group": []string{"a", "b", "c"}[i%3]}
		if i%2 == 0 {
			fields["tag"] = nil
		}
		if i >= 98 {
			fields["n"] = "behind all numbers"
		}
		p.Set(t, fmt.Sprintf("things/t%03d", i), fields)
	}
	clients := []*gofirestore.Client{clientOf(t, w), p.Firestore(t)}
	for _, c := range clients {
		things := c.Collection("things")
		for path, fields := range map[string]map[string]any{
			"t000": {"n": 70, "group": "a"}, "t0105": {"n": 10, "group": "b", "tag": "x"}, "u": {"group": "c"}, "t050": {"n": "text", "group": "a", "tag": []any{"y", 1}},
		} {
			if _, err := things.Doc(path).Set(t.Context(), fields); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := things.Doc("t020").Delete(t.Context()); err != nil {
			t.Fatal(err)
		}
		if _, err := things.Doc("t022").Update(t.Context(), []gofirestore.Update{{Path: "deep.er", Value: 1}, {Path: "tag", Value: gofirestore.Delete}}); err != nil {
			t.Fatal(err)
		}
		if _, err := things.Doc("t010").Create(t.Context(), map[string]any{}); status.Code(err) != codes.AlreadyExists {
			t.Errorf("create again: %v", err)
		}
		if _, err := things.Doc("none").Update(t.Context(), []gofirestore.Update{{Path: "x", Value: 1}}); status.Code(err) != codes.NotFound {
			t.Errorf("update nothing: %v", err)
		}
	}
	queries := map[string]func(*gofirestore.CollectionRef) gofirestore.Query{
		"all":       func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Query },
		"in order":  func(c *gofirestore.CollectionRef) gofirestore.Query { return c.OrderBy("n", gofirestore.Asc) },
		"backwards": func(c *gofirestore.CollectionRef) gofirestore.Query { return c.OrderBy("n", gofirestore.Desc).Limit(7) },
		"a range":   func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("n", ">", 3).Where("n", "<=", 11) },
		"in": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.Where("group", "in", []string{"a", "c"}).Where("n", "<", 9).OrderBy("n", gofirestore.Asc)
		},
		"null":     func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("tag", "==", nil) },
		"not null": func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("tag", "!=", nil) },
		"numbered": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.Where("n", "!=", nil).OrderBy("n", gofirestore.Asc)
		},
		"below":    func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("n", ">=", 9).Where("n", "<", 40) },
		"above":    func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("n", ">=", 40) },
		"equal":    func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("n", "in", []int{10, 11, 70}) },
		"contains": func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("tag", "array-contains", "y") },
		"after": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.OrderBy("n", gofirestore.Asc).OrderBy(gofirestore.DocumentID, gofirestore.Asc).StartAfter(10, "t0105").Limit(5)
		},
		"from, until": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.OrderBy("n", gofirestore.Asc).StartAt(5).EndBefore(8)
		},
		"names": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.Where(gofirestore.DocumentID, "in", []*gofirestore.DocumentRef{c.Doc("t020"), c.Doc("u"), c.Doc("t003"), c.Doc("t0105")})
		},
		"gaps": func(c *gofirestore.CollectionRef) gofirestore.Query {
			gap := func(from, to int) gofirestore.EntityFilter {
				return gofirestore.AndFilter{Filters: []gofirestore.EntityFilter{
					gofirestore.PropertyFilter{Path: "n", Operator: ">", Value: from}, gofirestore.PropertyFilter{Path: "n", Operator: "<", Value: to},
				}}
			}
			return c.WhereEntity(gofirestore.OrFilter{Filters: []gofirestore.EntityFilter{gap(3, 6), gap(5, 9), gap(40, 80)}}).OrderBy("n", gofirestore.Asc)
		},
	}
	for name, query := range queries {
		var answers [][]string
		var counts []string
		for _, c := range clients {
			q := query(c.Collection("things"))
			found, err := q.Documents(t.Context()).GetAll()
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			var got []string
			for _, d := range found {
				got = append(got, fmt.Sprint(d.Ref.ID, d.Data()))
			}
			answers = append(answers, got)
			n, err := q.NewAggregationQuery().WithCount("n").Get(t.Context())
			counts = append(counts, fmt.Sprint(n["n"].(*pb.Value).GetIntegerValue(), err))
		}
		if diff := cmp.Diff(answers[1], answers[0]); diff != "" || len(answers[0]) == 0 || counts[0] != counts[1] {
			t.Errorf("%s: counted %v; (-emulator +stand-in):\n%s", name, counts, diff)
		}
	}
}

// TestTransactions refuses a commit if what the transaction read was written since.
func TestTransactions(t *testing.T) {
	t.Parallel()
	c := clientOf(t, world())
	ref := c.Collection("things").Doc("t001")
	tries := 0
	err := c.RunTransaction(t.Context(), func(ctx context.Context, tx *gofirestore.Transaction) error {
		tries++
		if _, err := tx.Get(ref); err != nil {
			return err
		}
		if tries == 1 {
			if _, err := ref.Set(ctx, map[string]any{"n": 1}); err != nil {
				return err
			}
		}
		return tx.Delete(ref)
	})
	if _, gone := ref.Get(t.Context()); err != nil || tries != 2 || status.Code(gone) != codes.NotFound {
		t.Errorf("%d tries, %v; then %v", tries, err, gone)
	}
}

func TestWhatFirestoreRefuses(t *testing.T) {
	t.Parallel()
	w := world()
	w.Collections[0].Len = 20_000
	things := clientOf(t, w).Collection("things")
	var many []gofirestore.EntityFilter
	for i := range 26 {
		many = append(many, gofirestore.AndFilter{Filters: []gofirestore.EntityFilter{
			gofirestore.PropertyFilter{Path: "n", Operator: ">", Value: i}, gofirestore.PropertyFilter{Path: "n", Operator: "<", Value: i + 1},
			gofirestore.PropertyFilter{Path: "group", Operator: "==", Value: "a"},
		}})
	}
	for name, tt := range map[string]struct {
		query gofirestore.Query
		want  codes.Code
	}{
		"31 values":         {things.Where("n", "in", make([]int, 31)), codes.InvalidArgument},
		"60 disjunctions":   {things.Where("n", "in", make([]int, 30)).Where("group", "in", []string{"a", "b"}), codes.InvalidArgument},
		"100 filters":       {things.WhereEntity(gofirestore.OrFilter{Filters: many}).OrderBy("n", gofirestore.Asc), codes.InvalidArgument},
		"a long value":      {things.Where("group", "==", strings.Repeat("x", 1500)), codes.InvalidArgument},
		"an order not made": {things.OrderBy("group", gofirestore.Asc), codes.Unimplemented},
	} {
		if tt.want == codes.OK {
			continue
		}
		if _, err := tt.query.Documents(t.Context()).GetAll(); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

func TestStorage(t *testing.T) {
	t.Parallel()
	p := &path{link: Link{}}
	b := &bucket{name: "b", objects: world().Objects, created: jsonTime(written), carry: p.carry}
	for _, tt := range []struct {
		method, url string
		status      int
		want        []string // in the answer
		items       int
	}{
		{"GET", "?prefix=f/", 200, []string{`"nextPageToken":"1000"`, `"name":"f/0000"`}, 1000},
		{"GET", "?prefix=f/&maxResults=5000&pageToken=2000", 200, []string{`"name":"f/2000"`}, 500},
		{"GET", "?prefix=f/&startOffset=f/0007&endOffset=f/0009&fields=items(name,generation)", 200, []string{`{"name":"f/0007","generation":"1700000000000007"}`, `f/0008`}, 2},
		{"GET", "?prefix=g/", 200, []string{`{"kind":"storage#objects"}`}, 0},
		{"GET", "?startOffset=%FF", 400, nil, 0},
		{"GET", "?startOffset=" + strings.Repeat("x", 1025), 400, nil, 0},
		{"GET", "?something=1", 400, nil, 0},
		{"GET", "?delimiter=/", 501, nil, 0},
		{"GET", "/f%2F0003", 200, []string{`"metadata":{"n":"3"}`}, 0},
		{"GET", "/f%2Fnone", 404, nil, 0},
		{"DELETE", "/f%2F0003?ifGenerationMatch=1", 412, nil, 0},
		{"DELETE", "/f%2F0003?ifGenerationMatch=1700000000000003&ifMetagenerationMatch=2", 412, nil, 0},
		{"DELETE", "/f%2F0003?ifGenerationMatch=1700000000000003&ifMetagenerationMatch=1", 204, nil, 0},
		{"DELETE", "/f%2F0003?ifGenerationMatch=1700000000000003", 404, nil, 0},
		{"GET", "?prefix=f/000", 200, nil, 9},
		{"POST", "", 404, nil, 0},
	} {
		w := httptest.NewRecorder()
		b.ServeHTTP(w, httptest.NewRequest(tt.method, "/storage/v1/b/b/o"+tt.url, http.NoBody))
		missing := slices.DeleteFunc(tt.want, func(part string) bool { return strings.Contains(w.Body.String(), part) })
		if items := strings.Count(w.Body.String(), `"name":"f/`); w.Code != tt.status || len(missing) > 0 || tt.items > 0 && items != tt.items {
			t.Errorf("%s %s: %d and %d objects, want %d and %d, with %v:\n%.300s", tt.method, tt.url, w.Code, items, tt.status, tt.items, missing, w.Body)
		}
	}
}

// TestLink waits as long, and fails as it does, in every run with the same seed.
func TestLink(t *testing.T) {
	t.Parallel()
	outcomes := func(seed uint64) (all []outcome) {
		p := &path{link: Link{Errors: 0.2, Quota: 0.2, Seed: seed}}
		for range 200 {
			all = append(all, p.carry(firestore, func() {}))
		}
		if p.traffic.Chain != 200 || p.traffic.Requests != 200 {
			t.Errorf("one after the other: %+v", p.traffic)
		}
		return all
	}
	if first := outcomes(1); !slices.Equal(first, outcomes(1)) || slices.Equal(first, outcomes(2)) || !slices.Contains(first, unavailable) || !slices.Contains(first, exhausted) {
		t.Errorf("what became of requests: %v", first)
	}
}

// TestBelow has a collection below each document of another, which is made when somebody asks for it.
func TestBelow(t *testing.T) {
	t.Parallel()
	w := world()
	w.Below = func(path string) Collection {
		if !strings.HasPrefix(path, "things/t") || !strings.HasSuffix(path, "/parts") {
			return Collection{}
		}
		return Collection{Len: 3, ID: func(i int) string { return fmt.Sprint("p", i) }, Field: func(int, string) *pb.Value { return nil }}
	}
	c := clientOf(t, w)
	parts := c.Collection("things").Doc("t001").Collection("parts")
	if _, err := parts.Doc("p1").Delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	for of, want := range map[*gofirestore.CollectionRef]int{parts: 2, c.Collection("things").Doc("t002").Collection("parts"): 3, c.Collection("others"): 0} {
		if found, err := of.Documents(t.Context()).GetAll(); err != nil || len(found) != want {
			t.Errorf("%s holds %d documents and %v, want %d", of.Path, len(found), err, want)
		}
	}
}

// TestAuthentication deletes accounts within Google's limits: one call for many a second, ten for one.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	p := &path{link: Link{}}
	a := newAuthentication("p", World{Accounts: Accounts{Len: 50, UID: func(i int) string { return fmt.Sprintf("u%02d", i) }}, Written: written}, p.carry)
	call := func(method, body string) (int, string) {
		w := httptest.NewRecorder()
		a.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/projects/p/accounts:"+method, strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	for _, tt := range []struct {
		method, body string
		status       int
		want         string
	}{
		{"lookup", `{"localId":["u03","none","u04"]}`, 200, `"localId":"u04"`},
		{"lookup", `{"localId":"u03"}`, 400, "INVALID_ARGUMENT"},
		{"batchDelete", `{"localIds":["u03","none"]}`, 400, "INVALID_ARGUMENT"},
		{"batchDelete", `{"localIds":["u03","none"],"force":true}`, 200, `{}`},
		{"lookup", `{"localId":["u03"]}`, 200, `{"kind":"identitytoolkit#GetAccountInfoResponse"}`},
		{"batchDelete", `{"localIds":["u05"],"force":true}`, 200, `{}`},
		{"batchDelete", `{"localIds":["u06"],"force":true}`, 429, "QUOTA_EXCEEDED"},
		{"delete", `{"localId":"u06"}`, 200, `{`},
		{"delete", `{"localId":"u06"}`, 400, "USER_NOT_FOUND"},
		{"update", `{}`, 404, `"error"`},
	} {
		if status, text := call(tt.method, tt.body); status != tt.status || !strings.Contains(text, tt.want) {
			t.Errorf("%s %s: %d %s, want %d and %s", tt.method, tt.body, status, text, tt.status, tt.want)
		}
	}
	refused := 0
	for i := 10; i < 40; i++ {
		if status, _ := call("delete", fmt.Sprintf(`{"localId":"u%d"}`, i)); status == http.StatusTooManyRequests {
			refused++
		}
	}
	if refused == 0 || p.traffic.Requests != 40 {
		t.Errorf("%d of 30 deletions at once were refused, of %d calls", refused, p.traffic.Requests)
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	q := &queues{taken: map[string]bool{}}
	for _, tt := range []struct {
		name, url string
		want      codes.Code
	}{
		{"q/tasks/a", "https://x", codes.OK}, {"q/tasks/a", "https://x", codes.AlreadyExists}, {"q/tasks/b", "", codes.InvalidArgument}, {"r/tasks/b", "https://x", codes.InvalidArgument},
	} {
		task := &cloudtaskspb.Task{Name: tt.name, MessageType: &cloudtaskspb.Task_HttpRequest{HttpRequest: &cloudtaskspb.HttpRequest{Url: tt.url}}}
		if _, err := q.CreateTask(t.Context(), &cloudtaskspb.CreateTaskRequest{Parent: "q", Task: task}); status.Code(err) != tt.want {
			t.Errorf("%s to %q: %v, want %s", tt.name, tt.url, err, tt.want)
		}
	}
}

// TestFront loses every request, and so passes none on to what is behind it.
func TestFront(t *testing.T) {
	t.Parallel()
	behind := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = fmt.Fprint(w, r.URL.Path) }))
	defer behind.Close()
	for lost, want := range map[float64]string{0: "200 /x/o", 1: "503 "} {
		f := NewFront(Link{Errors: lost})
		address, err := f.HTTP(strings.TrimPrefix(behind.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		answer, err := http.Get("http://" + address + "/x/o")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		if got := fmt.Sprint(answer.StatusCode, " ", string(body)); err != nil || !strings.HasPrefix(got, want) || f.Traffic().Requests != 1 || f.Traffic().Listings != 1 {
			t.Errorf("losing %v: %s and %v, want %s; %+v", lost, got, err, want, f.Traffic())
		}
		if err := errors.Join(answer.Body.Close(), f.Close()); err != nil {
			t.Error(err)
		}
	}
}

// TestLookupsWaitForTheirTurn: what is counted by names faster than the service bears waits, and nothing else does.
func TestLookupsWaitForTheirTurn(t *testing.T) {
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &path{link: Link{Lookups: 10}}
	for i, tt := range []struct{ after, want time.Duration }{
		{0, 100 * time.Millisecond}, {0, 200 * time.Millisecond}, {150 * time.Millisecond, 150 * time.Millisecond}, {10 * time.Second, 100 * time.Millisecond},
		{5*time.Minute - 1, 100 * time.Millisecond}, {5*time.Minute + time.Second, time.Second / 15}, {10 * time.Minute, 2 * time.Second / 45},
	} {
		if got := p.turn(at.Add(tt.after)); got.Round(time.Microsecond) != tt.want.Round(time.Microsecond) {
			t.Errorf("lookup %d waits %s, want %s", i+1, got, tt.want)
		}
	}
	if p.traffic.Turn != 200*time.Millisecond {
		t.Errorf("the longest is %s", p.traffic.Turn)
	}
	if got := (&path{}).turn(at); got != 0 {
		t.Errorf("without a bound it waits %s", got)
	}

	db, g := over(t, world(), Link{Lookups: 1000})
	count := func(q gofirestore.Query) {
		t.Helper()
		if _, err := q.NewAggregationQuery().WithCount("n").Get(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	things := db.Collection("things")
	if count(things.Where("group", "==", "a")); g.Traffic().Turn != 0 {
		t.Errorf("another count waits %s", g.Traffic().Turn)
	}
	ids := []*gofirestore.DocumentRef{things.Doc("t001"), things.Doc("t002")}
	if count(things.Where(gofirestore.DocumentID, "in", ids)); g.Traffic().Turn == 0 {
		t.Error("a lookup does not wait")
	}
}
