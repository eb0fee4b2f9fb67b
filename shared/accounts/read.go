package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"firebase.google.com/go/v4/auth"
	"google.golang.org/api/googleapi"

	"github.com/firesweep/firesweep/shared/usage"
)

// PageSize is how many accounts one call lists, and maxLookup how many one call looks up.
const (
	PageSize  = 1000
	maxLookup = 100
)

// ErrToken says that Authentication does not take the token of a page. How long it takes one is documented nowhere.
var ErrToken = errors.New("the page token for accounts was refused")

// Reader looks at the project's accounts.
type Reader struct{ c *Client }

// Page is a page of accounts, and the token of the next one, empty if there is none.
type Page struct {
	Accounts []Account
	Next     string
}

// Pages goes through all accounts from a page on, the first if token is empty. Its error may be [ErrToken].
func (r Reader) Pages(ctx context.Context, token string) iter.Seq2[Page, error] {
	return func(yield func(Page, error) bool) {
		for first := true; first || token != ""; first = false {
			usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
			users, next, err := r.c.api.ListUsers(ctx, token)
			if err == nil && next != "" && next == token {
				err = errors.New("the listing makes no progress")
			}
			var refused *googleapi.Error
			if token != "" && errors.As(err, &refused) && refused.Code == http.StatusBadRequest {
				err = fmt.Errorf("%w: %w", ErrToken, err)
			}
			if err != nil {
				yield(Page{}, fmt.Errorf("list accounts: %w", readable(err)))
				return
			}
			if !yield(Page{Accounts: accountsOf(users), Next: next}, nil) {
				return
			}
			token = next
		}
	}
}

// Get returns those of some accounts that there are, in no order, in one call for up to 100 of them.
func (r Reader) Get(ctx context.Context, uids []string) ([]Account, error) {
	var found []Account
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return !Deletable(uid) })
	for chunk := range slices.Chunk(uids, maxLookup) {
		usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
		users, err := r.c.api.GetUsers(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("look up %d accounts: %w", len(chunk), readable(err))
		}
		found = append(found, accountsOf(users)...)
	}
	return found, nil
}

// Tenants reports whether the project may have tenants: then an account that [Reader.Get] does not return may be a tenant's.
func (r Reader) Tenants(ctx context.Context) (bool, error) {
	usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
	may, err := r.c.api.Tenants(ctx)
	if err != nil {
		return false, readable(err)
	}
	return may, nil
}

// Exist returns which of some uids accounts have, in one call for up to 100 of them.
func (r Reader) Exist(ctx context.Context, uids []string) (map[string]bool, error) {
	all := make([]Account, len(uids))
	for i, uid := range uids {
		all[i].UID = uid
	}
	found, err := r.Sharing(ctx, all)
	exist := make(map[string]bool, len(found))
	for _, a := range found {
		exist[a.UID] = true
	}
	return exist, err
}

// Sharing returns the accounts that have the uid, the address, the phone number or an identity of one of these, in no order and
// perhaps more than once. One call is for up to 100 of what they have. What cannot be an account's, nobody has.
func (r Reader) Sharing(ctx context.Context, all []Account) (found []Account, err error) {
	var by []auth.UserIdentifier
	for _, a := range all {
		if Deletable(a.UID) {
			by = append(by, auth.UIDIdentifier{UID: a.UID})
		}
		if name, host, is := strings.Cut(a.Email, "@"); is && name != "" && host != "" && !strings.Contains(host, "@") {
			by = append(by, auth.EmailIdentifier{Email: a.Email})
		}
		if strings.HasPrefix(a.PhoneNumber, "+") && strings.ContainsAny(a.PhoneNumber, "0123456789") {
			by = append(by, auth.PhoneIdentifier{PhoneNumber: a.PhoneNumber})
		}
		for _, p := range a.Providers {
			if p.ID != "" && p.UID != "" {
				by = append(by, auth.ProviderIdentifier{ProviderID: p.ID, ProviderUID: p.UID})
			}
		}
	}
	for chunk := range slices.Chunk(by, maxLookup) {
		usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
		users, err := r.c.api.FindUsers(ctx, chunk)
		if err != nil {
			return nil, fmt.Errorf("look for accounts by %d of what they have: %w", len(chunk), readable(err))
		}
		for _, user := range users {
			found = append(found, foundOf(user))
		}
	}
	return found, nil
}

func accountsOf(users []*User) []Account {
	all := make([]Account, len(users))
	for i, user := range users {
		all[i] = accountOf(user)
	}
	return all
}
