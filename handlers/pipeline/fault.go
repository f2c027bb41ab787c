package pipeline

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/base/problem"
)

// longEnum is the number of values from which a fault lists the values by their likeness to the wrong one.
const longEnum = 10

// schemaFault describes a value that doesn't match its schema. where is the part of the request that holds it.
func schemaFault(e *openapi3.SchemaError, where string) problem.Field {
	path := e.JSONPointer()
	if where != wholeBody { // an element of a parameter that is a list
		path = append([]string{where}, path...)
	}
	if len(path) > 0 {
		where = strings.Join(path, ".")
	}
	reason := e.Reason
	switch value, isText := e.Value.(string); {
	case e.SchemaField == "pattern" && e.Schema.Pattern == notBlank:
		reason = "must not be empty"
	case e.SchemaField == "enum" && isText && len(e.Schema.Enum) >= longEnum:
		if list, err := json.Marshal(nearestFirst(value, e.Schema.Enum)); err == nil {
			reason = "value is not one of the allowed values, the most similar first: " + string(list)
		}
	}
	return problem.Field{Field: where, Message: reason}
}

// nearestFirst sorts the values of an enum by their likeness to a text, of which it reads 64 bytes. It is called for each wrong
// value of a body, so it must not take longer than the check that found the fault.
func nearestFirst(text string, values []any) []any {
	const longest = 64
	text = strings.ToLower(text[:min(len(text), longest)])
	return slices.SortedStableFunc(slices.Values(values), func(a, b any) int {
		return cmp.Compare(likeness(text, b), likeness(text, a))
	})
}

// likeness is the number of bytes at the beginning and at the end that a text shares with a value of an enum; 0 if that isn't
// a text.
func likeness(text string, value any) int {
	name, _ := value.(string)
	shorter := min(len(text), len(name))
	same := 0
	for same < shorter && text[same] == name[same] {
		same++
	}
	last := 0
	for last < shorter-same && text[len(text)-1-last] == name[len(name)-1-last] {
		last++
	}
	return same + last
}
