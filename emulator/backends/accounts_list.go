package backends

import (
	"maps"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// How many users a page of a listing has.
const (
	usualBatchGet   = 20
	largestBatchGet = 1000
)

// tokenPrefix is how a page's token begins. The last id of the page before follows it.
const tokenPrefix = "page:"

// list returns a page of users, ordered by id. Google's pages have that order too, but it is not documented, and neither is the
// form of a page's token, for which no id can be taken here.
func (p *accounts) list(query url.Values) (any, *apiError) {
	limit := usualBatchGet
	if text := query.Get("maxResults"); text != "" {
		var err error
		if limit, err = strconv.Atoi(text); err != nil || limit < 1 || limit > largestBatchGet {
			return nil, invalid("INVALID_PAGE_SELECTION : maxResults is from 1 to 1000.")
		}
	}
	token := query.Get("nextPageToken")
	after, ok := strings.CutPrefix(token, tokenPrefix)
	if token != "" && (!ok || after == "") {
		return nil, invalid("INVALID_PAGE_SELECTION")
	}
	ids := slices.Sorted(maps.Keys(p.byID))
	if after != "" {
		ids = ids[sort.SearchStrings(ids, after+"\x00"):]
	}
	answer := account{"kind": "identitytoolkit#DownloadAccountResponse"}
	if len(ids) > limit {
		ids = ids[:limit]
		answer["nextPageToken"] = tokenPrefix + ids[limit-1]
	}
	users := make([]account, len(ids))
	for i, id := range ids {
		users[i] = p.byID[id]
	}
	if len(users) > 0 {
		answer["users"] = users
	}
	return answer, nil
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

// Set changes fields of a user's record that only Google itself sets, such as lastRefreshAt and customAuth. It removes a field
// that is nil. It reports whether the user exists.
func (s *AuthServer) Set(project, uid string, fields map[string]any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := s.project(project).byID[uid]
	if user == nil {
		return false
	}
	for name, value := range fields {
		if user[name] = value; value == nil {
			delete(user, name)
		}
	}
	return true
}
