package functions

import (
	"context"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// A process on Cloud Run is sent SIGTERM ten seconds before it is killed. Runs then begin no more work, save where they
// got to and give their leases back, so that the next one need not wait for a dead one's lease to expire.
var (
	stopped, stop = context.WithCancel(context.Background())
	running       sync.WaitGroup
	watchOnce     sync.Once
)

// stopping serves requests with serve. They are canceled when the process is asked to stop. Elsewhere than on Cloud Run a
// program's own handling of signals is left alone.
func stopping(serve http.HandlerFunc) http.HandlerFunc {
	if os.Getenv("K_SERVICE") == "" {
		return serve
	}
	watchOnce.Do(watch)
	return func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer running.Done()
		ctx, cancel := context.WithCancel(r.Context())
		defer cancel()
		defer context.AfterFunc(stopped, cancel)()
		serve(w, r.WithContext(ctx))
		// The process may be about to end. An error says that nobody is there any more to read the answer.
		_ = http.NewResponseController(w).Flush()
	}
}

// watch waits for SIGTERM, lets the runs end, and then ends the process as the signal would have.
func watch() {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	go func() {
		<-asked
		stop()
		running.Wait()
		signal.Reset(syscall.SIGTERM)
		if self, err := os.FindProcess(os.Getpid()); err == nil {
			_ = self.Signal(syscall.SIGTERM) // which is always allowed
		}
	}()
}
