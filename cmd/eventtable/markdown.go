package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

const introduction = `# Events

Generated from the API document by ` + "`make generate`" + `: every event, its data and an example.
[docs/webhooks.md](../docs/webhooks.md) says how events are delivered, signed, retried and ordered. The body of each
delivery is this envelope:

` + "```json" + `
{"event": "stream.started", "tenantId": "ten_…", "occurredAt": "2026-11-21T05:04:19.254Z", "data": {"…": "…"}}
` + "```" + `

New events and new fields may be added; ignore unknown ones. Fields of nested objects are written with dots, those of
lists with ` + "`[]`" + `.
`

// markdown returns the catalogue: an overview, then a chapter for each event, both in the document's order.
func markdown(doc *openapi3.T, samples map[string]json.RawMessage, emitted map[string]bool) ([]byte, error) {
	var out bytes.Buffer
	out.WriteString(introduction + "\n| Event | When it is emitted |\n|---|---|\n")
	var chapters bytes.Buffer
	for _, value := range doc.Components.Schemas["EventName"].Value.Enum {
		name := fmt.Sprint(value)
		ref, isListed := doc.Components.Schemas["WebhookEvent"].Value.Discriminator.Mapping[name]
		if !isListed || samples[name] == nil {
			return nil, fmt.Errorf("the event %s has no schema or no sample", name)
		}
		envelope := doc.Components.Schemas[ref.Ref[strings.LastIndex(ref.Ref, "/")+1:]].Value
		note := ""
		if !emitted[name] {
			note = " *Not emitted yet.*"
		}
		fmt.Fprintf(&out, "| [`%s`](#%s) | %s%s |\n", name, anchor(name), oneLine(envelope.Description), note)
		if err := chapter(&chapters, name, envelope, samples[name], note); err != nil {
			return nil, err
		}
	}
	out.Write(chapters.Bytes())
	return out.Bytes(), nil
}

// chapter writes an event's meaning, the table of its data and its example.
func chapter(out *bytes.Buffer, name string, envelope *openapi3.Schema, example json.RawMessage, note string) error {
	data := envelope.Properties["data"].Value
	meaning := oneLine(envelope.Description)
	if more := oneLine(data.Description); len(more) > len(meaning) {
		meaning = more
	}
	fmt.Fprintf(out, "\n## %s\n\n%s%s\n", name, meaning, note)
	out.WriteString("\n| Field of `data` | Type | Meaning |\n|---|---|---|\n")
	rows(out, "", data)
	out.WriteString("\n```json\n")
	if err := json.Indent(out, example, "", "  "); err != nil {
		return fmt.Errorf("write the sample of %s: %w", name, err)
	}
	out.WriteString("\n```\n")
	return nil
}

// rows writes a row for each property: the required ones first, in the schema's order. The parts of an allOf come first.
func rows(out *bytes.Buffer, prefix string, object *openapi3.Schema) {
	for _, part := range object.AllOf {
		rows(out, prefix, part.Value)
	}
	names := slices.DeleteFunc(slices.Clone(object.Required), func(name string) bool { return object.Properties[name] == nil })
	for _, name := range slices.Sorted(maps.Keys(object.Properties)) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, name := range names {
		s, meaning, isNullable := resolve(object.Properties[name].Value)
		kind, inner, suffix := typeOf(s)
		if isNullable {
			kind += ", or null"
		}
		if !slices.Contains(object.Required, name) {
			kind += ", optional"
		}
		fmt.Fprintf(out, "| `%s%s` | %s | %s |\n", prefix, name, kind, cell(meaning))
		if inner != nil {
			rows(out, prefix+name+suffix+".", inner)
		}
	}
}

// resolve returns the schema of a property without an allOf of one part, which the document uses to describe a reference.
func resolve(s *openapi3.Schema) (schema *openapi3.Schema, meaning string, isNullable bool) {
	meaning, isNullable = s.Description, s.Nullable
	for len(s.AllOf) == 1 {
		s = s.AllOf[0].Value
		isNullable = isNullable || s.Nullable
		if meaning == "" {
			meaning = s.Description
		}
	}
	return s, meaning, isNullable
}

// typeOf names a schema's type. inner is the schema of its fields, if it has some, and suffix comes between its name and theirs.
func typeOf(s *openapi3.Schema) (kind string, inner *openapi3.Schema, suffix string) {
	switch {
	case len(s.Enum) > 0:
		var values []string
		for _, value := range s.Enum {
			if value != nil {
				values = append(values, fmt.Sprintf("`%v`", value))
			}
		}
		return strings.Join(values, ", "), nil, ""
	case s.Type.Is(openapi3.TypeArray):
		item, _, _ := resolve(s.Items.Value)
		kind, inner, suffix = typeOf(item)
		return "list: " + kind, inner, "[]" + suffix
	case len(s.AllOf) > 0, s.Type.Is(openapi3.TypeObject) && len(s.Properties) > 0:
		return "object", s, ""
	case s.Type.Is(openapi3.TypeObject) && s.AdditionalProperties.Schema != nil:
		value, _, _ := typeOf(s.AdditionalProperties.Schema.Value)
		return "object, by key: " + value, nil, ""
	case s.Type == nil || len(*s.Type) == 0:
		return "any", nil, ""
	case s.Format == "date-time":
		return "time (RFC 3339)", nil, ""
	default:
		return (*s.Type)[0], nil, ""
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// cell is a text as a cell of a table.
func cell(text string) string { return strings.ReplaceAll(oneLine(text), "|", `\|`) }

// anchor is the address of a heading on GitHub.
func anchor(heading string) string { return strings.ReplaceAll(heading, ".", "") }
