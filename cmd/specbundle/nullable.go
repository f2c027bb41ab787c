package main

import (
	"fmt"
	"maps"
	"strings"
)

// inlineNullable replaces each schema of the form {nullable: true, allOf: [$ref]} by a nullable copy of the schema that
// it refers to. By the strict rules of OpenAPI 3.0.3, null must be valid for every part of allOf, and the schema that
// is referred to isn't nullable, so strict validators refuse null. x-go-type is the name of the schema, for the generators
// of our Go and TypeScript types.
func inlineNullable(document map[string]any) error {
	schemas := at(document, "components", "schemas")
	// Copies are taken of the original schemas, so the order of the replacements doesn't matter.
	return inlineBelow(document, schemas)
}

func inlineBelow(value any, schemas map[string]any) error {
	switch v := value.(type) {
	case map[string]any:
		if err := inlineOne(v, schemas); err != nil {
			return err
		}
		for _, entry := range v {
			if err := inlineBelow(entry, schemas); err != nil {
				return err
			}
		}
	case []any:
		for _, entry := range v {
			if err := inlineBelow(entry, schemas); err != nil {
				return err
			}
		}
	}
	return nil
}

// inlineOne replaces the contents of a schema if it has the form.
func inlineOne(schema, schemas map[string]any) error {
	parts, _ := schema["allOf"].([]any)
	if schema["nullable"] != true || len(parts) == 0 {
		return nil
	}
	part, _ := parts[0].(map[string]any)
	ref, isRef := part["$ref"].(string)
	name := strings.TrimPrefix(ref, schemaPath)
	original := at(schemas, name)
	if len(parts) > 1 || !isRef || original == nil {
		return fmt.Errorf("a nullable schema must have one $ref in allOf, which it inlines: %v", schema["allOf"])
	}
	own := maps.Clone(schema)
	clear(schema)
	maps.Copy(schema, copyOf(original).(map[string]any)) //nolint:forcetypeassert,errcheck // a copy has the type of the original
	maps.Copy(schema, own)                               // its own description applies to null too
	delete(schema, "allOf")
	if values, isEnum := schema["enum"].([]any); isEnum {
		schema["enum"] = append(values, nil) // an enum without null forbids it, nullable or not
	}
	schema["x-go-type"] = name
	return nil
}

// copyOf returns a deep copy, so that the encoder writes it out instead of an alias.
func copyOf(value any) any {
	switch v := value.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, entry := range v {
			out[key] = copyOf(entry)
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, entry := range v {
			out[i] = copyOf(entry)
		}
		return out
	}
	return value
}
