package main

import (
	"encoding/json"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

const small = `
openapi: 3.0.3
info: { title: Small, version: 1.0.0 }
paths: {}
components:
  schemas:
    EventName: { type: string, enum: [cup.filled, cup.broken] }
    WebhookEvent: { discriminator: { propertyName: event, mapping: { cup.filled: '#/components/schemas/Filled', cup.broken: '#/components/schemas/Broken' } } }
    Filled: { type: object, description: A cup is full., properties: { data: { $ref: '#/components/schemas/FilledData' } } }
    Broken: { type: object, description: A cup broke., properties: { data: { description: "A cup broke, and is empty.", allOf: [{ $ref: '#/components/schemas/Cup' }, { type: object, properties: { at: { type: integer } } }] } } }
    Cup: { type: object, required: [at, id], properties: { id: { type: string } } }
    FilledData:
      type: object
      description: A cup is full.
      required: [of, by]
      properties:
        note: { type: string, nullable: true, description: "a | b" }
        of: { description: The drink., allOf: [{ $ref: '#/components/schemas/Drink' }] }
        by: { type: array, items: { type: object, properties: { at: { type: string, format: date-time } } } }
        tags: { type: object, additionalProperties: { type: string } }
    Drink: { type: string, enum: [tea, water] }
`

func TestCatalogueOfEvents(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData([]byte(small))
	require.NoError(t, err)
	samples := map[string]json.RawMessage{"cup.filled": json.RawMessage(`{"of":"tea"}`), "cup.broken": json.RawMessage(`{}`)}
	out, err := markdown(doc, samples, map[string]bool{"cup.filled": true})
	require.NoError(t, err)
	require.Equal(t, introduction+`
| Event | When it is emitted |
|---|---|
| [`+"`cup.filled`"+`](#cupfilled) | A cup is full. |
| [`+"`cup.broken`"+`](#cupbroken) | A cup broke. *Not emitted yet.* |

## cup.filled

A cup is full.

| Field of `+"`data`"+` | Type | Meaning |
|---|---|---|
| `+"`of` | `tea`, `water`"+` | The drink. |
| `+"`by`"+` | list: object |  |
| `+"`by[].at`"+` | time (RFC 3339), optional |  |
| `+"`note`"+` | string, or null, optional | a \| b |
| `+"`tags`"+` | object, by key: string, optional |  |

`+"```json"+`
{
  "of": "tea"
}
`+"```"+`

## cup.broken

A cup broke, and is empty. *Not emitted yet.*

| Field of `+"`data`"+` | Type | Meaning |
|---|---|---|
| `+"`id`"+` | string |  |
| `+"`at`"+` | integer, optional |  |

`+"```json"+`
{}
`+"```"+`
`, string(out))

	delete(samples, "cup.broken")
	_, err = markdown(doc, samples, nil)
	require.EqualError(t, err, "the event cup.broken has no schema or no sample")
}

func TestEmittedNamesAreConstants(t *testing.T) {
	t.Parallel()
	names, err := constants("../../internal/outflow/event/event.go")
	require.NoError(t, err)
	require.Contains(t, names, "stream.started")
	require.NotContains(t, names, "session.paused")
}
