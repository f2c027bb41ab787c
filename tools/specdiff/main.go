// Command specdiff lists the changes of the API document that break clients of an
// earlier version. Run it in the repository:
//
//	specdiff gen/openapi.yaml openapi/breaking.yaml
//
// The first argument is the document. It is compared with the same file in an
// earlier commit: on a branch the commit where it left main, on main's tip both the
// commit before and the tip. The second argument is the list of intended breaking
// changes. Any other breaking change is an error.
//
// If there is no earlier document (no main, a shallow clone, the first commit), it
// prints the reason and exits with 0.
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

// run compares the documents in a folder of the repository; paths in args are relative to it.
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
