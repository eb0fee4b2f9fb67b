package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/shared/usage"
)

// importer returns what imports the project's accounts. around may be nil.
func importer(t *testing.T, p *backendstest.Project, around Around) Importer {
	t.Helper()
	c, err := Open(t.Context(), p.ID, false, around)
	ok(t, err)
	c.sleep = func(ctx context.Context, _ time.Duration) error { return ctx.Err() }
	return c.Importer()
}

// wantImported imports accounts and compares what was refused.
func wantImported(t *testing.T, i Importer, all []Account, want ...string) {
	t.Helper()
	refused, err := i.Import(t.Context(), all)
	ok(t, err)
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(refused))); diff != "" {
		t.Errorf("refused (-want +got):\n%s\n%v", diff, refused)
	}
}

// TestImportedAsLastActive: Authentication takes no time of a token.
func TestImportedAsLastActive(t *testing.T) {
	p := backendstest.Start(t)
	i := importer(t, p, nil)
	wantImported(t, i, []Account{
		{UID: "refreshed", Created: 1000, LastLogin: 2000, LastRefresh: 9000},
		{UID: "signed-in", Created: 1000, LastLogin: 2000, LastRefresh: 1500},
		{UID: "password", Created: 1000, LastLogin: 2000, Email: "a@example.com", Password: true},
	})
	all := listed(t, i.Reader, "")
	times := []int64{all["refreshed"].LastLogin, all["signed-in"].LastLogin, all["refreshed"].Created}
	if diff := cmp.Diff([]int64{9000, 2000, 1000}, times); diff != "" {
		t.Errorf("times (-want +got):\n%s", diff)
	}
	for uid, a := range all {
		kept, err := Parse(a.JSON())
		if diff := cmp.Diff(a, kept); diff != "" || err != nil {
			t.Errorf("%s: %v (-account +kept):\n%s", uid, err, diff)
		}
		if a.Unverified() != (uid == "password") {
			t.Errorf("%s: unverified %v", uid, a.Unverified())
		}
	}
}

// TestImportReplacesNobody: an account does not come back in place of one that has its uid, nor beside one that has its address or
// its identity. The others of the call come back. Phone numbers are not compared, and [Reader.Sharing] finds them.
func TestImportReplacesNobody(t *testing.T) {
	p := backendstest.Start(t)
	p.Import(t,
		new(auth.UserToImport).UID("there").DisplayName("mine").Metadata(&auth.UserMetadata{CreationTimestamp: 7000}),
		new(auth.UserToImport).UID("other-email").Email("taken@example.com"),
		new(auth.UserToImport).UID("other-phone").PhoneNumber("+819012345678"),
		new(auth.UserToImport).UID("other-identity").ProviderData([]*auth.UserProvider{{ProviderID: "google.com", UID: "g1"}}),
	)
	before := listed(t, opened(t, p).Reader, "")
	i := importer(t, p, nil)
	back := []Account{
		{UID: "there", DisplayName: "deleted", Created: 1000},
		{UID: "email", Email: "taken@example.com", Created: 1000},
		{UID: "identity", Providers: []Provider{{ID: "google.com", UID: "g1"}}, Created: 1000},
		{UID: "same-uid-elsewhere", Providers: []Provider{{ID: "apple.com", UID: "g1"}}, Created: 1000},
		{UID: "free", Email: "free@example.com", Created: 1000},
	}
	wantImported(t, i, back, "email", "identity", "there")
	after := listed(t, i.Reader, "")
	for _, uid := range []string{"same-uid-elsewhere", "free"} {
		if after[uid].Created != 1000 {
			t.Errorf("%s is not back: %+v", uid, after[uid])
		}
		delete(after, uid)
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("the others (-want +got):\n%s", diff)
	}
	shared, err := i.Sharing(t.Context(), []Account{{UID: "phone", PhoneNumber: "+819012345678"}, {UID: "nobody", Email: "nobody@example.com"}, back[2]})
	var found []string
	for _, a := range shared {
		found = append(found, a.UID)
	}
	slices.Sort(found)
	if diff := cmp.Diff([]string{"other-identity", "other-phone"}, found); diff != "" || err != nil {
		t.Errorf("%v, sharing (-want +got):\n%s", err, diff)
	}
}

