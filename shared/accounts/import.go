package accounts

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/identitytoolkit/v1"
)

// Importer looks at accounts and makes those that an undo brings back. No run holds one.
type Importer struct{ Reader }

// Importer returns what imports the project's accounts.
func (c *Client) Importer() Importer { return Importer{Reader{c}} }

// Import makes accounts, in one call for up to 1000 of them. It replaces none, and makes none whose address or identity at a
// provider another account has: Authentication itself decides, so that nobody can sign up in between. Phone numbers it does not
// compare: look whether they are taken before (see [Reader.Sharing]).
//
// It returns why accounts were refused, by uid. If the answer to a call was lost, the call is made again; what the first had made
// is then refused as being there. After an error, any of the accounts may have been made.
func (i Importer) Import(ctx context.Context, all []Account) (refused map[string]string, err error) {
	refused = map[string]string{}
	for chunk := range slices.Chunk(all, maxUsers) {
		some, err := i.importSome(ctx, chunk)
		maps.Copy(refused, some)
		if err != nil {
			return refused, fmt.Errorf("import %d accounts: %w", len(chunk), readable(err))
		}
	}
	return refused, nil
}

type upload = identitytoolkit.GoogleCloudIdentitytoolkitV1UploadAccountRequest

// importSome imports at most [maxUsers] accounts.
func (i Importer) importSome(ctx context.Context, some []Account) (map[string]string, error) {
	uids := make([]string, len(some))
	for n, a := range some {
		uids[n] = a.UID
	}
	create := i.c.users.BatchCreate(i.c.project, uploadOf(some)).Context(ctx)
	answer, err := repeated(ctx, i.c, "ImportUsers", uids, create.Do)
	var whole *googleapi.Error
	if errors.As(err, &whole) && whole.Code == http.StatusBadRequest && !isQuota(err) {
		return i.halves(ctx, some, whole.Message)
	}
	if err != nil {
		return nil, err
	}
	refused := map[string]string{}
	for _, e := range answer.Error {
		if e.Index < 0 || int(e.Index) >= len(some) {
			return nil, fmt.Errorf("the answer names user %d of %d: %s", e.Index, len(some), e.Message)
		}
		refused[uids[e.Index]] = e.Message
	}
	return refused, nil
}

// halves imports what was refused as a whole, because of what one account has or two of them share, so that it keeps nobody else
// from coming back.
func (i Importer) halves(ctx context.Context, some []Account, reason string) (map[string]string, error) {
	if len(some) == 1 {
		return map[string]string{some[0].UID: reason}, nil
	}
	refused := map[string]string{}
	for _, half := range [][]Account{some[:len(some)/2], some[len(some)/2:]} {
		of, err := i.importSome(ctx, half)
		if err != nil {
			return nil, err
		}
		maps.Copy(refused, of)
	}
	return refused, nil
}

// uploadOf returns the request that makes accounts. An account that had a password has one that nobody knows: no text is known
// that has its hash.
func uploadOf(all []Account) *upload {
	request := &upload{
		SanityCheck: true, AllowOverwrite: false, ForceSendFields: []string{"AllowOverwrite"},
		HashAlgorithm: "HMAC_SHA256", SignerKey: secret(),
	}
	for _, a := range all {
		request.Users = append(request.Users, a.user())
	}
	return request
}

// user returns the account as Authentication takes it. It takes no time of a token, so that of a later one counts as the last
// sign-in: else an account would come back older than it was.
func (a Account) user() *userInfo {
	user := &userInfo{
		LocalId: a.UID, Email: a.Email, EmailVerified: a.EmailVerified, PhoneNumber: a.PhoneNumber, DisplayName: a.DisplayName,
		PhotoUrl: a.PhotoURL, Disabled: a.Disabled, CreatedAt: max(0, a.Created), LastLoginAt: max(0, a.LastLogin, a.LastRefresh),
	}
	if len(a.Claims) > 0 {
		claims, _ := json.Marshal(a.Claims) // they came as JSON
		user.CustomAttributes = string(claims)
	}
	for _, p := range a.Providers {
		user.ProviderUserInfo = append(user.ProviderUserInfo, &identitytoolkit.GoogleCloudIdentitytoolkitV1ProviderUserInfo{
			ProviderId: p.ID, RawId: p.UID, Email: p.Email, DisplayName: p.DisplayName, PhotoUrl: p.PhotoURL,
		})
	}
	if a.Password {
		user.PasswordHash = secret()
	}
	return user
}

func secret() string {
	random := make([]byte, 32)
	_, _ = rand.Read(random) // documented never to fail
	return base64.RawURLEncoding.EncodeToString(random)
}
