// Package gen embeds the bundled API documents and samples of events. Everything
// else below is generated.
package gen

import _ "embed"

// Document is the bundled OpenAPI document in YAML.
//
//go:embed openapi.yaml
var Document []byte

// Webhooks is the OpenAPI 3.1 document of the events that are sent, in YAML.
//
//go:embed openapi-webhooks.yaml
var Webhooks []byte

// Samples has a value of each event's data, made of the document's examples, by
// the event's name.
//
//go:embed samples.json
var Samples []byte
