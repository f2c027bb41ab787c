package contract_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"showfloor/gen"
)

const schemaPath = "#/components/schemas/"

// describedEvents returns the events of the service's description, with the fields of their
// data.
func describedEvents(t *testing.T) map[string]fields {
	t.Helper()
	events := map[string]fields{}
	readYAML(t, "events.yaml", &events)
	require.Len(t, events, 43)
	return events
}

// allEvents returns these and our own events, which event-additions.yaml lists with a reason each.
func allEvents(t *testing.T) map[string]fields {
	t.Helper()
	var added []struct{ Event, Why string }
	readYAML(t, "event-additions.yaml", &added)
	events := describedEvents(t)
	for _, one := range added {
		require.NotContains(t, events, one.Event, "it is the description's")
		require.NotEmpty(t, one.Why, one.Event)
		events[one.Event] = fields{}
	}
	return events
}

// TestEveryEventIsInTheDocument: every event is among the names, in the union and, with the
// same schema, in the companion; none of them has other events.
func TestEveryEventIsInTheDocument(t *testing.T) {
	t.Parallel()
	schemas := document(t).Components.Schemas
	want := slices.Sorted(maps.Keys(allEvents(t)))
	var names []string
	for _, name := range schemas["EventName"].Value.Enum {
		names = append(names, fmt.Sprint(name))
	}
	require.ElementsMatch(t, want, names, "EventName")

	union := schemas["WebhookEvent"].Value
	require.Equal(t, "event", union.Discriminator.PropertyName)
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(union.Discriminator.Mapping)), "the union's mapping")
	require.Len(t, union.OneOf, len(want))
	companion := companionSchemas(t)
	require.ElementsMatch(t, want, slices.Collect(maps.Keys(companion)), "the companion")
	for name, mapped := range union.Discriminator.Mapping {
		require.True(t, slices.ContainsFunc(union.OneOf, func(s *openapi3.SchemaRef) bool { return s.Ref == mapped.Ref }), "%s is in the union", name)
		require.Equal(t, mapped.Ref, companion[name])
	}
}

// TestEveryEventHasItsEnvelope: an envelope has the four fields, the event's own name, and
// data with all fields of the description.
func TestEveryEventHasItsEnvelope(t *testing.T) {
	t.Parallel()
	schemas := document(t).Components.Schemas
	for name, data := range allEvents(t) {
		mapped := schemas["WebhookEvent"].Value.Discriminator.Mapping[name]
		envelope := schemas[strings.TrimPrefix(mapped.Ref, schemaPath)].Value
		require.ElementsMatch(t, []string{"event", "tenantId", "occurredAt", "data"}, envelope.Required, name)
		require.Equal(t, []any{name}, envelope.Properties["event"].Value.Enum)
		require.True(t, hasType(envelope.Properties["occurredAt"].Value, "timestamp"), name)
		payload := envelope.Properties["data"]
		require.Equal(t, strings.TrimSuffix(mapped.Ref, "Event")+"Data", payload.Ref)
		for _, fault := range data.check(payload.Value) {
			assert.Fail(t, fault, name)
		}
		for path := range data {
			if !strings.ContainsAny(path, "?.[") {
				_, required := find(payload.Value, path)
				assert.True(t, required, "%s: %s is always there", name, path)
			}
		}
	}
}

// companionSchemas returns, for each event of the OpenAPI 3.1 document, the schema of the
// body that receivers get.
func companionSchemas(t *testing.T) map[string]string {
	t.Helper()
	var doc struct {
		OpenAPI  string `yaml:"openapi"`
		Webhooks map[string]struct {
			Post struct {
				Parameters  []map[string]string
				RequestBody struct {
					Content map[string]struct{ Schema map[string]string }
				} `yaml:"requestBody"`
			}
		}
		Components struct {
			Schemas    map[string]any
			Parameters map[string]struct{ Name, In string }
		}
	}
	require.NoError(t, yaml.Unmarshal(gen.Webhooks, &doc))
	require.Equal(t, "3.1.0", doc.OpenAPI)
	var headers []string
	for _, p := range doc.Components.Parameters {
		headers = append(headers, p.Name)
	}
	require.ElementsMatch(t, []string{
		"X-Service-Signature", "X-Service-Signature-Previous", "X-Service-Event", "X-Service-Event-Id", "X-Service-Sequence",
		"X-Service-Delivery", "webhook-id", "webhook-timestamp", "webhook-signature",
	}, headers)
	schemas := map[string]string{}
	for name, hook := range doc.Webhooks {
		require.Len(t, hook.Post.Parameters, len(headers), name)
		schemas[name] = hook.Post.RequestBody.Content["application/json"].Schema["$ref"]
		require.Contains(t, doc.Components.Schemas, strings.TrimPrefix(schemas[name], schemaPath))
	}
	return schemas
}
