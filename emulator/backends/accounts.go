package backends

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"

	"google.golang.org/api/identitytoolkit/v1"
	identitytoolkitv2 "google.golang.org/api/identitytoolkit/v2"
)

// AuthServer imitates the Identity Toolkit API in memory: the calls with which the Firebase Admin SDK manages users, and the
// Firebase emulator's call that deletes all users of a project.
type AuthServer struct {
	mu       sync.Mutex
	projects map[string]*accounts
}

// account is a user record, as in the API's JSON.
type account = map[string]any

// accounts are a project's users.
type accounts struct {
	byID    map[string]account
	failed  map[string]string // why deleting a user fails, by id
	tenants bool              // it may have tenants, which are not imitated
}

func newAuth() *AuthServer { return &AuthServer{projects: map[string]*accounts{}} }

// FailDelete makes every deletion of the user fail with the message, until it is called with an empty message.
func (s *AuthServer) FailDelete(project, uid, message string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if message == "" {
		delete(s.project(project).failed, uid)
		return
	}
	s.project(project).failed[uid] = message
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

// AllowTenants makes the project one that may have tenants.
func (s *AuthServer) AllowTenants(project string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.project(project).tenants = true
}

// Clear deletes all users of the project, and ends what FailDelete and AllowTenants began.
func (s *AuthServer) Clear(project string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.projects, project)
}

// project returns the project's users. The lock is held.
func (s *AuthServer) project(id string) *accounts {
	p := s.projects[id]
	if p == nil {
		p = &accounts{byID: map[string]account{}, failed: map[string]string{}}
		s.projects[id] = p
	}
	return p
}

// ServeHTTP implements http.Handler.
func (s *AuthServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), "/identitytoolkit.googleapis.com")
	if rest, ok := strings.CutPrefix(path, "/emulator/v1/projects/"); ok {
		if project, ok := strings.CutSuffix(rest, "/accounts"); ok && r.Method == http.MethodDelete {
			s.Clear(project)
			writeJSON(w, http.StatusOK, map[string]any{})
			return
		}
	}
	version, rest, ok := strings.Cut(path, "/projects/")
	project, call, _ := strings.Cut(rest, "/")
	project, err := url.PathUnescape(project)
	if !ok || err != nil {
		notImitated("Authentication", r).write(w)
		return
	}
	body, failure := readAll(r.Body)
	if failure != nil {
		failure.write(w)
		return
	}
	s.mu.Lock()
	answer, failure := s.project(project).call(r, version+" "+call, body)
	text, err := json.Marshal(answer) // under the lock, because records are changed under it
	s.mu.Unlock()
	switch {
	case failure != nil:
		failure.write(w)
	case err != nil:
		(&apiError{http.StatusInternalServerError, "internal", err.Error()}).write(w)
	default:
		writeJSON(w, http.StatusOK, json.RawMessage(text))
	}
}

// call answers a call with this body.
func (p *accounts) call(r *http.Request, call string, body []byte) (any, *apiError) {
	switch r.Method + " " + call {
	case "POST /v1 accounts":
		return answered(body, p.create)
	case "POST /v1 accounts:lookup":
		return answered(body, p.lookup)
	case "POST /v1 accounts:update":
		return answered(body, p.update)
	case "POST /v1 accounts:delete":
		return answered(body, p.delete)
	case "POST /v1 accounts:batchDelete":
		return answered(body, p.batchDelete)
	case "POST /v1 accounts:batchCreate":
		return answered(body, p.batchCreate)
	case "GET /v1 accounts:batchGet":
		return p.list(r.URL.Query())
	case "GET /v2 config":
		config := identitytoolkitv2.GoogleCloudIdentitytoolkitAdminV2Config{
			Name:        strings.TrimPrefix(r.URL.Path, "/identitytoolkit.googleapis.com/v2/"),
			MultiTenant: &identitytoolkitv2.GoogleCloudIdentitytoolkitAdminV2MultiTenantConfig{AllowTenants: p.tenants},
		}
		return config, nil
	}
	return nil, notImitated("Authentication", r)
}

// answered reads a call's JSON and answers it.
func answered[Q any](body []byte, answer func(Q) (any, *apiError)) (any, *apiError) {
	var question Q
	if err := json.Unmarshal(body, &question); err != nil {
		return nil, invalid("Invalid JSON payload received. " + err.Error())
	}
	return answer(question)
}

func (p *accounts) create(given account) (any, *apiError) {
	uid := cmp.Or(textOf(given, "localId"), rand.Text())
	if p.byID[uid] != nil {
		return nil, invalid("DUPLICATE_LOCAL_ID")
	}
	if failure := p.exists(given, uid); failure != nil {
		return nil, failure
	}
	user := maps.Clone(given)
	user["localId"] = uid
	p.byID[uid] = recorded(user)
	return account{"localId": uid}, nil
}

