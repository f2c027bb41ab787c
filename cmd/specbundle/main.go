// Command specbundle joins the hand-written OpenAPI files into one document.
//
//	specbundle openapi/openapi.yaml gen/openapi.yaml gen/openapi-webhooks.yaml gen/samples.json
//
// The first output stands alone (every reference is local) and is validated
// together with its examples. The others are made from it: the events as the
// webhooks of OpenAPI 3.1, and a sample of each one's data. All are written only
// when their bytes change, so that make does not regenerate code for nothing.
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
	if len(args) != 4 {
		return errors.New("usage: specbundle <root openapi file> <document> <document of the webhooks> <samples of events>")
	}

	document, webhooks, err := bundle(ctx, args[0])
	if err != nil {
		return err
	}

	events, err := samples(document)
	if err != nil {
		return err
	}

	return errors.Join(writeIfChanged(args[1], document), writeIfChanged(args[2], webhooks), writeIfChanged(args[3], events))
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
