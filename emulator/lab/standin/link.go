package standin

import (
	"context"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
)

// Link is what lies between a program and a service.
type Link struct {
	// Answer is the time until an answer, a quarter more or less by chance; a page of a listing of Cloud Storage takes three times
	// as long. The n-th request waits as long in every run.
	Answer time.Duration
	// Lookups is how many counts of documents by their names a second Firestore bears at first, and half as many more every five
	// minutes. Those that come faster wait for their turn; 0: none does.
	Lookups float64
}

// Traffic is what a link has carried.
type Traffic struct {
	Requests int64 // answered
	Listings int64 // pages of listings among them
	// Chain is the length of the longest chain of requests each of which was sent after the answer to the one before had
	// come. Nobody can see whether it needed that answer, so this is an upper bound.
	Chain int64
	Turn  time.Duration // the longest that a lookup waited for its turn
}

// path carries requests over a link.
type path struct {
	link Link
	sent atomic.Uint64

	mu      sync.Mutex
	traffic Traffic
	began   time.Time // when the first lookup came
	until   time.Time // when the service has done those that came
}

const (
	spread      = 0.25            // by which part of its time an answer comes earlier or later
	moreLookups = 5 * time.Minute // how often the service bears half as many lookups more
)

// turn returns how long a lookup that comes now waits for its turn.
func (p *path) turn(now time.Time) time.Duration {
	if p.link.Lookups == 0 {
		return 0
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.began.IsZero() {
		p.began = now
	}
	if p.until.Before(now) {
		p.until = now
	}
	bears := p.link.Lookups * math.Pow(1.5, float64(now.Sub(p.began)/moreLookups))
	p.until = p.until.Add(time.Duration(float64(time.Second) / bears))
	wait := p.until.Sub(now)
	p.traffic.Turn = max(p.traffic.Turn, wait)
	return wait
}

// isListing reports whether a request asks Cloud Storage for a page of a listing.
func isListing(r *http.Request) bool { return strings.HasSuffix(r.URL.EscapedPath(), "/o") }

// carry waits as long as the link says, and answers. A page of a listing takes three times as long as another answer.
func (p *path) carry(listing bool, answer func()) {
	wait := float64(p.link.Answer) * (1 - spread + 2*spread*float64(Hash(p.sent.Add(1), 0))/math.MaxUint64)
	if listing {
		wait *= 3
	}
	p.mu.Lock()
	depth := p.traffic.Chain + 1
	p.mu.Unlock()
	if wait > 0 {
		time.Sleep(time.Duration(wait))
	}
	answer()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.traffic.Requests++
	if listing {
		p.traffic.Listings++
	}
	p.traffic.Chain = max(p.traffic.Chain, depth)
}

// Hash returns a number that looks random and is always the same for the same two.
func Hash(n, question uint64) uint64 {
	x := 0x9e3779b97f4a7c15*(n+1) + 0xbf58476d1ce4e5b9*question
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (p *path) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	p.carry(false, func() { answer, err = handle(ctx, req) })
	return answer, err
}

func (p *path) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	p.carry(false, func() { err = handle(srv, stream) })
	return err
}

// before puts the link before a service of HTTP.
func (p *path) before(service http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.carry(r.Method == http.MethodGet && isListing(r), func() { service.ServeHTTP(w, r) })
	})
}
