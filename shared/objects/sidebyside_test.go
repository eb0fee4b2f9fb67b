package objects

import (
	"context"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"
)

// TestListingSideBySide has each page take a tenth of a second, of a clock that goes on only while all wait for it. Page
// after page, 50 pages take five seconds.
func TestListingSideBySide(t *testing.T) {
	t.Parallel()
	names := named(rand.New(rand.NewPCG(1, 2)), 50_000)
	for what, most := range map[string]time.Duration{"random": 2 * time.Second, "of users": 2 * time.Second, "in time": 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			b := &fakeBucket{names: names[what]}
			l := listing{
				list: func(ctx context.Context, prefix string, p *part) ([]Object, bool, error) {
					time.Sleep(100 * time.Millisecond)
					return b.list(ctx, prefix, p)
				},
				ctx: t.Context(), prefix: "f/", answers: make(chan *part, maxAnswers), parts: []*part{{}},
			}
			began, n := time.Now(), 0
			if err := l.read(func(objects []Object) bool { n += len(objects); return true }); err != nil || n != 50_000 {
				t.Fatalf("%s: %d objects and %v", what, n, err)
			}
			if took := time.Since(began); took > most {
				t.Errorf("%s: 50 pages took as long as %d one after the other, want at most %d", what, took/(100*time.Millisecond), most/(100*time.Millisecond))
			}
		})
	}
}