// TestImportOfTwins: two accounts of a call that have something in common keep nobody else from coming back.
func TestImportOfTwins(t *testing.T) {
	identity := []Provider{{ID: "google.com", UID: "g1"}}
	for name, twins := range map[string][2]Account{
		"address":  {{UID: "a", Email: "a@example.com", Created: 1000}, {UID: "b", Email: "a@example.com", Created: 2000}},
		"identity": {{UID: "a", Providers: identity, Created: 1000}, {UID: "b", Providers: identity, Created: 2000}},
		"uid":      {{UID: "b", DisplayName: "first", Created: 1000}, {UID: "b", DisplayName: "second", Created: 2000}},
	} {
		t.Run(name, func(t *testing.T) {
			i := importer(t, backendstest.Start(t), nil)
			all := []Account{twins[0]}
			for n := range 9 {
				all = append(all, Account{UID: fmt.Sprintf("u%d", n), Created: 1000})
			}
			wantImported(t, i, append(all, twins[1]), "b")
			there := listed(t, i.Reader, "")
			if len(there) != 10 || there[twins[0].UID].Created != 1000 {
				t.Errorf("%+v", there)
			}
		})
	}
}

// TestThousandAccountsAnImport: each refusal is told of the account that it is of.
func TestThousandAccountsAnImport(t *testing.T) {
	var all []Account
	for n := range 2500 {
		all = append(all, Account{UID: fmt.Sprintf("u%04d", n)})
	}
	f := &fake{answer: func(call int, _ []string) (map[int]string, int, string) {
		return map[int]string{0: fmt.Sprint("first of ", call), 499: "another"}, 0, ""
	}}
	var meter usage.Meter
	refused, err := f.open(t).Importer().Import(usage.NewContext(t.Context(), &meter), all)
	want := map[string]string{
		"u0000": "first of 1", "u0499": "another", "u1000": "first of 2", "u1499": "another", "u2000": "first of 3", "u2499": "another",
	}
	if diff := cmp.Diff(want, refused); diff != "" || err != nil {
		t.Errorf("%v, refused (-want +got):\n%s", err, diff)
	}
	if sizes := f.sizes(); !slices.Equal(sizes, []int{1000, 1000, 500}) || meter.Usage().AuthCalls != 3 {
		t.Errorf("calls of %v, %d metered", sizes, meter.Usage().AuthCalls)
	}
}

// TestLostAnswerOfAnImport: the call is made again, which replaces nobody and makes no second account.
func TestLostAnswerOfAnImport(t *testing.T) {
	unavailable := &googleapi.Error{Code: http.StatusServiceUnavailable}
	broken := errors.New("connection reset")
	back := []Account{{UID: "a", Email: "a@example.com", Created: 1000}, {UID: "b", PhoneNumber: "+819012345678", Created: 1000}}
	for name, tt := range map[string]struct {
		answers []error
		want    string
	}{
		"once":  {[]error{broken, nil}, ""},
		"often": {[]error{unavailable, broken, unavailable, broken, unavailable, nil}, ""},
		"always": {
			[]error{broken, broken, broken, broken, broken, broken, errors.New("one call too many")},
			"import 2 accounts: connection reset",
		},
		"refused": {[]error{&googleapi.Error{Code: http.StatusForbidden, Message: "no right"}, nil}, "import 2 accounts: no right"},
		"ended":   {[]error{context.Canceled, nil}, "import 2 accounts: context canceled"},
	} {
		t.Run(name, func(t *testing.T) {
			p, answers := backendstest.Start(t), tt.answers
			i := importer(t, p, func(_ string, _ []string, send func() error) error {
				err := errors.Join(send(), answers[0])
				answers = answers[1:]
				return err
			})
			refused, err := i.Import(t.Context(), back)
			if got := strings.TrimSuffix(fmt.Sprint(err), "<nil>"); got != tt.want {
				t.Errorf("%v, want %q", err, tt.want)
			}
			if err == nil && len(refused) != 2 {
				t.Errorf("refused %v: those that are there must be told", refused)
			}
			if there := listed(t, opened(t, p).Reader, ""); len(there) != 2 || there["a"].Created != 1000 {
				t.Errorf("%+v", there)
			}
		})
	}
}
