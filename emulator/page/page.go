// Package page serves the page at the functions' address. It shows the jobs, what each would do and what it did, and takes runs
// back.
//
// The page calls the functions as Cloud Scheduler does, and shows their reports. It gets everything else, such as the documents
// before and after a run, from an API below [Prefix], where no function can be. The page and the API are for this machine
// only: see [backends.Guard]. Nothing of this is deployed.
package page

import (
	"embed"
	"io/fs"
	"net/http"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
)

// Prefix begins the paths of the page's files and API. A function's name begins with a letter, so no function has such a path.
const Prefix = "/-/"

// Options are what the page works with.
type Options struct {
	Getenv   func(string) string // the functions' environment
	Backends *backends.Backends  // the backends that they work on
	Ahead    time.Duration       // how far ahead of the clock the page plans, unless the user chooses another now
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
	s := &server{Options: o}
	mux := http.NewServeMux()
	mux.Handle("/", functions)
	mux.Handle("GET /{$}", ours(http.FileServerFS(files)))
	mux.Handle(Prefix, ours(http.StripPrefix(Prefix, http.FileServerFS(files))))
	mux.Handle(Prefix+"api/jobs", call(s.jobs))
	mux.Handle(Prefix+"api/runs", call(s.runs))
	mux.Handle(Prefix+"api/counts", call(s.counts))
	mux.Handle(Prefix+"api/documents", call(s.documents))
	mux.Handle(Prefix+"api/did", call(s.did))
	mux.Handle(Prefix+"api/advice", call(s.advice))
	mux.Handle(Prefix+"api/undo", call(s.undo))
	mux.Handle(Prefix+"api/release", call(s.release))
	return backends.Guard(mux, refuse)
}

// server answers the API's calls.
type server struct{ Options }
