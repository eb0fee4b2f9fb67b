package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"

	"golang.org/x/time/rate"

	"github.com/firesweep/firesweep/emulator/backends"
)

// Google's limits of Authentication for a project: calls a second. A second's worth may come at once, for a link carries what was
// sent evenly unevenly.
const (
	batchesPerSecond = 1
	singlesPerSecond = 10
)

// newAuthentication returns the local Authentication with accounts, behind Google's limits.
func newAuthentication(project string, uids []string) (http.Handler, error) {
	auth := backends.NewAuth()
	for some := range slices.Chunk(uids, 1000) {
		users := make([]map[string]any, len(some))
		for i, uid := range some {
			users[i] = map[string]any{
				"localId": uid, "createdAt": written.UnixMilli(), "lastLoginAt": written.UnixMilli(), "email": uid + "@example.com",
			}
		}
		body, err := json.Marshal(map[string]any{"users": users})
		if err != nil {
			return nil, err
		}
		answer := httptest.NewRecorder()
		path := "/v1/projects/" + project + "/accounts:batchCreate"
		auth.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, path, bytes.NewReader(body)))
		if answer.Code != http.StatusOK {
			return nil, fmt.Errorf("make accounts: %d %s", answer.Code, answer.Body)
		}
	}
	batches, singles := rate.NewLimiter(batchesPerSecond, 2*batchesPerSecond), rate.NewLimiter(singlesPerSecond, singlesPerSecond)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		many, one := strings.HasSuffix(r.URL.Path, ":batchDelete"), strings.HasSuffix(r.URL.Path, ":delete")
		if many && !batches.Allow() || one && !singles.Allow() {
			http.Error(w, `{"error":{"code":429,"message":"QUOTA_EXCEEDED"}}`, http.StatusTooManyRequests)
			return
		}
		auth.ServeHTTP(w, r)
	}), nil
}
