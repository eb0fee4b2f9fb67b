package enginetest

import (
	"context"
	"fmt"
	"runtime"
	"testing"
)

// Example runs f like a test, for examples, which have no [testing.T]. It prints failures, so that the example's output
// differs from the expected one.
func Example(f func(t testing.TB)) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &example{ctx: ctx}
	ended := make(chan struct{})
	go func() { // Fatal ends the goroutine
		defer close(ended)
		defer func() {
			cancel()
			for len(t.cleanups) > 0 {
				last := t.cleanups[len(t.cleanups)-1]
				t.cleanups = t.cleanups[:len(t.cleanups)-1]
				last()
			}
		}()
		f(t)
	}()
	<-ended
}

// example implements as much of testing.TB as [Function] and the projects need.
type example struct {
	testing.TB
	ctx      context.Context //nolint:containedctx // as in testing.T
	failed   bool
	cleanups []func()
}

// Helper implements testing.TB.
func (*example) Helper() {}

// Name implements testing.TB.
func (*example) Name() string { return "Example" }

// Context implements testing.TB.
func (t *example) Context() context.Context { return t.ctx }

// Cleanup implements testing.TB.
func (t *example) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// Failed implements testing.TB.
func (t *example) Failed() bool { return t.failed }

// Log implements testing.TB.
func (*example) Log(args ...any) { fmt.Println(args...) }

// Logf implements testing.TB.
func (t *example) Logf(format string, args ...any) { t.Log(fmt.Sprintf(format, args...)) }

// Error implements testing.TB.
func (t *example) Error(args ...any) {
	t.failed = true
	t.Log(args...)
}

// Errorf implements testing.TB.
func (t *example) Errorf(format string, args ...any) { t.Error(fmt.Sprintf(format, args...)) }

// Fatal implements testing.TB.
func (t *example) Fatal(args ...any) {
	t.Error(args...)
	runtime.Goexit()
}

// Fatalf implements testing.TB.
func (t *example) Fatalf(format string, args ...any) { t.Fatal(fmt.Sprintf(format, args...)) }
