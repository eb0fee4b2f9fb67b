package accounts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/check"
	"github.com/firesweep/firesweep/shared/usage"
)

// opened returns a writer on the project's Authentication.
func opened(t *testing.T, p *backendstest.Project) Writer {
	t.Helper()
	c, err := Open(t.Context(), p.ID, false, nil)
	ok(t, err)
	return c.Writer()
}

// listed returns all accounts by uid.
func listed(t *testing.T, r Reader, token string) map[string]Account {
	t.Helper()
	all := map[string]Account{}
	for page, err := range r.Pages(t.Context(), token) {
		ok(t, err)
		for _, a := range page.Accounts {
			all[a.UID] = a
		}
	}
	return all
}

// emulated returns a writer on a server in place of the emulator, of a project p.
func emulated(t *testing.T, answer http.HandlerFunc) Writer {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	t.Setenv(emulatorHost, server.Listener.Addr().String())
	c, err := Open(t.Context(), "p", false, nil)
	ok(t, err)
	return c.Writer()
}

// TestListedAndLookedUpAlike goes through Google's client to a server.
func TestListedAndLookedUpAlike(t *testing.T) {
	p := backendstest.Start(t)
	p.Import(t,
		new(auth.UserToImport).UID("anonymous").Metadata(&auth.UserMetadata{CreationTimestamp: 1000, LastLogInTimestamp: 2000}),
		new(auth.UserToImport).UID("google").Email("a@example.com").EmailVerified(true).Disabled(true).CustomClaims(map[string]any{"admin": true}).
			ProviderData([]*auth.UserProvider{{ProviderID: "google.com", UID: "g1"}}),
	)
	_, err := p.Auth(t).CreateUser(t.Context(), new(auth.UserToCreate).UID("password").Email("b@example.com").Password("secret7"))
	ok(t, err)
	_, err = p.Auth(t).CreateUser(t.Context(), new(auth.UserToCreate).UID("phone").PhoneNumber("+819012345678"))
	ok(t, err)
	p.Import(t, new(auth.UserToImport).UID("custom").Metadata(&auth.UserMetadata{CreationTimestamp: 1000, LastLogInTimestamp: 2000}))
	p.SetAccount(t, "custom", map[string]any{"customAuth": true, "lastRefreshAt": "1970-01-01T00:00:03.5Z"})
	r := opened(t, p)
	all := listed(t, r.Reader, "")
	found, err := r.Get(t.Context(), []string{"google", "nobody", "password", "phone", "anonymous", "custom", ""})
	ok(t, err)
	if len(found) != 5 || len(all) != 5 {
		t.Fatalf("%v, looked up %+v, listed %+v", err, found, all)
	}
	for _, a := range found {
		same(t, a.UID+" as it is listed, and looked up", all[a.UID], a)
		is := []bool{a.UID == "anonymous", a.UID == "password", a.UID == "google"}
		same(t, a.UID+": anonymous, unverified, disabled", is, []bool{a.Anonymous(), a.Unverified(), a.Disabled})
	}
	a := all["custom"]
	same(t, "custom, refreshed", []any{true, int64(3500)}, []any{a.CustomAuth, a.LastRefresh})
	a = all["anonymous"]
	same(t, "times", []int64{1000, 2000, 0}, []int64{a.Created, a.LastLogin, a.LastRefresh})
	a = all["google"]
	same(t, "providers", []any{1, "g1"}, []any{len(a.Providers), a.Providers[0].UID})
	same(t, "claim", "true", string(all["google"].Claims["admin"]))
}

// TestWhichAccountIsWhich: what is no anonymous account though it looks like one.
func TestWhichAccountIsWhich(t *testing.T) {
	provider := func(id string) []*identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo {
		return []*identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo{{ProviderId: id}}
	}
	for name, tt := range map[string]struct {
		user                  userInfo
		anonymous, unverified bool
	}{
		"anonymous":              {userInfo{LastLoginAt: 1}, true, false},
		"anonymous, disabled":    {userInfo{LastLoginAt: 1, Disabled: true}, true, false},
		"made by administrator":  {userInfo{}, false, false},
		"custom token":           {userInfo{LastLoginAt: 1, CustomAuth: true}, false, false},
		"phone":                  {userInfo{LastLoginAt: 1, PhoneNumber: "+1", ProviderUserInfo: provider("phone")}, false, false},
		"address alone":          {userInfo{LastLoginAt: 1, Email: "a@b.c"}, false, false},
		"password":               {userInfo{Email: "a@b.c", ProviderUserInfo: provider("password")}, false, true},
		"password without":       {userInfo{LastLoginAt: 1, ProviderUserInfo: provider("password")}, false, false},
		"password, verified":     {userInfo{Email: "a@b.c", EmailVerified: true, ProviderUserInfo: provider("password")}, false, false},
		"password, phone":        {userInfo{Email: "a@b.c", PhoneNumber: "+1", ProviderUserInfo: provider("password")}, false, false},
		"password, custom token": {userInfo{Email: "a@b.c", CustomAuth: true, ProviderUserInfo: provider("password")}, false, false},
		"password and another":   {userInfo{Email: "a@b.c", ProviderUserInfo: append(provider("password"), provider("google.com")...)}, false, false},
		"another provider":       {userInfo{LastLoginAt: 1, ProviderUserInfo: provider("apple.com")}, false, false},
	} {
		a := accountOf(&tt.user)
		same(t, name+": anonymous, unverified", []bool{tt.anonymous, tt.unverified}, []bool{a.Anonymous(), a.Unverified()})
	}
}

