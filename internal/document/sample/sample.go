// Package sample makes values out of the API document's own examples: what
// readers are shown, tests call with and test events hold.
package sample

import (
	"maps"

	"github.com/getkin/kin-openapi/openapi3"
)

// Of is a value of the schema, put together from the document's own
// examples: the schema's, else those of its required properties.
func Of(s *openapi3.Schema) any {
	switch {
	case s.Example != nil:
		return s.Example
	case s.Nullable:
		return nil
	case s.Default != nil:
		return s.Default
	case len(s.Enum) > 0:
		return s.Enum[0]
	}
	for _, parts := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		if len(parts) > 0 {
			return Of(parts[0].Value)
		}
	}
	switch {
	case len(s.AllOf) > 0:
		return all(s)
	case s.Type.Is(openapi3.TypeObject):
		return object(s)
	case s.Type.Is(openapi3.TypeArray):
		return array(s)
	case s.Type.Is(openapi3.TypeBoolean):
		return true
	case s.Type.Is(openapi3.TypeInteger), s.Type.Is(openapi3.TypeNumber):
		if s.Min != nil {
			return *s.Min
		}
		return float64(1)
	case s.Format == "date-time":
		return "2026-01-02T03:04:05.678Z"
	case s.Format == "uri":
		return "https://acme.example/"
	case s.Format == "email":
		return "ada@acme.example"
	default:
		return "text"
	}
}

func object(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		out[name] = Of(s.Properties[name].Value)
	}
	return out
}

func array(s *openapi3.Schema) []any {
	out := []any{Of(s.Items.Value)}
	for uint64(len(out)) < s.MinItems {
		out = append(out, out[0])
	}
	return out
}

// all is the sample of a schema that others make up.
func all(s *openapi3.Schema) any {
	if len(s.AllOf) == 1 && len(s.Properties) == 0 {
		return Of(s.AllOf[0].Value)
	}
	out := object(s)
	for _, part := range s.AllOf {
		if values, ok := Of(part.Value).(map[string]any); ok {
			maps.Copy(out, values)
		}
	}
	return out
}
