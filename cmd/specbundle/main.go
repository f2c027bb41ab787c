// Command specbundle joins the hand-written OpenAPI files into one document.
//
//	specbundle openapi/openapi.yaml gen/openapi.yaml gen/openapi-webhooks.yaml gen/samples.json .cache/events.yaml
//
// The first output has only local references and is validated together with its
// examples. The others are derived from it: the events as webhooks of OpenAPI 3.1,
// a sample of each event's data, and the schemas of this data, from which the Go
// types are generated. A file is written only if its content changes, so that make
// doesn't regenerate code without need.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

const (
	dirMode  = 0o755
	fileMode = 0o644
)

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "specbundle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 5 {
		return errors.New("usage: specbundle <root openapi file> <document> <document of the webhooks> <samples of events> <schemas of events>")
	}

	document, webhooks, err := bundle(ctx, args[0])
	if err != nil {
		return err
	}

	values, err := samples(document)
	if err != nil {
		return err
	}

	schemas, err := eventSchemas(document)
	if err != nil {
		return err
	}

	return errors.Join(
		writeIfChanged(args[1], document), writeIfChanged(args[2], webhooks), writeIfChanged(args[3], values), writeIfChanged(args[4], schemas),
	)
}

// writeIfChanged leaves an equal file untouched, modification time included.
// A changed file is put in place whole, by a rename.
func writeIfChanged(path string, content []byte) error {
	old, err := os.ReadFile(path)
	if err == nil && bytes.Equal(old, content) {
		return nil
	}

	if err := os.MkdirAll(filepath.Dir(path), dirMode); err != nil {
		return fmt.Errorf("make output folder: %w", err)
	}

	next := path + ".next"
	if err := os.WriteFile(next, content, fileMode); err != nil {
		return fmt.Errorf("write bundle: %w", err)
	}

	if err := os.Rename(next, path); err != nil {
		return fmt.Errorf("put bundle in place: %w", err)
	}

	return nil
}
