package accounts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strings"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
)

// PageSize is how many accounts one call lists, and maxLookup how many one call looks up.
const (
	PageSize  = 1000
	maxLookup = 100
)

type (
	// identifiers say which accounts are looked for.
	identifiers = identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest
	listing     = identitytoolkit.GoogleCloudIdentitytoolkitV1DownloadAccountResponse
	// userInfo is an account as the API has it.
	userInfo = identitytoolkit.GoogleCloudIdentitytoolkitV1UserInfo
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
			answer, err := r.list(ctx, token)
			if err == nil && token != "" && answer.NextPageToken == token {
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
			if token = answer.NextPageToken; !yield(Page{Accounts: accountsOf(answer.Users), Next: token}, nil) {
				return
			}
		}
	}
}

func (r Reader) list(ctx context.Context, token string) (*listing, error) {
	call := r.c.users.BatchGet(r.c.project).MaxResults(PageSize).Context(ctx)
	if token != "" {
		call.NextPageToken(token)
	}
	return repeated(ctx, r.c, "ListUsers", nil, call.Do)
}

// Get returns those of some accounts that there are, in no order, in one call for up to 100 of them.
func (r Reader) Get(ctx context.Context, uids []string) ([]Account, error) {
	all := make([]Account, len(uids))
	for i, uid := range uids {
		all[i].UID = uid
	}
	return r.Sharing(ctx, all)
}

// Tenants reports whether the project may have tenants: then an account that [Reader.Get] does not return may be a tenant's.
// Google's answer has a name. That of Firebase's emulator has none and says nothing of tenants, so it is asked for these
// themselves.
func (r Reader) Tenants(ctx context.Context) (bool, error) {
	project := "projects/" + r.c.project
	config := r.c.config.GetConfig(project+"/config").Fields("name", "multiTenant/allowTenants").Context(ctx)
	list := r.c.config.Tenants.List(project).PageSize(1).Context(ctx)
	answer, err := repeated(ctx, r.c, "Tenants", nil, config.Do)
	if err != nil {
		return false, readable(err)
	}
	if answer.Name != "" {
		return answer.MultiTenant != nil && answer.MultiTenant.AllowTenants, nil
	}
	tenants, err := repeated(ctx, r.c, "Tenants", nil, list.Do)
	if err != nil {
		return false, readable(err)
	}
	return len(tenants.Tenants) > 0, nil
}

// Exist returns which of some uids accounts have, in one call for up to 100 of them.
func (r Reader) Exist(ctx context.Context, uids []string) (map[string]bool, error) {
	found, err := r.Get(ctx, uids)
	exist := make(map[string]bool, len(found))
	for _, a := range found {
		exist[a.UID] = true
	}
	return exist, err
}

// Sharing returns the accounts that have the uid, the address, the phone number or an identity of one of these, in no order and
// perhaps more than once. One call is for up to 100 of what they have. What cannot be an account's, nobody has.
func (r Reader) Sharing(ctx context.Context, all []Account) (found []Account, err error) {
	var by []func(*identifiers)
	for _, a := range all {
		if Deletable(a.UID) {
			by = append(by, func(i *identifiers) { i.LocalId = append(i.LocalId, a.UID) })
		}
		if name, host, is := strings.Cut(a.Email, "@"); is && name != "" && host != "" && !strings.Contains(host, "@") {
			by = append(by, func(i *identifiers) { i.Email = append(i.Email, a.Email) })
		}
		if strings.HasPrefix(a.PhoneNumber, "+") && strings.ContainsAny(a.PhoneNumber, "0123456789") {
			by = append(by, func(i *identifiers) { i.PhoneNumber = append(i.PhoneNumber, a.PhoneNumber) })
		}
		for _, p := range a.Providers {
			if p.ID != "" && p.UID != "" {
				identity := &identitytoolkit.GoogleCloudIdentitytoolkitV1FederatedUserIdentifier{ProviderId: p.ID, RawId: p.UID}
				by = append(by, func(i *identifiers) { i.FederatedUserId = append(i.FederatedUserId, identity) })
			}
		}
	}
	for chunk := range slices.Chunk(by, maxLookup) {
		ids := new(identifiers)
		for _, add := range chunk {
			add(ids)
		}
		answer, err := repeated(ctx, r.c, "GetUsers", ids.LocalId, r.c.users.Lookup(r.c.project, ids).Context(ctx).Do)
		if err != nil {
			return nil, fmt.Errorf("look up accounts by %d of what they have: %w", len(chunk), readable(err))
		}
		found = append(found, accountsOf(answer.Users)...)
	}
	return found, nil
}

func accountsOf(users []*userInfo) []Account {
	all := make([]Account, len(users))
	for i, user := range users {
		all[i] = accountOf(user)
	}
	return all
}
