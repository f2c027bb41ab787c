package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/oasdiff/oasdiff/checker"
	"github.com/oasdiff/oasdiff/diff"
	"github.com/oasdiff/oasdiff/load"
)

// change is one change of the document that breaks clients.
type change struct {
	id        string // oasdiff's name of the kind of change
	operation string // "GET /v1/me", or "components"
	text      string
}

// severities returns the severities that differ from oasdiff's. /v1 changes by
// addition only: the document tells clients to expect new values and events,
// and promises that nothing is removed.
func severities() map[string]checker.Level {
	return map[string]checker.Level{
		"response-mediatype-enum-value-added": checker.INFO,
		"response-property-enum-value-added":  checker.INFO,
		"response-body-one-of-added":          checker.INFO,
		"response-property-one-of-added":      checker.INFO,
		"response-optional-property-removed":  checker.ERR,
		"api-operation-id-removed":            checker.ERR, // it names a method of every client
	}
}

// compare returns the breaking changes between two documents, including those
// that break only some clients.
func compare(before, after []byte) ([]change, error) {
	from, err := read(before, "before")
	if err != nil {
		return nil, err
	}
	to, err := read(after, "after")
	if err != nil {
		return nil, err
	}
	differences, sources, err := diff.GetWithOperationsSourcesMap(diff.NewConfig(), from, to)
	if err != nil {
		return nil, fmt.Errorf("diff: %w", err)
	}
	config := checker.NewConfig(checker.GetAllChecks(), checker.WithSeverityLevels(severities()))
	localize := checker.NewDefaultLocalizer()
	var list []change
	for _, c := range checker.CheckBackwardCompatibilityUntilLevel(config, differences, sources, checker.WARN) {
		operation := "components"
		if c.GetPath() != "" {
			operation = strings.TrimSpace(c.GetOperation() + " " + c.GetPath())
		}
		list = append(list, change{id: c.GetId(), operation: operation, text: c.GetUncolorizedText(localize)})
	}
	return dedupe(list), nil
}

func read(document []byte, name string) (*load.SpecInfo, error) {
	info, err := load.NewSpecInfoFromData(openapi3.NewLoader(), document, name)
	if err != nil {
		return nil, fmt.Errorf("read the document %s: %w", name, err)
	}
	return info, nil
}

// dedupe sorts the changes by operation and removes duplicates.
func dedupe(list []change) []change {
	slices.SortFunc(list, func(a, b change) int {
		return strings.Compare(a.operation+a.id+a.text, b.operation+b.id+b.text)
	})
	return slices.Compact(list)
}
