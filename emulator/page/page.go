// Package page serves the page at the functions' address. It shows what each job would delete, runs it, shows what was deleted
// and changed, and takes runs back.
//
// The page calls the functions as Cloud Scheduler does, and asks Firestore's emulator what documents hold. What neither of them
// can tell, it asks an API below [Prefix], where no function can be. All of it is for this machine only: see [backends.Guard].
// Nothing of it is deployed.
package page

import (
	"embed"
	"io/fs"
	"net/http"
	"net/http/httputil"
	"net/url"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/functions"
)

// Prefix begins the paths of the page's files and API. A function's name begins with a letter, so no function has such a path.
const Prefix = "/-/"

// Options are what the page works with.
type Options struct {
	Getenv     func(string) string // the functions' environment
	List       functions.List      // the functions that are served
	SoftDelete bool                // Storage keeps deleted files; the Firebase Emulator Suite's does not
	Ahead      time.Duration       // how far ahead of the clock jobs are planned and run
}

//go:embed assets
var assets embed.FS

// Handler serves the page at /, and the page's files and API below [Prefix]. All other requests go to the functions. It refuses
// requests for another host than this machine, and requests from web pages of other origins.
func Handler(o Options, functions http.Handler) http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // cannot happen: the folder is embedded
	}
	mux := http.NewServeMux()
	mux.Handle("/", functions)
	mux.Handle("GET /{$}", ours(http.FileServerFS(files)))
	mux.Handle(Prefix, ours(http.StripPrefix(Prefix, http.FileServerFS(files))))
	mux.Handle("POST "+Prefix+"api/jobs", call(o.jobs))
	mux.Handle("POST "+Prefix+"api/did", call(o.did))
	mux.Handle("POST "+Prefix+"api/undo", call(o.Undo))
	mux.Handle("POST "+Prefix+"documents/{database}", ours(o.documents()))
	return backends.Guard(mux, refuse)
}

// documents hands requests for documents to Firestore's emulator. Only batchGet is called, which changes nothing, and of what the
// browser says only the body is passed on: the emulator lets every web page read its answers, and this page does not.
func (o Options) documents() http.Handler {
	return &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			path := "/v1/projects/" + o.Getenv("GOOGLE_CLOUD_PROJECT") + "/databases/" + r.In.PathValue("database") + "/documents:batchGet"
			r.Out.URL = &url.URL{Scheme: "http", Host: o.Getenv(backends.FirestoreHost), Path: path}
			r.Out.Host = ""
			r.Out.Header = http.Header{"Authorization": {"Bearer owner"}, "Content-Type": {"application/json"}}
		},
		ModifyResponse: func(r *http.Response) error {
			r.Header = http.Header{"Content-Type": {"application/json"}}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			refuse(w, http.StatusBadGateway, "no_answer", "Firestore's emulator does not answer: "+err.Error())
		},
	}
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
