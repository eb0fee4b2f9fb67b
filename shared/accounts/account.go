package accounts

import (
	"encoding/json"
	"fmt"
	"time"
)

// Account is what Authentication tells of an account and takes back again: all but the password and second factors. That somebody
// signed in by a custom token it tells, but does not take back.
type Account struct {
	UID           string                     `json:"uid"`
	Email         string                     `json:"email,omitempty"`
	EmailVerified bool                       `json:"emailVerified,omitempty"`
	PhoneNumber   string                     `json:"phoneNumber,omitempty"`
	DisplayName   string                     `json:"displayName,omitempty"`
	PhotoURL      string                     `json:"photoUrl,omitempty"`
	Disabled      bool                       `json:"disabled,omitempty"`
	Claims        map[string]json.RawMessage `json:"claims,omitempty"`      // as they came: a float64 changes large numbers
	Created       int64                      `json:"created,omitempty"`     // in milliseconds since 1970
	LastLogin     int64                      `json:"lastLogin,omitempty"`   // likewise; 0 if nobody has signed in yet
	LastRefresh   int64                      `json:"lastRefresh,omitempty"` // likewise, when a token was last got; 0 if never
	Providers     []Provider                 `json:"providers,omitempty"`
	Password      bool                       `json:"password,omitempty"` // one can sign in by it or by a link in a mail
	CustomAuth    bool                       `json:"-"`                  // somebody has signed in by a custom token
}

// Unreadable stands for a time that cannot be read.
const Unreadable = -1

// Providers that an account's address and number stand for.
const (
	passwordProvider = "password"
	phoneProvider    = "phone"
)

// Provider is an identity of an account at somebody who signs users in.
type Provider struct {
	ID          string `json:"id"` // e.g. google.com
	UID         string `json:"uid"`
	Email       string `json:"email,omitempty"`
	DisplayName string `json:"displayName,omitempty"`
	PhotoURL    string `json:"photoUrl,omitempty"`
}

// accountOf returns the account that Authentication describes. A time that cannot be read is [Unreadable].
func accountOf(user *userInfo) Account {
	a := Account{
		UID: user.LocalId, Email: user.Email, EmailVerified: user.EmailVerified, PhoneNumber: user.PhoneNumber,
		DisplayName: user.DisplayName, PhotoURL: user.PhotoUrl, Disabled: user.Disabled, Created: user.CreatedAt,
		LastLogin: user.LastLoginAt, CustomAuth: user.CustomAuth,
	}
	if user.LastRefreshAt != "" {
		at, err := time.Parse(time.RFC3339, user.LastRefreshAt)
		if a.LastRefresh = ceilMilli(at); err != nil {
			a.LastRefresh = Unreadable
		}
	}
	if user.CustomAttributes != "" {
		_ = json.Unmarshal([]byte(user.CustomAttributes), &a.Claims) // Authentication takes nothing but JSON
	}
	for _, p := range user.ProviderUserInfo {
		switch p.ProviderId {
		case passwordProvider:
			a.Password = true
		case phoneProvider:
		default:
			a.Providers = append(a.Providers, Provider{
				ID: p.ProviderId, UID: p.RawId, Email: p.Email, DisplayName: p.DisplayName, PhotoURL: p.PhotoUrl,
			})
		}
	}
	return a
}

// ceilMilli returns an instant in milliseconds since 1970, rounded up.
func ceilMilli(at time.Time) int64 { return at.Add(time.Millisecond - time.Nanosecond).UnixMilli() }

// LastActive returns when somebody last signed in, got a token or signed up: the latest of the three. ok is false if that cannot
// be told.
func (a Account) LastActive() (at time.Time, ok bool) {
	created, ok := a.CreatedAt()
	if a.LastLogin < 0 || a.LastRefresh < 0 {
		return at, false
	}
	return time.UnixMilli(max(created.UnixMilli(), a.LastLogin, a.LastRefresh)).UTC(), ok
}

// CreatedAt returns when the account was made; ok is false if that cannot be told.
func (a Account) CreatedAt() (at time.Time, ok bool) {
	return time.UnixMilli(a.Created).UTC(), a.Created > 0
}

// Anonymous reports whether the account comes from an anonymous sign-in and was never anything else: it has no address, no number
// and no provider, and nobody has signed in to it by a custom token. An account that nobody has signed in to was made by an
// administrator.
func (a Account) Anonymous() bool {
	return a.Email == "" && a.PhoneNumber == "" && len(a.Providers) == 0 && !a.Password && !a.CustomAuth && a.LastLogin != 0
}

// Unverified reports whether nothing proves whose the account is: its address is not verified, and a password is all that one can
// sign in with.
func (a Account) Unverified() bool {
	return a.Email != "" && !a.EmailVerified && a.Password && a.PhoneNumber == "" && len(a.Providers) == 0 && !a.CustomAuth
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
