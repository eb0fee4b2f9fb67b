package standin

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	gofirestore "cloud.google.com/go/firestore"
	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

// world has 100 things: n ascends, from numbers to texts, group alternates, half have a tag; and 2,500 objects.
func world() *World {
	w := &World{Objects: backends.Computed{
		Len: 2500, Name: func(i int) string { return fmt.Sprintf("f/%04d", i) },
		Metadata: func(i int, add func(name, value string)) { add("n", fmt.Sprint(i)) },
	}}
	w.Put("things", 100, func(i int) string { return fmt.Sprintf("t%03d", i) }, func(i int) Fields { return Make(thing(i)) })
	return w
}

func thing(i int) map[string]any {
	fields := map[string]any{"n": i / 2, "group": []string{"a", "b", "c"}[i%3]}
	if i%2 == 0 {
		fields["tag"] = nil
	}
	if i >= 98 {
		fields["n"] = "behind all numbers"
	}
	return fields
}

// clientOf returns a client of the stand-in.
func clientOf(t *testing.T, w *World) *gofirestore.Client {
	t.Helper()
	c, _ := over(t, w, Link{})
	return c
}

// over returns a client of the stand-in behind a link.
func over(t *testing.T, w *World, link Link) (*gofirestore.Client, *Google) {
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
		g.Close()
	})
	return c, g
}

// TestAnswersAsTheEmulator asks the stand-in and Google's emulator the same, on the same documents, some of which were
// written since.
func TestAnswersAsTheEmulator(t *testing.T) {
	t.Parallel()
	p := backendstest.Start(t)
	w := world()
	for i := range 100 {
		p.Set(t, fmt.Sprintf("things/t%03d", i), thing(i))
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
		if _, err := things.Doc("t022").Update(t.Context(), []gofirestore.Update{{Path: "deep", Value: 1}, {Path: "tag", Value: gofirestore.Delete}}); err != nil {
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
		"none of":  func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("n", "not-in", []int{10, 11, 70}) },
		"contains": func(c *gofirestore.CollectionRef) gofirestore.Query { return c.Where("tag", "array-contains", "y") },
		"after": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.OrderBy("n", gofirestore.Asc).OrderBy(gofirestore.DocumentID, gofirestore.Asc).StartAfter(10, "t0105").Limit(5)
		},
		"from, until": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.OrderBy("n", gofirestore.Asc).StartAt(5).EndBefore(8)
		},
		"backwards, after": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.OrderBy("n", gofirestore.Desc).StartAfter(20).Limit(6)
		},
		"a range of names": func(c *gofirestore.CollectionRef) gofirestore.Query {
			return c.Where("group", "==", "b").Where(gofirestore.DocumentID, ">", c.Doc("t010")).Where(gofirestore.DocumentID, "<=", c.Doc("t020"))
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
			return c.WhereEntity(gofirestore.OrFilter{Filters: []gofirestore.EntityFilter{gap(3, 6), gap(4, 9), gap(40, 80)}}).OrderBy("n", gofirestore.Asc)
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
		if len(answers[0]) == 0 {
			t.Errorf("%s: found nothing", name)
		}
		if diff := cmp.Diff(answers[1], answers[0]); diff != "" {
			t.Errorf("%s (-emulator +stand-in):\n%s", name, diff)
		}
		if counts[0] != counts[1] {
			t.Errorf("%s: counted %v", name, counts)
		}
	}
}

func TestWhatFirestoreRefuses(t *testing.T) {
	t.Parallel()
	things := clientOf(t, world()).Collection("things")
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
		"31 values":       {things.Where("n", "in", make([]int, 31)), codes.InvalidArgument},
		"60 disjunctions": {things.Where("n", "in", make([]int, 30)).Where("group", "in", []string{"a", "b"}), codes.InvalidArgument},
		"100 filters":     {things.WhereEntity(gofirestore.OrFilter{Filters: many}).OrderBy("n", gofirestore.Asc), codes.InvalidArgument},
		"a long value":    {things.Where("group", "==", strings.Repeat("x", 1500)), codes.InvalidArgument},
		"an offset":       {things.Offset(1), codes.Unimplemented},
	} {
		if _, err := tt.query.Documents(t.Context()).GetAll(); status.Code(err) != tt.want {
			t.Errorf("%s: %v, want %s", name, err, tt.want)
		}
	}
}

// TestLink answers late: the n-th request waits as long in every run, a quarter more or less than asked for, and a listing three
// times that.
func TestLink(t *testing.T) {
	t.Parallel()
	p := &path{link: Link{Answer: 10 * time.Millisecond}}
	asked := httptest.NewRecorder()
	service := p.before(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
	for url, least := range map[string]time.Duration{"/storage/v1/b/b/o": 22 * time.Millisecond, "/storage/v1/b/b/o/x": 7 * time.Millisecond} {
		began := time.Now()
		service.ServeHTTP(asked, httptest.NewRequest(http.MethodGet, url, http.NoBody))
		if took := time.Since(began); took < least {
			t.Errorf("%s took %s, want at least %s", url, took, least)
		}
	}
	if want := (Traffic{Requests: 2, Listings: 1, Chain: 2}); p.traffic != want || asked.Code != http.StatusTeapot {
		t.Errorf("%d, %+v, want %+v", asked.Code, p.traffic, want)
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
