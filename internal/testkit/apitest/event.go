package apitest

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"showfloor/internal/document/sample"
	"showfloor/internal/testkit/schematest"
)

// EventData returns valid data for an event: the document's sample, with these
// fields replaced or added.
func EventData(t testing.TB, name string, fields map[string]any) map[string]any {
	t.Helper()
	d, err := document()
	must(t, err)
	ref := d.spec.Components.Schemas["WebhookEvent"].Value.Discriminator.Mapping[name].Ref
	envelope := d.spec.Components.Schemas[strings.TrimPrefix(ref, "#/components/schemas/")]
	if envelope == nil {
		t.Fatalf("the document has no event %s", name)
	}
	data, isObject := sample.Of(envelope.Value.Properties["data"].Value).(map[string]any)
	if !isObject {
		t.Fatalf("the data of %s is no object", name)
	}
	data = maps.Clone(data)
	maps.Copy(data, fields)
	return data
}

// eventCheck fails the test for each emitted event that doesn't match the published document of the webhooks.
func eventCheck(t testing.TB) func(payload []byte) error {
	t.Helper()
	doc, err := schematest.Webhooks()
	must(t, err)
	return func(payload []byte) error {
		value, err := schematest.Decode(payload)
		if err != nil {
			return err
		}
		err = errors.Join(doc.Event(value), walkTimes(value))
		if err != nil {
			t.Errorf("an event is not as the document says: %s\n%v", payload, err)
			return errors.New("not as the document says")
		}
		return nil
	}
}
