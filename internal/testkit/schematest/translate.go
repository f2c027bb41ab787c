package schematest

import "slices"

// translate changes the schemas of an OpenAPI 3.0 document into those of JSON Schema draft 4, from which they come
// (https://spec.openapis.org/oas/v3.0.3#schema-object). Draft 4 too ignores the keywords beside a $ref. Two keywords have
// another meaning in OpenAPI:
//   - nullable adds null to the type that stands beside it. Without a type it has no effect.
//   - writeOnly forbids a property in answers; if it is required, then only in requests.
func translate(root map[string]any) {
	eachValue(at(root, "components", "schemas"), translateSchema)
	eachValue(at(root, "components", "responses"), translateResponse)
	eachValue(at(root, "paths"), func(path any) {
		eachValue(path, func(operation any) {
			eachValue(at(operation, "responses"), translateResponse)
		})
	})
}

// eachValue calls do with each value of an object; anything else has none.
func eachValue(object any, do func(value any)) {
	values, _ := object.(map[string]any)
	for _, value := range values {
		do(value)
	}
}

// translateResponse changes the schemas of a response in place.
func translateResponse(value any) {
	eachValue(at(value, "content"), func(media any) { translateSchema(at(media, "schema")) })
}

// translateSchema changes a schema and those in it in place. Referenced schemas stay as they are: each is translated where it
// is defined.
func translateSchema(value any) {
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
	eachValue(s["properties"], translateSchema)
	translateSchema(s["items"])
	translateSchema(s["additionalProperties"])
	translateSchema(s["not"])
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		parts, _ := s[keyword].([]any)
		for _, part := range parts {
			translateSchema(part)
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
