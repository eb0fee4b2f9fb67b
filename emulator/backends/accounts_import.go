package backends

import (
	"fmt"
	"maps"
	"strconv"
	"strings"
	"time"
)

const largestBatchCreate = 1000

// batchCreate imports users. Like the API it compares addresses and identities only if it is asked for a sanity check, and phone
// numbers never. It does not check whether the providers are enabled, which the API does then as well.
//
// Google contradicts itself about a user who is there: the API's reference says that one is replaced only if allowOverwrite is
// true, and Firebase's documentation that its SDK, which does not send the field, replaces one. So here a user stays only if the
// field is sent as false: what relies on that elsewhere shows.
func (p *accounts) batchCreate(request struct {
	Users          []account
	SanityCheck    bool
	AllowOverwrite *bool
}) (any, *apiError) {
	users, keep := request.Users, request.AllowOverwrite != nil && !*request.AllowOverwrite
	if len(users) == 0 || len(users) > largestBatchCreate {
		return nil, invalid("MISSING_USER_ACCOUNT")
	}
	if twice := duplicate(users, request.SanityCheck, keep); twice != "" {
		return nil, invalid(twice)
	}
	errors := []account{}
	for i, given := range users {
		uid := textOf(given, "localId")
		why := ""
		switch {
		case uid == "":
			why = "localId is missing"
		case request.SanityCheck:
			why = p.taken(uid, given)
		}
		if why == "" && keep && p.byID[uid] != nil {
			why = "localId belongs to an existing account - can not overwrite."
		}
		if why != "" {
			errors = append(errors, account{"index": i, "message": why})
			continue
		}
		p.byID[uid] = recorded(given)
	}
	return account{"error": errors}, nil
}

// recorded returns the record of a user who is created or imported.
func recorded(given account) account {
	user := maps.Clone(given)
	hasPassword := user["password"] != nil || user["passwordHash"] != nil
	for _, secret := range []string{"password", "passwordHash", "salt"} {
		delete(user, secret) // a caller needs another permission to read it
	}
	user["providerUserInfo"] = providersOf(user, hasPassword)
	for _, field := range []string{"createdAt", "lastLoginAt"} { // Firebase's SDK sends numbers; answers have texts
		if n, isNumber := user[field].(float64); isNumber {
			user[field] = strconv.FormatInt(int64(n), 10)
		}
	}
	if user["createdAt"] == nil {
		user["createdAt"] = strconv.FormatInt(time.Now().UnixMilli(), 10)
	}
	return user
}

// taken says which other user has the address or an identity of one who is imported; empty: nobody.
func (p *accounts) taken(uid string, given account) string {
	for _, id := range identities(given) {
		for other, user := range p.byID {
			if other != uid && hasIdentity(user, id["providerId"], id["rawId"]) {
				return "raw id exists in other account in database"
			}
		}
	}
	if p.anotherHas("email", given, uid) {
		return "email exists in other account in database"
	}
	return ""
}

// duplicate says what users of one import have in common, because of which none of them is imported.
func duplicate(users []account, sane, uids bool) string {
	seen := map[string]bool{}
	twice := ""
	see := func(code, value string) {
		key := code + " : " + value
		if twice == "" && seen[key] {
			twice = key
		}
		seen[key] = true
	}
	for _, user := range users {
		if email := textOf(user, "email"); sane && email != "" {
			see("DUPLICATE_EMAIL", strings.ToLower(email))
		}
		for _, id := range identities(user) {
			if sane {
				see("DUPLICATE_RAW_ID", fmt.Sprintf("Provider id(%v), Raw id(%v)", id["providerId"], id["rawId"]))
			}
		}
		if uids {
			see("DUPLICATE_LOCAL_ID", textOf(user, "localId"))
		}
	}
	return twice
}

// identities returns what a user who is created or imported has at providers. Those of the address and the number are made of
// these.
func identities(user account) (all []account) {
	given, _ := user["providerUserInfo"].([]any)
	for _, one := range given {
		if p, is := one.(account); is && p["providerId"] != "password" && p["providerId"] != "phone" {
			all = append(all, p)
		}
	}
	return all
}

// providersOf returns the providers of a user that is created or imported: the given ones, and those of the e-mail address and
// the phone number.
func providersOf(user account, hasPassword bool) []any {
	providers := []any{}
	for _, one := range identities(user) {
		providers = append(providers, one)
	}
	if email := textOf(user, "email"); email != "" && hasPassword {
		providers = append(providers, account{"providerId": "password", "email": email, "rawId": email, "federatedId": email})
	}
	if phone := textOf(user, "phoneNumber"); phone != "" {
		providers = append(providers, account{"providerId": "phone", "phoneNumber": phone, "rawId": phone})
	}
	return providers
}
