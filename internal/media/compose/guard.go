package compose

import (
	"errors"
	"fmt"
	"runtime/debug"
)

// errPanic is in the error that guard returns for a panic.
var errPanic = errors.New("panic")

// guard calls fn and turns a panic into an error, which has the stack. Participants send the media that this package reads, and a panic in
// a goroutine of its own would end the server.
func guard(fn func() error) (err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("%w: %v\n%s", errPanic, fault, debug.Stack())
		}
	}()
	return fn()
}
