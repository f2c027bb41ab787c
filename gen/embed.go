// Package gen embeds the bundled API document. Everything else below is
// generated.
package gen

import _ "embed"

// Document is the bundled OpenAPI document in YAML.
//
//go:embed openapi.yaml
var Document []byte
