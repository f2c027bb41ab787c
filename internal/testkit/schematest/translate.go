package schematest

import "slices"

// translate changes the schemas of an OpenAPI 3.0 document into those of JSON Schema draft 4, from which they come
// (https://spec.openapis.org/oas/v3.0.3#schema-object). Draft 4 too ignores the keywords beside a $ref. Two keywords have
// another meaning in OpenAPI:
//   - nullable adds null to the type that stands beside it. Without a type it has no effect.
//   - writeOnly forbids a property in answers; if it is required, then only in requests.
func translate(root map[string]any) {
	each(at(root, "components", "schemas"), schema)
	each(at(root, "components", "responses"), response)
	each(at(root, "paths"), func(path any) {
		each(path, func(operation any) {
			each(at(operation, "responses"), response)
		})
	})
}

func each(object any, do func(value any)) {
	values, _ := object.(map[string]any)
	for _, value := range values {
		do(value)
	}
}

func response(value any) {
	each(at(value, "content"), func(media any) { schema(at(media, "schema")) })
}

func schema(value any) {
	s, isObject := value.(map[string]any)
	if !isObject || s["$ref"] != nil {
		return
	}
	if kind, hasType := s["type"]; hasType && s["nullable"] == true {
		s["type"] = []any{kind, "null"}
	}
	properties, _ := s["properties"].(map[string]any)
	for name, property := range properties {
		if at(property, "$ref") == nil && at(property, "writeOnly") == true {
			properties[name] = map[string]any{"not": map[string]any{}}
			omit(s, name)
		}
	}
	each(s["properties"], schema)
	schema(s["items"])
	schema(s["additionalProperties"])
	schema(s["not"])
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, part := range parts {
			schema(part)
		}
	}
}

// omit removes a property from the required ones.
func omit(s map[string]any, name string) {
	required, _ := s["required"].([]any)
	required = slices.DeleteFunc(required, func(v any) bool { return v == name })
	if delete(s, "required"); len(required) > 0 {
		s["required"] = required
	}
}
