package load_test

import (
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/firesweep/firesweep/emulator/bundletest"
)

// balancer stands for Cloud Run: behind one address are several processes of the function, each of which serves one request at a
// time. One that was killed is replaced, and the request that it served is answered with an error.
type balancer struct {
	start func() *bundletest.Process
	url   string
	free  chan *bundletest.Process

	mu       sync.Mutex
	moments  *rand.Rand
	kills    int                 // that are left
	struck   int                 // requests that a kill has ended
	requests int                 // of shards
	took     time.Duration       // the requests of shards, together
	alone    *bundletest.Process // serves the request that is no shard's
}

func newBalancer(t *testing.T, processes int, environment map[string]string) *balancer {
	t.Helper()
	b := &balancer{
		start:   func() *bundletest.Process { return bundletest.Start(t, job, environment) },
		free:    make(chan *bundletest.Process, processes),
		moments: rand.New(rand.NewPCG(2026, 14)),
	}
	for range processes {
		b.free <- b.start()
	}
	server := httptest.NewServer(b)
	t.Cleanup(server.Close)
	b.url = server.URL
	return b
}

// ServeHTTP hands a request to a process that is free. The process sees the balancer's address as its own.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p := <-b.free
	begun, spared := time.Now(), b.doom(r, p)
	target, err := url.Parse(p.URL())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	killed := false
	proxy := httputil.ReverseProxy{
		Rewrite: func(out *httputil.ProxyRequest) { out.SetURL(target); out.Out.Host = out.In.Host },
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			killed = true
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
	b.mu.Lock()
	if b.alone == p {
		b.alone = nil
	}
	if isShard(r) {
		b.requests++
		b.took += time.Since(begun)
		if killed {
			b.struck++
		}
	}
	b.mu.Unlock()
	if !spared() {
		p = b.start()
	}
	b.free <- p
}

func isShard(r *http.Request) bool { return r.Header.Get("Firesweep-Continues") != "" }

// doom has a process killed at a moment of the time that a shard's request takes, as long as kills are left, at every second
// request. The function it returns is to be called when the request has ended, and returns false if the process has been killed.
func (b *balancer) doom(r *http.Request, p *bundletest.Process) (spared func() bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !isShard(r) {
		b.alone = p
		return p.Lives
	}
	if b.kills == 0 || b.moments.IntN(2) == 0 {
		return p.Lives
	}
	b.kills--
	kill := time.AfterFunc(time.Duration(b.moments.Float64()*float64(b.took)/float64(b.requests)), p.Stop)
	return func() bool {
		if !kill.Stop() {
			p.Stop() // or wait for the end of it
		}
		return p.Lives()
	}
}

// killAlone kills the process that serves a request which is no shard's.
func (b *balancer) killAlone() {
	b.mu.Lock()
	p := b.alone
	b.mu.Unlock()
	if p != nil {
		p.Stop()
	}
}
