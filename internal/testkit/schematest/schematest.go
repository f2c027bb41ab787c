// Package schematest validates answers and events against the two published documents with a JSON Schema validator.
//
// The server validates requests with kin-openapi, which is lenient: it accepts null for every part of a nullable schema,
// and it checks few formats (not uri or email). Clients are made with other tools. So tests check each answer and each event a second
// time, by the rules of the specifications alone. A schema is compiled when it is first needed, once per process.
package schematest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"showfloor/gen"
)

// location is the URL by which the compiler knows a document. Nothing is fetched from it.
const location = "https://document.test/openapi.json"

// Document is a document with its compiled schemas. It is safe for concurrent use.
type Document struct {
	root map[string]any

	mu       sync.Mutex // protects compiler and compiled
	compiler *jsonschema.Compiler
	compiled map[string]*jsonschema.Schema // by place
}

// API returns the published API document (OpenAPI 3.0).
//
//nolint:gochecknoglobals // it takes long to read and never changes
var API = sync.OnceValues(func() (*Document, error) { return Read30(gen.Document) })

// Webhooks returns the published document of the webhooks (OpenAPI 3.1).
//
//nolint:gochecknoglobals // it takes long to read and never changes
var Webhooks = sync.OnceValues(func() (*Document, error) { return Read31(gen.Webhooks) })

// Read30 reads an OpenAPI 3.0 document, in YAML. Its schemas are those of answers: a property with writeOnly must be missing.
func Read30(source []byte) (*Document, error) {
	return read(source, jsonschema.Draft4, translate)
}

// Read31 reads an OpenAPI 3.1 document, in YAML. Its schemas are JSON Schema 2020-12 as they are.
func Read31(source []byte) (*Document, error) {
	return read(source, jsonschema.Draft2020, func(map[string]any) {})
}

func read(source []byte, draft *jsonschema.Draft, prepare func(root map[string]any)) (*Document, error) {
	d := &Document{compiler: jsonschema.NewCompiler(), compiled: map[string]*jsonschema.Schema{}}
	if err := yaml.Unmarshal(source, &d.root); err != nil {
		return nil, fmt.Errorf("read the document: %w", err)
	}
	prepare(d.root)
	d.compiler.DefaultDraft(draft)
	d.compiler.AssertFormat()
	for name, bits := range map[string]int{"int32": 32, "int64": 64} {
		d.compiler.RegisterFormat(&jsonschema.Format{Name: name, Validate: integer(bits)})
	}
	return d, d.compiler.AddResource(location, d.root)
}

// integer checks the formats of OpenAPI for integers.
func integer(bits int) func(v any) error {
	return func(v any) error {
		if n, isNumber := v.(json.Number); isNumber {
			if _, err := strconv.ParseInt(n.String(), 10, bits); err != nil {
				return fmt.Errorf("%s is no integer of %d bits", n, bits)
			}
		}
		return nil
	}
}

// Decode reads a JSON text; numbers stay as they are written (json.Number).
func Decode(text []byte) (any, error) {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	return value, nil
}

// DecodeBody reads the body of an answer: a text or a file as a string, all else as JSON.
func DecodeBody(contentType string, body []byte) (any, error) {
	if strings.HasPrefix(contentType, "text/") || contentType == "application/octet-stream" {
		return string(body), nil
	}
	return Decode(body)
}

// validate checks a value against the schema at a place in the document.
func (d *Document) validate(value any, place []string) error {
	schema, err := d.schema(place)
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func (d *Document) schema(place []string) (*jsonschema.Schema, error) {
	name := strings.Join(place, "\n")
	d.mu.Lock()
	defer d.mu.Unlock()
	if schema := d.compiled[name]; schema != nil {
		return schema, nil
	}
	schema, err := d.compiler.Compile(location + "#/" + strings.Join(escaped(place), "/"))
	if err != nil {
		return nil, fmt.Errorf("compile the schema: %w", err)
	}
	d.compiled[name] = schema
	return schema, nil
}

// escaped returns the steps of a JSON pointer as they are written in a URL.
func escaped(place []string) []string {
	steps := make([]string, len(place))
	for i, step := range place {
		steps[i] = strings.NewReplacer("~", "~0", "/", "~1", "%", "%25").Replace(step)
	}
	return steps
}

// at follows keys through objects; nil when one is missing.
func at(value any, keys ...string) any {
	for _, key := range keys {
		object, _ := value.(map[string]any)
		value = object[key]
	}
	return value
}
