package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"

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
		users, err := r.c.api.GetUsers(ctx, &Identifiers{LocalId: chunk})
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

// Sharing returns the accounts that have an address, a phone number or an identity of one of these, themselves among them, in no
// order and perhaps more than once. One call is for up to 100 of what they have.
func (r Reader) Sharing(ctx context.Context, all []Account) ([]Account, error) {
	var wanted []func(*Identifiers)
	for _, a := range all {
		if a.Email != "" {
			wanted = append(wanted, func(by *Identifiers) { by.Email = append(by.Email, a.Email) })
		}
		if a.PhoneNumber != "" {
			wanted = append(wanted, func(by *Identifiers) { by.PhoneNumber = append(by.PhoneNumber, a.PhoneNumber) })
		}
		for _, p := range a.Providers {
			if p.ID == "" || p.UID == "" {
				continue
			}
			wanted = append(wanted, func(by *Identifiers) {
				by.FederatedUserId = append(by.FederatedUserId, &identitytoolkit.GoogleCloudIdentitytoolkitV1FederatedUserIdentifier{
					ProviderId: p.ID, RawId: p.UID,
				})
			})
		}
	}
	var found []Account
	for chunk := range slices.Chunk(wanted, maxLookup) {
		by := &Identifiers{}
		for _, add := range chunk {
			add(by)
		}
		usage.FromContext(ctx).Add(usage.Usage{AuthCalls: 1})
		users, err := r.c.api.GetUsers(ctx, by)
		if err != nil {
			return nil, fmt.Errorf("look for accounts that share what %d have: %w", len(all), readable(err))
		}
		found = append(found, accountsOf(users)...)
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
