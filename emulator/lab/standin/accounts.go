package standin

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/time/rate"
)

// Google's limits of Authentication, for a project: calls a second, and accounts of a call.
const (
	batchesPerSecond = 1
	singlesPerSecond = 10
	maxBatchDelete   = 1000
	maxLookup        = 100
)

// authentication is the service of Authentication, with what deletes accounts and looks at them.
type authentication struct {
	project  string
	accounts Accounts
	created  string // milliseconds since 1970
	carry    func(of service, answer func()) outcome
	// A second's worth may come at once, for a link carries what was sent evenly unevenly.
	batches, singles *rate.Limiter

	mu   sync.Mutex
	gone bits
}

func newAuthentication(project string, w World, carry func(service, func()) outcome) *authentication {
	return &authentication{
		project: project, accounts: w.Accounts, created: strconv.FormatInt(w.Written.UnixMilli(), 10), carry: carry,
		batches: rate.NewLimiter(batchesPerSecond, 2), singles: rate.NewLimiter(singlesPerSecond, singlesPerSecond),
	}
}

// ServeHTTP implements http.Handler.
func (a *authentication) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, answer := http.StatusNotFound, any(nil)
	became := a.carry(storage, func() {
		var sent struct {
			LocalIDs []string        `json:"localIds"`
			LocalID  json.RawMessage `json:"localId"` // a text, or texts
			Force    bool            `json:"force"`
		}
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			status = http.StatusBadRequest
			return
		}
		call, _ := strings.CutPrefix(r.URL.Path, "/v1/projects/"+a.project+"/accounts:")
		switch {
		case r.Method != http.MethodPost:
		case call == "lookup":
			status, answer = a.lookup(sent.LocalID)
		case call == "delete":
			status, answer = a.deleteOne(sent.LocalID)
		case call == "batchDelete":
			status, answer = a.deleteMany(sent.LocalIDs, sent.Force)
		}
	})
	if became != carried {
		status, answer = httpStatus(became), nil
	}
	if status != http.StatusOK {
		message := map[int]string{http.StatusTooManyRequests: "QUOTA_EXCEEDED", http.StatusBadRequest: "INVALID_ARGUMENT"}[status]
		if text, is := answer.(string); is {
			message = text
		}
		answer = map[string]any{"error": map[string]any{"code": status, "message": message}}
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(answer) // whoever asked may be gone
}

func (a *authentication) lookup(ids json.RawMessage) (int, any) {
	var uids []string
	if json.Unmarshal(ids, &uids) != nil || len(uids) > maxLookup {
		return http.StatusBadRequest, nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	users := []map[string]any{}
	for _, uid := range uids {
		if i, found := a.accounts.find(uid); found && !a.gone.has(i) {
			users = append(users, map[string]any{"localId": uid, "createdAt": a.created, "lastLoginAt": a.created, "email": uid + "@example.com"})
		}
	}
	if len(users) == 0 {
		return http.StatusOK, map[string]any{"kind": "identitytoolkit#GetAccountInfoResponse"}
	}
	return http.StatusOK, map[string]any{"kind": "identitytoolkit#GetAccountInfoResponse", "users": users}
}

func (a *authentication) deleteOne(id json.RawMessage) (int, any) {
	var uid string
	switch {
	case json.Unmarshal(id, &uid) != nil:
		return http.StatusBadRequest, nil
	case !a.singles.Allow():
		return http.StatusTooManyRequests, nil
	case !a.delete(uid):
		return http.StatusBadRequest, "USER_NOT_FOUND"
	}
	return http.StatusOK, map[string]any{"kind": "identitytoolkit#DeleteAccountResponse"}
}

func (a *authentication) deleteMany(uids []string, force bool) (int, any) {
	switch {
	case len(uids) == 0 || len(uids) > maxBatchDelete || !force: // an account that is not disabled is deleted by force only
		return http.StatusBadRequest, nil
	case !a.batches.Allow():
		return http.StatusTooManyRequests, nil
	}
	for _, uid := range uids {
		a.delete(uid)
	}
	return http.StatusOK, map[string]any{}
}

// delete reports whether there was such an account.
func (a *authentication) delete(uid string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	i, found := a.accounts.find(uid)
	return found && a.gone.add(i, a.accounts.Len)
}
