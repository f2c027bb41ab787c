// Command eventtable writes the catalogue of events: when each is emitted, the fields of its data, and an example.
//
//	eventtable gen/openapi.yaml gen/samples.json internal/outflow/event/event.go gen/events.md
//
// The third file declares the names of the emitted events as constants. Other events of the document are marked as not
// emitted yet.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strconv"

	"github.com/getkin/kin-openapi/openapi3"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "eventtable:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 4 {
		return errors.New("usage: eventtable <document> <samples of events> <names of emitted events> <catalogue>")
	}
	doc, err := openapi3.NewLoader().LoadFromFile(args[0])
	if err != nil {
		return fmt.Errorf("read the document: %w", err)
	}
	text, err := os.ReadFile(args[1])
	if err != nil {
		return fmt.Errorf("read the samples: %w", err)
	}
	samples := map[string]json.RawMessage{}
	if err := json.Unmarshal(text, &samples); err != nil {
		return fmt.Errorf("read the samples: %w", err)
	}
	emitted, err := constants(args[2])
	if err != nil {
		return err
	}
	catalogue, err := markdown(doc, samples, emitted)
	if err != nil {
		return err
	}
	return os.WriteFile(args[3], catalogue, 0o644)
}

// constants returns the values of the strings that a Go file declares.
func constants(path string) (map[string]bool, error) {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the names of the emitted events: %w", err)
	}
	names := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if text, isLiteral := n.(*ast.BasicLit); isLiteral && text.Kind == token.STRING {
			if name, err := strconv.Unquote(text.Value); err == nil {
				names[name] = true
			}
		}
		return true
	})
	return names, nil
}
