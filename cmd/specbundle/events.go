package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// eventSchemas makes an OpenAPI 3.0 document of the data of all events in a
// bundle, with the schemas that the data refers to and no operation. Instead of
// the union of the events' schemas it has one schema WebhookEvent, whose data is any
// object: the envelope that all events share.
func eventSchemas(bundled []byte) ([]byte, error) {
	var whole map[string]any
	if err := yaml.Unmarshal(bundled, &whole); err != nil {
		return nil, fmt.Errorf("read the bundle back: %w", err)
	}
	schemas, needed := at(whole, "components", "schemas"), map[string]any{}
	mapping := at(schemas, unionName, "discriminator", "mapping")
	for _, event := range slices.Sorted(maps.Keys(mapping)) {
		envelope := at(schemas, strings.TrimPrefix(fmt.Sprint(mapping[event]), schemaPath))
		data := references(at(envelope, "properties", "data"))
		if len(data) != 1 {
			return nil, fmt.Errorf("the data of the event %s must refer to one schema", event)
		}
		collect(schemas, data[0], needed)
		shared := maps.Clone(at(envelope, "properties"))
		shared["event"], shared["data"] = map[string]any{"type": "string", description: "The event's name."}, map[string]any{}
		shared["occurredAt"] = map[string]any{"type": "string", "format": "date-time", description: "When it happened."}
		needed[unionName] = map[string]any{
			"type": "object", description: "The body of a webhook delivery.", "required": envelope["required"], "properties": shared,
		}
	}
	return encode(map[string]any{
		"openapi": "3.0.3", "info": at(whole, "info"), "paths": map[string]any{}, "components": map[string]any{"schemas": needed},
	})
}
