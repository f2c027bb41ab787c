// Command accesstable writes the table of the callers of each operation.
//
//	accesstable gen/openapi.yaml gen/roles.md
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/document/access"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "accesstable:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: accesstable <document> <table>")
	}
	doc, err := openapi3.NewLoader().LoadFromFile(args[0])
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	return os.WriteFile(args[1], access.Markdown(doc), 0o644)
}
