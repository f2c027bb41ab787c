package main

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/document/sample"
)

// samples makes the data of one event of each kind from a bundle's examples, by
// the event's name.
func samples(bundled []byte) ([]byte, error) {
	doc, err := openapi3.NewLoader().LoadFromData(bundled)
	if err != nil {
		return nil, fmt.Errorf("read the bundle back: %w", err)
	}
	all := map[string]any{}
	if union := doc.Components.Schemas[unionName]; union != nil {
		for event, ref := range union.Value.Discriminator.Mapping {
			envelope := doc.Components.Schemas[strings.TrimPrefix(ref.Ref, schemaPath)].Value
			data := envelope.Properties["data"]
			if data == nil {
				return nil, fmt.Errorf("the schema of the event %s has no data", event)
			}
			all[event] = sample.Of(data.Value)
		}
	}
	out, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode samples: %w", err)
	}
	return append(out, '\n'), nil
}
