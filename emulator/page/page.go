// Package page serves the page at the functions' address: the jobs, what each would do, what it did, and how to take that back.
//
// The page calls the functions as Cloud Scheduler does, and shows their reports. What these do not hold, such as the
// documents before and after a run, it asks of an API below [Prefix], where no function can be. Both are for this machine
// alone: see guard.go. Nothing of this is deployed.
package page

import (
	"embed"
	"io/fs"
	"net/http"
	"time"

	"github.com/firesweep/firesweep/emulator/backends"
)

// Prefix begins the paths of what belongs to the page. The name of a function begins with a letter.
const Prefix = "/-/"

// Options say what the page is about.
type Options struct {
	Getenv   func(string) string // the functions' environment
	Backends *backends.Backends  // what they work on
	Ahead    time.Duration       // how far ahead of the clock the page looks unless it is told otherwise
}

//go:embed assets
var assets embed.FS

// Handler serves the page at /, what belongs to it below [Prefix], and everything else by the functions. It refuses requests
// that name another host than this machine, and what web pages of other origins send.
func Handler(o Options, functions http.Handler) http.Handler {
	files, err := fs.Sub(assets, "assets")
	if err != nil {
		panic(err) // the name is that of the embedded folder
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
	return guard(mux)
}

// server answers the page's questions.
type server struct{ Options }
