// Package gen embeds the bundled API documents. Everything else below is
// generated.
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
