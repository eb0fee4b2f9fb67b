package sweep

import (
	"fmt"
	"runtime/debug"
)

// recoverTo turns a panic into an error that holds the stack.
func recoverTo(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// guard calls f and returns its panic, if it panics, as an error. In a goroutine a panic would end the process and with it
// every run, so goroutines call rules and send requests only under guard or [recoverTo].
func guard(f func() error) (err error) {
	defer recoverTo(&err)
	return f()
}
