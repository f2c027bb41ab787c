package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// entry is one kind of breaking change that is intended.
type entry struct {
	// ID is the kind of change, as printed in brackets.
	ID string `yaml:"id"`
	// Operations are the operations that may change in this way, as printed; empty for all.
	Operations []string `yaml:"operations"`
	// Contains is a part of the printed text; empty for any text.
	Contains string `yaml:"contains"`
	// Date is the day of the decision, as 2006-01-02.
	Date   string `yaml:"date"`
	Reason string `yaml:"reason"`
}

type allowList []entry

// readAllowed reads the list of intended breaking changes. A missing or
// empty file allows none. Entries without a reason or date are an error.
func readAllowed(path string) (allowList, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the allowed changes: %w", err)
	}
	var list allowList
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	decoder.KnownFields(true)
	if err := decoder.Decode(&list); err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	for i, e := range list {
		if _, err := time.Parse(time.DateOnly, e.Date); err != nil || e.ID == "" || strings.TrimSpace(e.Reason) == "" {
			return nil, fmt.Errorf("%s: entry %d needs id, reason and a date such as 2026-11-21", path, i+1)
		}
	}
	return list, nil
}

// without returns the changes that the list doesn't allow.
func (l allowList) without(changes []change) []change {
	return slices.DeleteFunc(changes, func(c change) bool {
		return slices.ContainsFunc(l, func(e entry) bool { return e.covers(c) })
	})
}

func (e entry) covers(c change) bool {
	return e.ID == c.id &&
		(len(e.Operations) == 0 || slices.Contains(e.Operations, c.operation)) &&
		strings.Contains(c.text, e.Contains)
}
