package page

import (
	"fmt"
	"net"
	"net/http"
	"strings"
)

// guard prevents web pages of other origins from running cleanups on this machine. A browser says from which page a request
// comes (Sec-Fetch-Site, Origin). A page whose own name leads to 127.0.0.1 (DNS rebinding) is recognised by the Host header.
func guard(next http.Handler) http.Handler {
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

// contentPolicy lets the page load and call only this server. No other page may show it in a frame, where clicks could be
// stolen.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// ours sets the headers of the page's files and API.
func ours(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", contentPolicy)
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cache-Control", "no-store") // another version of the program may serve next
		next.ServeHTTP(w, r)
	})
}
