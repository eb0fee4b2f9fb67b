package backends

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
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
	byID   map[string]account
	failed map[string]string // why deleting a user fails, by id
}

// NewAuth returns a server without users, for who serves it in a way of their own.
func NewAuth() *AuthServer { return &AuthServer{projects: map[string]*accounts{}} }

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

// Clear deletes all users of the project, and ends what FailDelete began.
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

// accountRequest has the fields of all calls' requests.
type accountRequest struct {
	LocalID  any       `json:"localId"` // text, or texts in a lookup
	Email    any       `json:"email"`   // likewise
	Phone    any       `json:"phoneNumber"`
	IDs      []account `json:"federatedUserId"`
	LocalIDs []string  `json:"localIds"`
	Force    bool      `json:"force"`
	Users    []account `json:"users"`
	// Of an import.
	SanityCheck    bool  `json:"sanityCheck"`
	AllowOverwrite *bool `json:"allowOverwrite"`
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
	rest, ok := strings.CutPrefix(path, "/v1/projects/")
	project, call, _ := strings.Cut(rest, "/")
	project, err := url.PathUnescape(project)
	if !ok || err != nil {
		notImitated("Authentication", r).write(w)
		return
	}
	var raw account
	var request accountRequest
	if r.Method == http.MethodPost {
		body, failure := readAll(r.Body)
		if failure != nil {
			failure.write(w)
			return
		}
		if err := cmp.Or(json.Unmarshal(body, &raw), json.Unmarshal(body, &request)); err != nil {
			invalid("Invalid JSON payload received. " + err.Error()).write(w)
			return
		}
	}
	s.mu.Lock()
	answer, failure := s.project(project).call(r, call, raw, request)
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

// call answers a call. raw is the request's whole JSON.
func (p *accounts) call(r *http.Request, call string, raw account, request accountRequest) (any, *apiError) {
	uid, _ := request.LocalID.(string) // a lookup has several
	switch r.Method + " " + call {
	case "POST accounts":
		return p.create(uid, raw)
	case "POST accounts:lookup":
		return p.lookup(request), nil
	case "POST accounts:update":
		return p.update(uid, raw)
	case "POST accounts:delete":
		return p.delete(uid)
	case "POST accounts:batchDelete":
		return p.batchDelete(request)
	case "POST accounts:batchCreate":
		return p.batchCreate(request)
	case "GET accounts:batchGet":
		return p.list(r.URL.Query())
	}
	return nil, notImitated("Authentication", r)
}

func (p *accounts) create(uid string, given account) (any, *apiError) {
	if uid == "" {
		uid = rand.Text()
	}
	if p.byID[uid] != nil {
		return nil, invalid("DUPLICATE_LOCAL_ID")
	}
	if email, _ := given["email"].(string); p.emailTaken(email, uid) {
		return nil, invalid("EMAIL_EXISTS")
	}
	user := maps.Clone(given)
	hasPassword := user["password"] != nil
	delete(user, "password")
	user["localId"] = uid
	user["createdAt"] = strconv.FormatInt(time.Now().UnixMilli(), 10)
	user["providerUserInfo"] = providersOf(user, hasPassword)
	p.byID[uid] = user
	return account{"localId": uid}, nil
}

// emailTaken reports whether a user other than uid has the address.
func (p *accounts) emailTaken(email, uid string) bool {
	if email == "" {
		return false
	}
	for id, user := range p.byID {
		if other, _ := user["email"].(string); id != uid && strings.EqualFold(other, email) {
			return true
		}
	}
	return false
}

func (p *accounts) lookup(request accountRequest) any {
	uids := map[string]bool{} // each account is answered once, whatever names it
	for _, id := range texts(request.LocalID) {
		uids[id] = p.byID[id] != nil
	}
	emails, phones := texts(request.Email), texts(request.Phone)
	for uid, user := range p.byID {
		email, _ := user["email"].(string)
		phone, _ := user["phoneNumber"].(string)
		if slices.ContainsFunc(emails, func(e string) bool { return email != "" && strings.EqualFold(e, email) }) ||
			phone != "" && slices.Contains(phones, phone) ||
			slices.ContainsFunc(request.IDs, func(id account) bool { return hasIdentity(user, id) }) {
			uids[uid] = true
		}
	}
	var users []account
	for _, uid := range slices.Sorted(maps.Keys(uids)) {
		if uids[uid] {
			users = append(users, p.byID[uid])
		}
	}
	return account{"users": users}
}

// hasIdentity reports whether a user has an identity at a provider.
func hasIdentity(user, id account) bool {
	providers, _ := user["providerUserInfo"].([]any)
	return slices.ContainsFunc(providers, func(p any) bool {
		given, _ := p.(map[string]any)
		return given["providerId"] == id["providerId"] && given["rawId"] == id["rawId"]
	})
}

// texts returns the text, or the list of texts, in a JSON value.
func texts(value any) []string {
	switch value := value.(type) {
	case string:
		return []string{value}
	case []any:
		var all []string
		for _, item := range value {
			if text, ok := item.(string); ok {
				all = append(all, text)
			}
		}
		return all
	}
	return nil
}

// renamed maps fields of an update to those of a record, where their names differ.
var renamed = map[string]string{"disableUser": "disabled"}

// notRecorded are the fields of an update that a record does not have.
var notRecorded = []string{"password", "deleteAttribute", "deleteProvider", "linkProviderUserInfo"}

func (p *accounts) update(uid string, given account) (any, *apiError) {
	user := p.byID[uid]
	if user == nil {
		return nil, invalid("USER_NOT_FOUND")
	}
	if email, _ := given["email"].(string); p.emailTaken(email, uid) {
		return nil, invalid("EMAIL_EXISTS")
	}
	for key, value := range given {
		if !slices.Contains(notRecorded, key) {
			user[cmp.Or(renamed[key], key)] = value
		}
	}
	attributes := map[string]string{"DISPLAY_NAME": "displayName", "PHOTO_URL": "photoUrl"}
	for _, name := range texts(given["deleteAttribute"]) {
		delete(user, attributes[name])
	}
	if slices.Contains(texts(given["deleteProvider"]), "phone") {
		delete(user, "phoneNumber")
	}
	return account{"localId": uid}, nil
}

func (p *accounts) delete(uid string) (any, *apiError) {
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

func (p *accounts) batchDelete(request accountRequest) (any, *apiError) {
	if n := len(request.LocalIDs); n == 0 || n > largestBatchDelete {
		return nil, invalid("LOCAL_ID_LIST_EXCEEDS_LIMIT")
	}
	errors := []account{}
	for i, uid := range request.LocalIDs {
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
