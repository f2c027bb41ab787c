package main

import (
	"context"
	"fmt"
	"strings"

	"showfloor/handlers"
)

type todoCommand struct{}

// Run lists the operations that answer 501.
func (todoCommand) Run(_ context.Context, e environment) error {
	unbuilt := handlers.Unbuilt()
	if len(unbuilt) == 0 {
		unbuilt = []string{"every operation of the API document is built"}
	}
	_, err := fmt.Fprintln(e.out, strings.Join(unbuilt, "\n"))
	return err
}
