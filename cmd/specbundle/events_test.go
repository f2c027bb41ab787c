package main

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// TestEventSchemasAreTheDataAndOneEnvelope checks that the document for the Go
// types has the data of each event, what it refers to, and nothing else.
func TestEventSchemasAreTheDataAndOneEnvelope(t *testing.T) {
	t.Parallel()
	files := withEvents()
	files["events.yaml"] = `
WebhookEvent:
  discriminator: {propertyName: event, mapping: {thing.made: "#/ThingMadeEvent"}}
  oneOf: [{$ref: "#/ThingMadeEvent"}]
ThingMadeEvent:
  type: object
  description: A thing was made.
  required: [event, tenantId, data]
  properties:
    event: {type: string, enum: [thing.made]}
    tenantId: {type: string}
    data: {$ref: "#/ThingMadeData"}
ThingMadeData:
  type: object
  properties: {thing: {$ref: "components.yaml#/Thing"}}
`
	document, _, err := bundle(t.Context(), write(t, files))
	require.NoError(t, err)
	out, err := eventSchemas(document)
	require.NoError(t, err)
	var doc map[string]any
	require.NoError(t, yaml.Unmarshal(out, &doc))
	require.Empty(t, doc["paths"])
	schemas := at(doc, "components", "schemas")
	require.Subset(t, slices.Collect(maps.Keys(schemas)), []string{"WebhookEvent", "ThingMadeData", "Thing"})
	require.NotContains(t, schemas, "ThingMadeEvent")
	require.NotContains(t, schemas, "Problem")
	require.Equal(t, []any{"event", "tenantId", "data"}, at(schemas, "WebhookEvent")["required"])
	require.Equal(t, map[string]any{}, at(schemas, "WebhookEvent", "properties")["data"], "any")

	_, err = eventSchemas([]byte("components: {schemas: {WebhookEvent: {discriminator: {mapping: {a.b: '#/components/schemas/None'}}}}}"))
	require.ErrorContains(t, err, "the event a.b")
}
