package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// unionName is the schema whose discriminator names every event.
const unionName = "WebhookEvent"

// webhooksOf encodes the companion of a bundle: an OpenAPI 3.1 document whose
// webhooks are the events, because 3.0 can't describe requests that the server
// sends. It contains only the schemas that the events need. It is nil for a
// bundle without events.
func webhooksOf(bundle map[string]any) ([]byte, error) {
	schemas := at(bundle, "components", "schemas")
	if at(schemas, unionName) == nil {
		return nil, nil
	}
	mapping := at(schemas, unionName, "discriminator", "mapping")
	if len(mapping) == 0 {
		return nil, errors.New("the schema WebhookEvent has no discriminator mapping")
	}
	hooks, needed := map[string]any{}, map[string]any{}
	for event, ref := range mapping {
		reference, _ := ref.(string)
		name := strings.TrimPrefix(reference, schemaPath)
		if at(schemas, name) == nil {
			return nil, fmt.Errorf("the event %s has no schema %s", event, name)
		}
		collect(schemas, name, needed)
		hooks[event] = map[string]any{"post": delivery(event, name, at(schemas, name)[description])}
	}
	info := maps.Clone(at(bundle, "info"))
	info["title"], info[description] = fmt.Sprint(info["title"], ": webhooks"), companionText
	return encode(map[string]any{
		"openapi": "3.1.0", "info": info, "webhooks": hooks,
		"servers": []any{map[string]any{
			"url": "https://receiver.example", description: "Your own server. The whole URL is the one of the webhook endpoint that you registered.",
		}},
		"tags": []any{map[string]any{"name": hookTag, description: "One operation per event, sent to the endpoints that subscribed to it."}},
		"components": map[string]any{
			"schemas":    modern(needed),
			"parameters": hookHeaders(),
		},
	})
}

const (
	schemaPath    = "#/components/schemas/"
	description   = "description" // the keyword
	hookTag       = "Webhooks"
	companionText = `Requests that the server sends to tenants' webhook endpoints. Endpoints are registered with the API in openapi.yaml.

Every delivery is a POST. Verify one of its signatures over the raw body before you parse it. An answer of 2xx within 15 seconds
counts as delivered, 410 disables the endpoint, and after any other outcome the delivery is retried. A delivery may arrive more
than once.`
)

// collect adds a schema and all schemas that it refers to.
func collect(schemas map[string]any, name string, into map[string]any) {
	if _, known := into[name]; known || schemas[name] == nil {
		return
	}
	into[name] = schemas[name]
	for _, other := range references(schemas[name]) {
		collect(schemas, other, into)
	}
}

// references lists the schemas that a value refers to, by name; also those that inlineNullable has copied, whose types it names.
func references(value any) (names []string) {
	switch v := value.(type) {
	case map[string]any:
		for key, entry := range v {
			if text, isText := entry.(string); isText && (key == "$ref" || key == "x-go-type") {
				names = append(names, strings.TrimPrefix(text, schemaPath))
			}
			names = append(names, references(entry)...)
		}
	case []any:
		for _, entry := range v {
			names = append(names, references(entry)...)
		}
	}
	return names
}

// delivery is the operation that a receiver of the event carries out.
func delivery(event, schema string, summary any) map[string]any {
	var headers []any
	for _, name := range slices.Sorted(maps.Keys(hookHeaders())) {
		headers = append(headers, map[string]any{"$ref": "#/components/parameters/" + name})
	}
	text := strings.TrimSuffix(fmt.Sprint(summary), ".")
	return map[string]any{
		"operationId": "on" + strings.TrimSuffix(schema, "Event"), "tags": []any{hookTag}, "summary": text, "security": []any{},
		description:  "Sent as `" + event + "`.",
		"parameters": headers,
		"requestBody": map[string]any{
			"required": true,
			"content":  map[string]any{"application/json": map[string]any{"schema": map[string]any{"$ref": schemaPath + schema}}},
		},
		"responses": map[string]any{
			"2XX":     map[string]any{description: "Delivered."},
			"410":     map[string]any{description: "The endpoint doesn't want deliveries any more: it is disabled."},
			"default": map[string]any{description: "Not delivered; the delivery is retried."},
		},
	}
}

