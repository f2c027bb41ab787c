package main

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

// withEvents is the small description with two events.
func withEvents() map[string]string {
	files := maps.Clone(spec())
	files["openapi.yaml"] += "    WebhookEvent: {$ref: \"events.yaml#/WebhookEvent\"}\n"
	files["events.yaml"] = `
WebhookEvent:
  discriminator: {propertyName: event, mapping: {thing.made: "#/ThingMadeEvent", thing.lost: "#/ThingLostEvent"}}
  oneOf: [{$ref: "#/ThingMadeEvent"}, {$ref: "#/ThingLostEvent"}]
ThingMadeEvent:
  type: object
  description: A thing was made.
  properties: {event: {type: string, enum: [thing.made]}, data: {$ref: "components.yaml#/Thing"}}
ThingLostEvent:
  type: object
  description: A thing was lost.
  properties:
    event: {type: string, enum: [thing.lost]}
    nullable: {type: string, nullable: true, example: a}
    either: {type: string, nullable: true, enum: [left, right]}
    thing: {type: object, nullable: true, description: Or none., allOf: [{$ref: "components.yaml#/Thing"}]}
`
	return files
}

func TestWebhooksAreADocumentOfTheirOwn(t *testing.T) {
	t.Parallel()
	document, webhooks, err := bundle(t.Context(), write(t, withEvents()))
	require.NoError(t, err)
	require.Contains(t, string(document), "openapi: 3.0.3")

	var doc map[string]any
	require.NoError(t, yaml.Unmarshal(webhooks, &doc))
	require.Equal(t, "3.1.0", doc["openapi"])
	require.Len(t, doc["webhooks"], 2)
	require.Len(t, doc["servers"], 1, "linters ask for a server")
	made := at(doc, "webhooks", "thing.made", "post")
	require.Equal(t, "onThingMade", made["operationId"])
	require.Equal(t, "A thing was made", made["summary"])
	require.Len(t, made["parameters"], 9)
	require.Equal(t, map[string]any{"$ref": "#/components/schemas/ThingMadeEvent"},
		at(made, "requestBody", "content", "application/json")["schema"])

	schemas := at(doc, "components", "schemas")
	require.Contains(t, schemas, "Thing")
	require.NotContains(t, schemas, "WebhookEvent", "no event needs it")
	require.NotContains(t, schemas, "Problem")
	require.Equal(t, map[string]any{
		"event":    map[string]any{"type": "string", "enum": []any{"thing.lost"}},
		"nullable": map[string]any{"type": []any{"string", "null"}, "examples": []any{"a"}},
		"either":   map[string]any{"type": []any{"string", "null"}, "enum": []any{"left", "right", nil}},
		"thing": map[string]any{"description": "Or none.", "anyOf": []any{
			map[string]any{"$ref": "#/components/schemas/Thing"},
			map[string]any{"type": "null"},
		}},
	}, at(schemas, "ThingLostEvent")["properties"])
}

func TestAUnionWithoutItsEventsIsRefused(t *testing.T) {
	t.Parallel()
	files := maps.Clone(spec())
	files["openapi.yaml"] += "    WebhookEvent: {type: object}\n"
	_, _, err := bundle(t.Context(), write(t, files))
	require.ErrorContains(t, err, "no discriminator mapping")
}
