package accounts

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"firebase.google.com/go/v4/auth"

	"github.com/firesweep/firesweep/shared/usage"
)

// Account is what Authentication tells of an account and takes back again: all but the password and second factors.
type Account struct {
	UID           string         `json:"uid"`
	Email         string         `json:"email,omitempty"`
	EmailVerified bool           `json:"emailVerified,omitempty"`
	PhoneNumber   string         `json:"phoneNumber,omitempty"`
	DisplayName   string         `json:"displayName,omitempty"`
	PhotoURL      string         `json:"photoUrl,omitempty"`
	Disabled      bool           `json:"disabled,omitempty"`
	Claims        map[string]any `json:"claims,omitempty"`
	Created       int64          `json:"created,omitempty"`   // in milliseconds since 1970
	LastLogin     int64          `json:"lastLogin,omitempty"` // likewise
	Providers     []Provider     `json:"providers,omitempty"`
}

// Provider is an identity of an account at somebody who signs users in.
type Provider struct {
	ID          string `json:"id"` // e.g. google.com
	UID         string `json:"uid"`
	Email       string `json:"email,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	PhotoURL    string `json:"photoUrl,omitempty"`
}

// maxLookup is how many accounts one call asks for.
const maxLookup = 100

// GetUsers implements [API].
func (s sdk) GetUsers(ctx context.Context, identifiers []auth.UserIdentifier) (*auth.GetUsersResult, error) {
	return s.client.GetUsers(ctx, identifiers)
}

// Get returns those of some accounts that there are, in no order, in one call for up to 100 of them.
func (w Writer) Get(ctx context.Context, uids []string) ([]Account, error) {
	var found []Account
	uids = slices.DeleteFunc(slices.Clone(uids), func(uid string) bool { return !ValidUID(uid) || len(uid) > maxUID })
	for chunk := range slices.Chunk(uids, maxLookup) {
		identifiers := make([]auth.UserIdentifier, len(chunk))
		for i, uid := range chunk {
			identifiers[i] = auth.UIDIdentifier{UID: uid}
		}
		usage.FromContext(ctx).AuthCalls()
		result, err := w.c.api.GetUsers(ctx, identifiers)
		if err != nil {
			return nil, fmt.Errorf("look up %d accounts: %w", len(chunk), readable(err))
		}
		for _, user := range result.Users {
			found = append(found, accountOf(user))
		}
	}
	return found, nil
}

func accountOf(user *auth.UserRecord) Account {
	a := Account{
		UID: user.UID, Email: user.Email, EmailVerified: user.EmailVerified, PhoneNumber: user.PhoneNumber, DisplayName: user.DisplayName,
		PhotoURL: user.PhotoURL, Disabled: user.Disabled, Claims: user.CustomClaims,
	}
	if m := user.UserMetadata; m != nil {
		a.Created, a.LastLogin = m.CreationTimestamp, m.LastLogInTimestamp
	}
	for _, p := range user.ProviderUserInfo {
		if p.ProviderID == "password" || p.ProviderID == "phone" { // they come back with the address and the number
			continue
		}
		a.Providers = append(a.Providers, Provider{ID: p.ProviderID, UID: p.UID, Email: p.Email, DisplayName: p.DisplayName, PhotoURL: p.PhotoURL})
	}
	return a
}

// Import returns the account as Authentication takes it.
func (a Account) Import() *auth.UserToImport {
	user := new(auth.UserToImport).UID(a.UID).EmailVerified(a.EmailVerified).Disabled(a.Disabled).
		Metadata(&auth.UserMetadata{CreationTimestamp: a.Created, LastLogInTimestamp: a.LastLogin})
	for _, f := range []struct {
		set   func(string) *auth.UserToImport
		value string
	}{{user.Email, a.Email}, {user.PhoneNumber, a.PhoneNumber}, {user.DisplayName, a.DisplayName}, {user.PhotoURL, a.PhotoURL}} {
		if f.value != "" { // Authentication refuses an empty one
			f.set(f.value)
		}
	}
	if len(a.Claims) > 0 {
		user.CustomClaims(a.Claims)
	}
	var providers []*auth.UserProvider
	for _, p := range a.Providers {
		providers = append(providers, &auth.UserProvider{UID: p.UID, ProviderID: p.ID, Email: p.Email, DisplayName: p.DisplayName, PhotoURL: p.PhotoURL})
	}
	if len(providers) > 0 {
		user.ProviderData(providers)
	}
	return user
}

// JSON returns the account as text.
func (a Account) JSON() string {
	text, _ := json.Marshal(a) // texts, numbers and what came as JSON
	return string(text)
}

// Parse reads what [Account.JSON] returned.
func Parse(text string) (a Account, err error) {
	if err = json.Unmarshal([]byte(text), &a); err == nil && a.UID == "" {
		err = fmt.Errorf("it has no uid")
	}
	return a, err
}
