package schematest

import (
	"maps"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPublishedDocumentsCompile compiles the schema of every answer and of every webhook's body.
func TestPublishedDocumentsCompile(t *testing.T) {
	t.Parallel()
	api, err := API()
	require.NoError(t, err)
	compiled := 0
	compile := func(d *Document, place ...string) {
		contents, _ := at(d.root, append(place, "content")...).(map[string]any)
		for _, media := range slices.Sorted(maps.Keys(contents)) {
			if at(contents, media, "schema") == nil {
				continue // not a JSON text
			}
			_, err := d.schema(append(slices.Clone(place), "content", media, "schema"))
			require.NoError(t, err, place)
			compiled++
		}
	}
	eachKey := func(d *Document, do func(place ...string), place ...string) {
		object, _ := at(d.root, place...).(map[string]any)
		for _, key := range slices.Sorted(maps.Keys(object)) {
			do(append(slices.Clone(place), key)...)
		}
	}
	eachKey(api, func(response ...string) { compile(api, response...) }, "components", "responses")
	eachKey(api, func(path ...string) {
		eachKey(api, func(operation ...string) {
			eachKey(api, func(response ...string) { compile(api, response...) }, append(operation, "responses")...)
		}, path...)
	}, "paths")
	require.Greater(t, compiled, 200)

	webhooks, err := Webhooks()
	require.NoError(t, err)
	compiled = 0
	eachKey(webhooks, func(event ...string) { compile(webhooks, append(event, "post", "requestBody")...) }, "webhooks")
	require.Greater(t, compiled, 40)
}
