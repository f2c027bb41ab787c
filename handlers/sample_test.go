package handlers_test

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/document/sample"
	"showfloor/internal/testkit/apitest"
)

// sampleBody returns a valid body for the operation, or nil if it has no JSON body.
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
	return sample.Of(content.Schema.Value)
}

// TestEverySchemaHasASample checks that the document's examples make a complete,
// valid value of each of its schemas, for readers and tools.
func TestEverySchemaHasASample(t *testing.T) {
	t.Parallel()
	doc := apitest.Document(t)
	for _, name := range slices.Sorted(maps.Keys(doc.Components.Schemas)) {
		schema := doc.Components.Schemas[name].Value
		text, err := json.Marshal(sample.Of(schema))
		require.NoError(t, err, name)
		var value any
		require.NoError(t, json.Unmarshal(text, &value), name)
		require.NoError(t, schema.VisitJSON(value), "%s: give its properties examples that fit: %s", name, text)
	}
}
