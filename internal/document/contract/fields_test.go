package contract_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// readYAML reads a file below testdata/fidelity; a key without a field in the type fails
// the test.
func readYAML(t *testing.T, name string, into any) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", "fidelity", name))
	require.NoError(t, err)
	defer file.Close()
	decoder := yaml.NewDecoder(file)
	decoder.KnownFields(true)
	require.NoError(t, decoder.Decode(into), name)
}

// promised is the description of a field.
type promised struct {
	Type    string
	In      []string
	Max     *int
	Pattern string
	orNull  bool
}

// UnmarshalYAML accepts a type alone, or a map of all properties.
func (p *promised) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		p.Type, p.orNull = strings.CutSuffix(node.Value, " or null")
		return nil
	}
	type plain promised
	return node.Decode((*plain)(p))
}

// fields are descriptions by path: "a.b" is b inside a, "a[]" an entry of a, "a.*" the value
// of any key of a; a "?" at the end means that the field is optional.
type fields map[string]promised

// check lists the fields whose schema differs from the description.
func (f fields) check(schema *openapi3.Schema) (faults []string) {
	for path, want := range f {
		path, optional := strings.CutSuffix(path, "?")
		got, required := find(schema, path)
		switch {
		case got == nil:
			faults = append(faults, path+" is missing")
			continue
		case optional && required:
			faults = append(faults, path+" must be optional")
		}
		for _, fault := range want.check(got) {
			faults = append(faults, path+" "+fault)
		}
	}
	slices.Sort(faults)
	return faults
}

func (p promised) check(s *openapi3.Schema) (faults []string) {
	if !hasType(s, p.Type) {
		faults = append(faults, "is no "+p.Type)
	}
	if p.orNull && !s.Nullable {
		faults = append(faults, "can't be null")
	}
	values := enumOf(s)
	for _, v := range p.In {
		if !slices.Contains(values, v) {
			faults = append(faults, "can't be "+v)
		}
	}
	if p.Max != nil && !isMax(s, *p.Max) {
		faults = append(faults, "has another maximum")
	}
	if p.Pattern != "" && s.Pattern != p.Pattern {
		faults = append(faults, "has the pattern "+s.Pattern)
	}
	return faults
}

func isMax(s *openapi3.Schema, limit int) bool {
	if s.MaxItems != nil {
		return *s.MaxItems == uint64(limit)
	}
	return s.Max != nil && int(*s.Max) == limit
}

func hasType(s *openapi3.Schema, want string) bool {
	switch want {
	case "any":
		return true
	case "timestamp":
		return s.Type.Is(openapi3.TypeString) && s.Format == "date-time"
	case "url":
		return s.Type.Is(openapi3.TypeString)
	case "number":
		return s.Type.Is(openapi3.TypeNumber) || s.Type.Is(openapi3.TypeInteger)
	}
	if s.Type.Is(want) {
		return true
	}
	return slices.ContainsFunc(partsOf(s), func(part *openapi3.Schema) bool { return hasType(part, want) })
}

// partsOf returns the schemas that are combined in this one (allOf, oneOf, anyOf).
func partsOf(s *openapi3.Schema) []*openapi3.Schema {
	var parts []*openapi3.Schema
	for _, ref := range slices.Concat(s.AllOf, s.OneOf, s.AnyOf) {
		parts = append(parts, ref.Value)
	}
	return parts
}

func enumOf(s *openapi3.Schema) []string {
	var values []string
	for _, v := range s.Enum {
		if text, isText := v.(string); isText {
			values = append(values, text)
		}
	}
	for _, part := range partsOf(s) {
		values = append(values, enumOf(part)...)
	}
	return values
}

// find follows a path; required says whether its last name is.
func find(s *openapi3.Schema, path string) (found *openapi3.Schema, required bool) {
	step, rest := cut(path)
	next, required := child(s, step)
	if next == nil || rest == "" {
		return next, required
	}
	return find(next, rest)
}

// cut takes the first step off a path: "[]", "*" or a property's name.
func cut(path string) (step, rest string) {
	if rest, isEntry := strings.CutPrefix(path, "[]"); isEntry {
		return "[]", strings.TrimPrefix(rest, ".")
	}
	end := strings.IndexAny(path, ".[")
	if end < 0 {
		return path, ""
	}
	return path[:end], strings.TrimPrefix(path[end:], ".")
}

func child(s *openapi3.Schema, step string) (found *openapi3.Schema, required bool) {
	switch {
	case step == "[]" && s.Items != nil:
		return s.Items.Value, false
	case step == "*" && s.AdditionalProperties.Schema != nil:
		return s.AdditionalProperties.Schema.Value, false
	case s.Properties[step] != nil:
		return s.Properties[step].Value, slices.Contains(s.Required, step)
	}
	for _, part := range partsOf(s) {
		if found, required = child(part, step); found != nil {
			return found, required
		}
	}
	return nil, false
}