// TestLastActive: the latest of the three times, to the millisecond and never earlier than it was.
func TestLastActive(t *testing.T) {
	for name, tt := range map[string]struct {
		user userInfo
		want int64 // 0: it cannot be told
	}{
		"created":               {userInfo{CreatedAt: 5}, 5},
		"signed in":             {userInfo{CreatedAt: 5, LastLoginAt: 7}, 7},
		"signed in, odd":        {userInfo{CreatedAt: 9, LastLoginAt: 7}, 9},
		"refreshed":             {userInfo{CreatedAt: 5, LastLoginAt: 7, LastRefreshAt: "1970-01-01T00:00:01.234Z"}, 1234},
		"refreshed, finer":      {userInfo{CreatedAt: 5, LastRefreshAt: "1970-01-01T00:00:01.234000001Z"}, 1235},
		"refreshed before":      {userInfo{CreatedAt: 5000, LastLoginAt: 7000, LastRefreshAt: "1970-01-01T00:00:01Z"}, 7000},
		"no creation":           {userInfo{LastLoginAt: 7}, 0},
		"negative creation":     {userInfo{CreatedAt: -5, LastLoginAt: 7}, 0},
		"negative sign-in":      {userInfo{CreatedAt: 5, LastLoginAt: -7}, 0},
		"unreadable refresh":    {userInfo{CreatedAt: 5, LastLoginAt: 7, LastRefreshAt: "yesterday"}, 0},
		"nothing":               {userInfo{}, 0},
		"refreshed, other zone": {userInfo{CreatedAt: 5, LastRefreshAt: "1970-01-01T01:00:01+01:00"}, 1000},
	} {
		at, ok := accountOf(&tt.user).LastActive()
		if ok != (tt.want != 0) || ok && !at.Equal(time.UnixMilli(tt.want)) {
			t.Errorf("%s: %s, %v", name, at, ok)
		}
	}
}

// TestSharing: an account that comes back is found by whatever identifies it, whole, and is so listed.
func TestSharing(t *testing.T) {
	p := backendstest.Start(t)
	whole := Account{
		UID: "whole", Email: "a@example.com", EmailVerified: true, PhoneNumber: "+819012345678", DisplayName: "花",
		PhotoURL: "https://example.com/a.png", Disabled: true, Created: 1000, LastLogin: 2000, Password: true,
		Claims:    map[string]json.RawMessage{"admin": []byte("true"), "level": []byte("9007199254740993")},
		Providers: []Provider{{ID: "google.com", UID: "g1", Email: "a@gmail.example", DisplayName: "H", PhotoURL: "https://example.com/b.png"}},
	}
	wantImported(t, importer(t, p, nil), []Account{whole})
	r := opened(t, p).Reader
	same(t, "listed", map[string]Account{"whole": whole}, listed(t, r, ""))
	for name, by := range map[string]Account{
		"uid": {UID: "whole"}, "address": {Email: "A@example.com"}, "number": {PhoneNumber: "+819012345678"},
		"identity": {Providers: []Provider{{ID: "google.com", UID: "g1"}}},
	} {
		var meter usage.Meter
		found, err := r.Sharing(usage.NewContext(t.Context(), &meter), []Account{by})
		ok(t, err)
		same(t, "found by "+name, []Account{whole}, found)
		same(t, "calls", int64(1), meter.Usage().AuthCalls)
	}
	odd := Account{
		UID: strings.Repeat("長", 129), Email: "a@b@c", PhoneNumber: "number", Providers: []Provider{{ID: "google.com"}, {UID: "g1"}},
	}
	if found, err := r.Sharing(t.Context(), []Account{odd, {Email: "@b"}, {Email: "a@"}, {Email: "a"}, {PhoneNumber: "+"}}); len(found) != 0 || err != nil {
		t.Errorf("what cannot be an account's: %v, %v", found, err)
	}
	var uids []string
	for n := range 101 {
		uids = append(uids, fmt.Sprintf("nobody%d", n))
	}
	exist, err := r.Exist(t.Context(), append(uids, "whole", ""))
	ok(t, err)
	same(t, "exist", map[string]bool{"whole": true}, exist)
}

