package backends

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// Guard keeps web pages of other origins from what is served on this machine. A browser says from which page a request comes
// (Sec-Fetch-Site, Origin); SDKs and other programs say nothing and are let through. A page whose own name leads to 127.0.0.1
// (DNS rebinding) is recognised by the Host header. refuse answers a request that is not let through.
func Guard(next http.Handler, refuse func(w http.ResponseWriter, status int, code, message string)) http.Handler {
	origins := http.NewCrossOriginProtection()
	origins.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusForbidden, "other_origin",
			fmt.Sprintf("a web page of another origin may not call this: open http://%s/ instead", r.Host))
	}))
	guarded := origins.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !loopback(r.Host) {
			refuse(w, http.StatusForbidden, "other_host",
				"this is for this machine only: call it as 127.0.0.1 or localhost, with its port")
			return
		}
		guarded.ServeHTTP(w, r)
	})
}

// loopback reports whether a Host header names this machine, without asking a name server.
func loopback(hostport string) bool {
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		host = strings.Trim(hostport, "[]")
	}
	ip := net.ParseIP(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || ip != nil && ip.IsLoopback()
}
