package main

import (
	"context"
	"fmt"

	"showfloor/handlers"
)

type todoCommand struct{}

// Run lists the operations that answer 501.
func (todoCommand) Run(_ context.Context, e environment) error {
	unbuilt := handlers.Unbuilt()
	for _, name := range unbuilt {
		fmt.Fprintln(e.out, name)
	}
	if len(unbuilt) == 0 {
		fmt.Fprintln(e.out, "every operation of the API document is built")
	}
	return nil
}
