// Command specdiff says which changes of the API document break clients of an
// earlier one. Run it in the repository:
//
//	specdiff gen/openapi.yaml openapi/breaking.yaml
//
// The first argument is the document; it is compared with the same file in the
// commit that the work started from: on a branch the one where it left main, on
// main's tip the one before, and besides that the tip itself. The second is the
// list of breaking changes that are meant. Any other breaking change is an error.
//
// Where there is no earlier document (no main, a shallow clone, the first
// commit) it says so and ends well.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(context.Background(), ".", os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "specdiff:", err)
		os.Exit(1)
	}
}

// run does the work in a folder of the repository; paths are relative to it.
func run(ctx context.Context, folder string, args []string, out io.Writer) error {
	if len(args) != 2 {
		return errors.New("usage: specdiff <document> <list of allowed changes>")
	}
	repo := repository(folder)
	allowed, err := readAllowed(repo.path(args[1]))
	if err != nil {
		return err
	}
	next, err := os.ReadFile(repo.path(args[0]))
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	bases, why := repo.bases(ctx)
	if why != "" {
		fmt.Fprintf(out, "specdiff: breaking changes not looked for: %s\n", why)
	}
	var broken []change
	for _, commit := range bases {
		before, ok := repo.show(ctx, commit, args[0])
		if !ok || bytes.Equal(before, next) {
			continue
		}
		found, err := compare(before, next)
		if err != nil {
			return fmt.Errorf("compare with %s: %w", commit, err)
		}
		broken = append(broken, allowed.without(found)...)
	}
	if len(broken) == 0 {
		return nil
	}
	for _, c := range dedupe(broken) {
		fmt.Fprintf(out, "%s: %s [%s]\n", c.operation, c.text, c.id)
	}
	return fmt.Errorf("these changes break clients. Take them back, or list each with its reason and date in %s", args[1])
}
