package standin

import (
	"net/http"
	"strconv"
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
func newAuthentication(project string, uids []string) http.Handler {
	auth, at := backends.NewAuth(), strconv.FormatInt(written.UnixMilli(), 10)
	for _, uid := range uids {
		auth.Put(project, map[string]any{"localId": uid, "createdAt": at, "lastLoginAt": at, "email": uid + "@example.com"})
	}
	batches, singles := rate.NewLimiter(batchesPerSecond, 2*batchesPerSecond), rate.NewLimiter(singlesPerSecond, singlesPerSecond)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		many, one := strings.HasSuffix(r.URL.Path, ":batchDelete"), strings.HasSuffix(r.URL.Path, ":delete")
		if many && !batches.Allow() || one && !singles.Allow() {
			http.Error(w, `{"error":{"code":429,"message":"QUOTA_EXCEEDED"}}`, http.StatusTooManyRequests)
			return
		}
		auth.ServeHTTP(w, r)
	})
}
