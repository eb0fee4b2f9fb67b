// Package guard turns panics into errors. In a goroutine a panic would end the process and with it every run, so goroutines
// call rules and send requests only under guard.
package guard

import (
	"fmt"
	"runtime/debug"
)

// Recover is deferred: it turns a panic into an error that holds the stack, and writes that to err.
func Recover(err *error) {
	if v := recover(); v != nil {
		*err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
	}
}

// Call calls f and returns its error, or its panic as [Recover] does.
func Call(f func() error) (err error) {
	defer Recover(&err)
	return f()
}
