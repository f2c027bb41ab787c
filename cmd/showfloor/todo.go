package main

import (
	"context"
	"fmt"

	"showfloor/handlers"
)

type todoCommand struct{}

// Run lists the operations that answer 501, one per line. It prints nothing if every operation is built.
func (todoCommand) Run(_ context.Context, e environment) error {
	for _, name := range handlers.Unbuilt() {
		if _, err := fmt.Fprintln(e.out, name); err != nil {
			return err
		}
	}
	return nil
}