// hookHeaders are the headers of every delivery, by component.
func hookHeaders() map[string]any {
	header := func(name, text, example string) map[string]any {
		return map[string]any{
			"name": name, "in": "header", "required": true, description: text,
			"schema": map[string]any{"type": "string"}, "example": example,
		}
	}
	previous := header("X-Service-Signature-Previous",
		"The same with the previous secret, for 24 hours after it was replaced.",
		"sha256=2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae")
	previous["required"] = false
	return map[string]any{
		"ServiceSignaturePrevious": previous,
		"ServiceEvent":             header("X-Service-Event", "The event's name.", "stream.started"),
		"ServiceEventId": header("X-Service-Event-Id",
			"The event's id, the same for all endpoints.", "evt_01m18qg1mhf2bsz1fk6m8v4jxc"),
		"ServiceSequence": header("X-Service-Sequence",
			"The event's number within its subject: 1, 2, 3 … in the order of the changes. Retries may arrive out of order.", "3"),
		"ServiceDelivery": header("X-Service-Delivery",
			"The delivery's id, the same on every attempt. Store it to detect repeats.", "del_01m18qg1mhf2bsz1fk6m8v4jxe"),
		"ServiceSignature": header("X-Service-Signature",
			"`sha256=` and the hex HMAC-SHA256 of the raw body, keyed with the endpoint's secret exactly as shown.",
			"sha256=9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"),
		"WebhookId": header("webhook-id",
			"The event's id, the same for all endpoints; Standard Webhooks.", "evt_01m18qg1mhf2bsz1fk6m8v4jxc"),
		"WebhookTimestamp": header("webhook-timestamp",
			"Time of this attempt, in seconds since 1970; Standard Webhooks.", "1795238659"),
		"WebhookSignature": header("webhook-signature",
			"One or more signatures over id, timestamp and raw body, separated by spaces; Standard Webhooks.",
			"v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="),
	}
}

// modern writes schemas of OpenAPI 3.0 in the JSON Schema of 3.1.
func modern(schemas map[string]any) map[string]any {
	out := map[string]any{}
	for name, schema := range schemas {
		out[name] = modernSchema(schema)
	}
	return out
}

func modernSchema(value any) any {
	old, isObject := value.(map[string]any)
	if !isObject {
		return value
	}
	out := map[string]any{}
	for key, entry := range old {
		switch key {
		case "properties":
			properties := entry.(map[string]any) //nolint:forcetypeassert,errcheck // the bundle was validated
			out[key] = modern(properties)
		case "items", "additionalProperties", "not":
			out[key] = modernSchema(entry)
		case "allOf", "oneOf", "anyOf":
			var parts []any
			for _, part := range entry.([]any) { //nolint:forcetypeassert,errcheck // the bundle was validated
				parts = append(parts, modernSchema(part))
			}
			out[key] = parts
		case "example":
			out["examples"] = []any{entry}
		default:
			out[key] = entry
		}
	}
	return orNull(out)
}

// orNull replaces nullable, which 3.1 doesn't have, by the type null.
func orNull(schema map[string]any) map[string]any {
	nullable := schema["nullable"] == true
	delete(schema, "nullable")
	if !nullable {
		return schema
	}
	if values, isEnum := schema["enum"].([]any); isEnum {
		schema["enum"] = append(slices.Clone(values), nil)
	}
	parts, _ := schema["allOf"].([]any)
	if len(parts) == 0 {
		schema["type"] = []any{schema["type"], "null"}
		return schema
	}
	// The description stays outside, because it applies to null too.
	out := map[string]any{}
	for _, key := range []string{description, "examples"} {
		if schema[key] != nil {
			out[key] = schema[key]
		}
	}
	out["anyOf"] = append(slices.Clone(parts), map[string]any{"type": "null"})
	return out
}

// at follows keys through objects; nil when one is missing.
func at(object map[string]any, keys ...string) map[string]any {
	for _, key := range keys {
		object, _ = object[key].(map[string]any)
	}
	return object
}