// textOf returns a field of an account; empty if it is no text.
func textOf(a account, field string) string {
	text, _ := a[field].(string)
	return text
}

// exists refuses what is given for a user if another has its address or its number.
func (p *accounts) exists(given account, uid string) *apiError {
	switch {
	case p.anotherHas("email", given, uid):
		return invalid("EMAIL_EXISTS")
	case p.anotherHas("phoneNumber", given, uid):
		return invalid("PHONE_NUMBER_EXISTS")
	}
	return nil
}

// anotherHas reports whether a user other than uid has the given address or number.
func (p *accounts) anotherHas(field string, given account, uid string) bool {
	value := textOf(given, field)
	for id, user := range p.byID {
		if value != "" && id != uid && strings.EqualFold(textOf(user, field), value) {
			return true
		}
	}
	return false
}

// lookup answers with the users that have an id, an address, a number or an identity that is asked for, each once.
func (p *accounts) lookup(q identitytoolkit.GoogleCloudIdentitytoolkitV1GetAccountInfoRequest) (any, *apiError) {
	wanted := map[string]bool{}
	for _, uid := range q.LocalId {
		wanted[uid] = true
	}
	users := []account{}
	for uid, user := range p.byID {
		email, phone := textOf(user, "email"), textOf(user, "phoneNumber")
		if wanted[uid] || phone != "" && slices.Contains(q.PhoneNumber, phone) ||
			slices.ContainsFunc(q.Email, func(e string) bool { return e != "" && strings.EqualFold(e, email) }) ||
			slices.ContainsFunc(q.FederatedUserId, func(id *federated) bool { return hasIdentity(user, id.ProviderId, id.RawId) }) {
			users = append(users, user)
		}
	}
	slices.SortFunc(users, func(a, b account) int { return cmp.Compare(textOf(a, "localId"), textOf(b, "localId")) })
	return account{"users": users}, nil
}

type federated = identitytoolkit.GoogleCloudIdentitytoolkitV1FederatedUserIdentifier

// hasIdentity reports whether a user has an identity at a provider.
func hasIdentity(user account, provider, id any) bool {
	providers, _ := user["providerUserInfo"].([]any)
	return slices.ContainsFunc(providers, func(p any) bool {
		given, _ := p.(account)
		return given["providerId"] == provider && given["rawId"] == id
	})
}

// renamed maps fields of an update to those of a record, where their names differ.
var renamed = map[string]string{"disableUser": "disabled"}

// notRecorded are the fields of an update that a record does not have.
var notRecorded = []string{"password", "deleteAttribute", "deleteProvider", "linkProviderUserInfo"}

func (p *accounts) update(given account) (any, *apiError) {
	uid := textOf(given, "localId")
	user := p.byID[uid]
	if user == nil {
		return nil, invalid("USER_NOT_FOUND")
	}
	if failure := p.exists(given, uid); failure != nil {
		return nil, failure
	}
	for key, value := range given {
		if !slices.Contains(notRecorded, key) {
			user[cmp.Or(renamed[key], key)] = value
		}
	}
	attributes := map[string]string{"DISPLAY_NAME": "displayName", "PHOTO_URL": "photoUrl"}
	names, _ := given["deleteAttribute"].([]any)
	for _, name := range names {
		text, _ := name.(string)
		delete(user, attributes[text])
	}
	if providers, _ := given["deleteProvider"].([]any); slices.Contains(providers, any("phone")) {
		delete(user, "phoneNumber")
	}
	return account{"localId": uid}, nil
}

func (p *accounts) delete(given account) (any, *apiError) {
	uid := textOf(given, "localId")
	if message := p.failed[uid]; message != "" {
		return nil, invalid(message) // the SDK would repeat the call after a 5xx
	}
	if p.byID[uid] == nil {
		return nil, invalid("USER_NOT_FOUND")
	}
	delete(p.byID, uid)
	return account{}, nil
}

const largestBatchDelete = 1000

type batchDeletion = identitytoolkit.GoogleCloudIdentitytoolkitV1BatchDeleteAccountsRequest

func (p *accounts) batchDelete(request batchDeletion) (any, *apiError) {
	if n := len(request.LocalIds); n == 0 || n > largestBatchDelete {
		return nil, invalid("LOCAL_ID_LIST_EXCEEDS_LIMIT")
	}
	errors := []account{}
	for i, uid := range request.LocalIds {
		message := p.failed[uid]
		user := p.byID[uid]
		if disabled, _ := user["disabled"].(bool); message == "" && user != nil && !disabled && !request.Force {
			message = "NOT_DISABLED : Disable the account before batch deletion."
		}
		if message != "" {
			errors = append(errors, account{"index": i, "localId": uid, "message": message})
			continue
		}
		delete(p.byID, uid) // a missing one counts as deleted
	}
	return account{"errors": errors}, nil
}

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
