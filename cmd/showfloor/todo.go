package main

import (
	"context"
	"fmt"
)

type todoCommand struct{}

// Run lists the operations that answer 501.
func (todoCommand) Run(_ context.Context, e environment) error {
	fmt.Fprintln(e.out, "every operation of the API document is built")
	return nil
}
