package handlers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
)

// sample is a value of the schema, put together from the document's own
// examples: the schema's, else those of its required properties.
func sample(s *openapi3.Schema) any {
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
			return sample(parts[0].Value)
		}
	}
	switch {
	case len(s.AllOf) > 0:
		return sampleAll(s)
	case s.Type.Is(openapi3.TypeObject):
		return sampleObject(s)
	case s.Type.Is(openapi3.TypeArray):
		return sampleArray(s)
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

func sampleObject(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range s.Required {
		out[name] = sample(s.Properties[name].Value)
	}
	return out
}

func sampleArray(s *openapi3.Schema) []any {
	out := []any{sample(s.Items.Value)}
	for uint64(len(out)) < s.MinItems {
		out = append(out, out[0])
	}
	return out
}

// sampleAll is the sample of a schema that others make up.
func sampleAll(s *openapi3.Schema) any {
	if len(s.AllOf) == 1 && len(s.Properties) == 0 {
		return sample(s.AllOf[0].Value)
	}
	out := sampleObject(s)
	for _, part := range s.AllOf {
		if object, ok := sample(part.Value).(map[string]any); ok {
			maps.Copy(out, object)
		}
	}
	return out
}

// sampleBody is what the operation can be called with; nil when it has no JSON body.
func sampleBody(op operation) any {
	if op.spec.RequestBody == nil {
		return nil
	}
	content := op.spec.RequestBody.Value.Content.Get("application/json")
	if content == nil {
		return nil
	}
	if content.Example != nil {
		return content.Example
	}
	for _, name := range slices.Sorted(maps.Keys(content.Examples)) {
		return content.Examples[name].Value.Value
	}
	return sample(content.Schema.Value)
}

// TestEverySchemaHasASample: the examples of the document make a whole value
// of each of its schemas, so that readers and tools are shown one that is valid.
func TestEverySchemaHasASample(t *testing.T) {
	t.Parallel()
	doc := apitest.Document(t)
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		schema := doc.Components.Schemas[name].Value
		text, err := json.Marshal(sample(schema))
		require.NoError(t, err, name)
		var value any
		require.NoError(t, json.Unmarshal(text, &value), name)
		require.NoError(t, schema.VisitJSON(value), "%s: give its properties examples that fit: %s", name, text)
	}
}
