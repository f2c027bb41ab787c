package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNullableReferencesAreInlined(t *testing.T) {
	t.Parallel()

	ref := func() map[string]any { return map[string]any{"$ref": "#/components/schemas/User"} }
	user := map[string]any{
		"type": "object", "description": "A user.", "required": []any{"id"},
		"properties": map[string]any{"id": map[string]any{"type": "string"}},
	}
	owner := map[string]any{"nullable": true, "description": "The owner; null if there is none.", "allOf": []any{ref()}}
	document := map[string]any{"components": map[string]any{"schemas": map[string]any{
		"User": user, "Thing": map[string]any{"type": "object", "properties": map[string]any{"owner": owner, "maker": ref()}},
	}}}
	require.NoError(t, inlineNullable(document))
	require.Equal(t, map[string]any{
		"type": "object", "description": "The owner; null if there is none.", "nullable": true, "x-go-type": "User",
		"required": []any{"id"}, "properties": map[string]any{"id": map[string]any{"type": "string"}},
	}, owner)
	require.Equal(t, ref(), at(document, "components", "schemas", "Thing", "properties", "maker"), "others are not changed")
	require.NotContains(t, user, "nullable")
}

func TestANullableEnumContainsNull(t *testing.T) {
	t.Parallel()

	size := map[string]any{"nullable": true, "allOf": []any{map[string]any{"$ref": "#/components/schemas/Size"}}}
	document := map[string]any{"components": map[string]any{"schemas": map[string]any{
		"Size": map[string]any{"type": "string", "enum": []any{"S", "L"}}, "Thing": size,
	}}}
	require.NoError(t, inlineNullable(document))
	require.Equal(t, []any{"S", "L", nil}, size["enum"])
	require.Equal(t, []any{"S", "L"}, at(document, "components", "schemas", "Size")["enum"])
}

func TestANullableUnionIsRefused(t *testing.T) {
	t.Parallel()

	document := map[string]any{"schema": map[string]any{"nullable": true, "allOf": []any{
		map[string]any{"$ref": "#/components/schemas/A"}, map[string]any{"$ref": "#/components/schemas/B"},
	}}}
	require.ErrorContains(t, inlineNullable(document), "must have one $ref")
}
