package standin

import (
	"context"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Link is what lies between a program and a service: how long each answer takes, and how often one is lost. With the same seed,
// the n-th request waits as long and is lost or not in every run.
type Link struct {
	Firestore time.Duration // until an answer of Firestore or Cloud Tasks
	Listing   time.Duration // until a page of a listing of Cloud Storage
	Storage   time.Duration // until any other answer of Cloud Storage, or one of Authentication
	Spread    float64       // by which part of it an answer comes earlier or later, at most; 0.5: from a half to one and a half
	Errors    float64       // part of the requests that are answered Unavailable or 503, and not carried out
	Quota     float64       // part of the requests that are answered ResourceExhausted or 429, and not carried out
	Seed      uint64
	// Lookups is how many counts of documents by their names a second Firestore bears at first, and half as many more every five
	// minutes. Those that come faster wait for their turn; 0: none does.
	Lookups float64 `json:",omitempty"`
}

// Traffic is what a link has carried.
type Traffic struct {
	Requests int64 // answered
	Listings int64 // pages of listings among them
	Refused  int64 // requests that were answered with an error or for the quota
	// Chain is the length of the longest chain of requests each of which was sent after the answer to the one before had
	// come. Nobody can see whether it needed that answer, so this is an upper bound.
	Chain int64
	Waits time.Duration // what the requests of a chain waited together, at most
	Turn  time.Duration `json:",omitempty"` // the longest that a lookup waited for its turn
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

// moreLookups is how often the service bears half as many lookups more.
const moreLookups = 5 * time.Minute

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

// what is asked for.
type service int

const (
	firestore service = iota
	listing
	storage
)

type outcome int

const (
	carried outcome = iota
	unavailable
	exhausted
)

// carry waits as long as the link says, and calls answer unless the request gets lost.
func (p *path) carry(of service, answer func()) outcome {
	n := p.sent.Add(1)
	wait := map[service]time.Duration{firestore: p.link.Firestore, listing: p.link.Listing, storage: p.link.Storage}[of]
	wait = time.Duration(float64(wait) * (1 + p.link.Spread*(2*p.chance(n, 1)-1)))
	p.mu.Lock()
	depth, waits := p.traffic.Chain+1, p.traffic.Waits+wait
	p.mu.Unlock()
	if wait > 0 {
		time.Sleep(wait)
	}
	became := carried
	switch lost := p.chance(n, 2); {
	case lost < p.link.Errors:
		became = unavailable
	case lost < p.link.Errors+p.link.Quota:
		became = exhausted
	default:
		answer()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	t := &p.traffic
	t.Requests++
	if of == listing {
		t.Listings++
	}
	if became != carried {
		t.Refused++
	}
	t.Chain, t.Waits = max(t.Chain, depth), max(t.Waits, waits)
	return became
}

// chance returns a number from 0 up to 1, for one of several questions about the n-th request.
func (p *path) chance(n uint64, question uint64) float64 { return Chance(p.link.Seed, n, question) }

// Chance returns a number from 0 up to 1 that looks random and is always the same for the same three.
func Chance(seed, n, question uint64) float64 {
	return float64(Hash(seed, n, question)) / math.MaxUint64
}

// Hash returns a number that looks random and is always the same for the same three.
func Hash(seed, n, question uint64) uint64 {
	x := seed + 0x9e3779b97f4a7c15*(n+1) + 0xbf58476d1ce4e5b9*question
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (p *path) unary(ctx context.Context, req any, _ *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (answer any, err error) {
	became := p.carry(firestore, func() { answer, err = handle(ctx, req) })
	if became != carried {
		return nil, grpcError(became)
	}
	return answer, err
}

func (p *path) stream(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	if became := p.carry(firestore, func() { err = handle(srv, stream) }); became != carried {
		return grpcError(became)
	}
	return err
}

func grpcError(became outcome) error {
	if became == exhausted {
		return status.Error(codes.ResourceExhausted, "Quota exceeded.")
	}
	return status.Error(codes.Unavailable, "The service is currently unavailable.")
}

func httpStatus(became outcome) int {
	if became == exhausted {
		return http.StatusTooManyRequests
	}
	return http.StatusServiceUnavailable
}