// TestPages: each account once, over several pages, from any of them on.
func TestPages(t *testing.T) {
	p := backendstest.Start(t)
	var users []*auth.UserToImport
	for i := range 2500 {
		users = append(users, new(auth.UserToImport).UID(fmt.Sprintf("u%04d", i)))
	}
	p.Import(t, users...)
	r := opened(t, p)
	var tokens []string
	var meter usage.Meter
	seen := 0
	for page, err := range r.Pages(usage.NewContext(t.Context(), &meter), "") {
		ok(t, err)
		seen += len(page.Accounts)
		tokens = append(tokens, page.Next)
	}
	same(t, "accounts", 2500, seen)
	same(t, "calls", int64(3), meter.Usage().AuthCalls)
	same(t, "accounts behind the second page", 500, len(listed(t, r.Reader, tokens[1])))
	for _, err := range r.Pages(t.Context(), "") {
		if err != nil {
			t.Error(err)
		}
		break // whoever has enough may stop
	}
	if !p.EmbeddedAuth() {
		t.Skip("the Firebase Emulator Suite takes any text for a token")
	}
	for _, err := range r.Pages(t.Context(), "of another time") {
		check.Is(t, "a token that is none", err, ErrToken)
	}
}

// TestListingsThatCannotGoOn end with an error, and not never.
func TestListingsThatCannotGoOn(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"the same page again": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"nextPageToken":"same"}`) },
		"an odd answer to no token": func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, http.StatusBadRequest, "INVALID_PROJECT_ID")
		},
	} {
		var last error
		for _, last = range google(t, answer, new(int)).Writer().Pages(t.Context(), "") {
		}
		if last == nil || errors.Is(last, ErrToken) {
			t.Errorf("%s: %v", name, last)
		}
	}
}

// TestReadsAreMadeAgain: what passes is waited for, what does not is told at once, by the API's own words.
func TestReadsAreMadeAgain(t *testing.T) {
	for name, tt := range map[string]struct {
		answers []int
		calls   int
		want    string
	}{
		"passes":   {[]int{503, 429, 200}, 3, ""},
		"refused":  {[]int{403, 200}, 1, "look up accounts by 1 of what they have: it says why"},
		"not made": {[]int{400, 200}, 1, "look up accounts by 1 of what they have: it says why"},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			r := emulated(t, func(w http.ResponseWriter, r *http.Request) {
				same(t, "who asks", "Bearer owner", r.Header.Get("Authorization"))
				w.WriteHeader(tt.answers[calls])
				fmt.Fprint(w, `{"error":{"code":0,"message":"it says why"}}`)
				calls++
			})
			_, err := r.Get(t.Context(), []string{"u1"})
			if calls != tt.calls || fmt.Sprint(err) != map[bool]string{true: "<nil>", false: tt.want}[tt.want == ""] {
				t.Errorf("%d calls, %v", calls, err)
			}
		})
	}
}

func TestReadOnly(t *testing.T) {
	p := backendstest.Start(t)
	p.Import(t, new(auth.UserToImport).UID("u1"))
	c, err := Open(t.Context(), p.ID, false, ReadOnly(nil))
	ok(t, err)
	c.Unpace()
	check.Fails(t, errors.Join(c.Writer().Delete(t.Context(), []string{"u1"})...))
	_, err = c.Importer().Import(t.Context(), []Account{{UID: "u2"}})
	check.Fails(t, err)
	same(t, "accounts", 1, len(listed(t, c.Writer().Reader, "")))
}

// TestTenants: what Google answers, and what Firebase's emulator does.
func TestTenants(t *testing.T) {
	for name, tt := range map[string]struct {
		config, tenants string // the answers; empty: refused
		may             bool
		fails           string
		asked           int
	}{
		"none":                 {config: `{"name":"projects/1/config"}`, asked: 1},
		"none any more":        {config: `{"name":"projects/1/config","multiTenant":{}}`, asked: 1},
		"allowed":              {config: `{"name":"projects/1/config","multiTenant":{"allowTenants":true}}`, may: true, asked: 1},
		"refused":              {fails: "it is refused", asked: 1},
		"emulator":             {config: `{"signIn":{}}`, tenants: `{"tenants":[]}`, asked: 2},
		"emulator with a few":  {config: `{"signIn":{}}`, tenants: `{"tenants":[{"name":"projects/p/tenants/t"}]}`, may: true, asked: 2},
		"nothing, and refused": {config: `{}`, fails: "it is refused", asked: 2},
	} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			r := emulated(t, func(w http.ResponseWriter, r *http.Request) {
				asked++
				answer := map[string]string{"config": tt.config, "tenants": tt.tenants}[path.Base(r.URL.Path)]
				if r.Method != http.MethodGet || !strings.HasPrefix(r.URL.Path, "/identitytoolkit.googleapis.com/v2/projects/p/") {
					t.Errorf("%s %s", r.Method, r.URL)
				}
				if answer == "" {
					w.WriteHeader(http.StatusForbidden)
					answer = `{"error":{"code":403,"message":"it is refused"}}`
				}
				_, _ = w.Write([]byte(answer)) // the client tells whether it came
			})
			may, err := r.Tenants(t.Context())
			if may != tt.may || asked != tt.asked || (err == nil) != (tt.fails == "") || err != nil && err.Error() != tt.fails {
				t.Errorf("%v, %v after %d requests", may, err, asked)
			}
		})
	}
}

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
	same(t, "refused", want, slices.Sorted(maps.Keys(refused)))
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
	same(t, "times", []int64{9000, 2000, 1000}, times)
	for uid, a := range all {
		kept, err := Parse(a.JSON())
		ok(t, err)
		same(t, uid+", kept", a, kept)
		same(t, uid+", unverified", uid == "password", a.Unverified())
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
		same(t, uid+" is back, of", int64(1000), after[uid].Created)
		delete(after, uid)
	}
	same(t, "the others", before, after)
	shared, err := i.Sharing(t.Context(), []Account{{UID: "phone", PhoneNumber: "+819012345678"}, {UID: "nobody", Email: "nobody@example.com"}, back[2]})
	ok(t, err)
	var found []string
	for _, a := range shared {
		found = append(found, a.UID)
	}
	slices.Sort(found)
	same(t, "sharing", []string{"other-identity", "other-phone"}, found)
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
			same(t, "accounts", 10, len(there))
			same(t, "the first was created at", int64(1000), there[twins[0].UID].Created)
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
	ok(t, err)
	same(t, "refused", want, refused)
	same(t, "sizes of calls", []int{1000, 1000, 500}, f.sizes())
	same(t, "calls metered", int64(3), meter.Usage().AuthCalls)
}

// TestEachAttemptIsMetered: a call that is made again counts again, whatever it asks for.
func TestEachAttemptIsMetered(t *testing.T) {
	for name, do := range map[string]func(context.Context, *Client) error{
		"look up": func(ctx context.Context, c *Client) error {
			_, err := Reader{c}.Exist(ctx, []string{"u"})
			return err
		},
		"list": func(ctx context.Context, c *Client) (err error) {
			for _, err = range (Reader{c}).Pages(ctx, "") {
				continue
			}
			return err
		},
		"ask for tenants": func(ctx context.Context, c *Client) error {
			_, err := Reader{c}.Tenants(ctx)
			return err
		},
		"import": func(ctx context.Context, c *Client) error {
			_, err := c.Importer().Import(ctx, []Account{{UID: "u"}})
			return err
		},
		"delete": func(ctx context.Context, c *Client) error {
			return errors.Join(c.Writer().Delete(ctx, []string{"u"})...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			requests, pauses := 0, 0
			c := google(t, func(w http.ResponseWriter, _ *http.Request) {
				if requests++; requests == 1 {
					w.WriteHeader(http.StatusServiceUnavailable)
				}
				fmt.Fprint(w, `{"name":"the project's configuration"}`)
			}, &pauses)
			var meter usage.Meter
			ok(t, do(usage.NewContext(t.Context(), &meter), c))
			same(t, "requests, metered, pauses", []int{2, 2, 1}, []int{requests, int(meter.Usage().AuthCalls), pauses})
		})
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
		"always": {[]error{broken, broken, broken, broken, broken, broken, errors.New("one call too many")},
			"import 2 accounts: connection reset"},
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
			same(t, "error", tt.want, strings.TrimSuffix(fmt.Sprint(err), "<nil>"))
			if err == nil && len(refused) != 2 {
				t.Errorf("refused %v: those that are there must be told", refused)
			}
			there := listed(t, opened(t, p).Reader, "")
			same(t, "accounts, and when one was made", []any{2, int64(1000)}, []any{len(there), there["a"].Created})
		})
	}
}
