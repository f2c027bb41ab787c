package contract_test

import (
	"slices"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
)

// TestInputsAreLimited: gateways and generated clients need an upper bound for each string, list and map that a caller
// sends. The bounds in the document must not be below those of the server.
func TestInputsAreLimited(t *testing.T) {
	t.Parallel()
	doc := document(t)
	limits := inputLimits{seen: map[*openapi3.Schema]bool{}}
	for url, item := range doc.Paths.Map() {
		for _, op := range item.Operations() {
			for _, p := range slices.Concat(item.Parameters, op.Parameters) {
				limits.check(url+" "+p.Value.Name, p.Value.Schema)
			}
			if op.RequestBody == nil {
				continue
			}
			for _, media := range op.RequestBody.Value.Content {
				limits.check(op.OperationID, media.Schema)
			}
		}
	}
	assert.Empty(t, limits.missing)
	assert.Greater(t, len(limits.seen), 300, "the walk reaches the inputs")
}

// inputLimits collects schemas without an upper bound.
type inputLimits struct {
	seen    map[*openapi3.Schema]bool
	missing []string
}

func (l *inputLimits) check(place string, ref *openapi3.SchemaRef) {
	if ref == nil || l.seen[ref.Value] {
		return
	}
	s := ref.Value
	l.seen[s] = true
	switch {
	case s.Type.Is(openapi3.TypeString) && s.MaxLength == nil && len(s.Enum) == 0:
		l.missing = append(l.missing, place+" has no maxLength")
	case s.Type.Is(openapi3.TypeArray) && s.MaxItems == nil:
		l.missing = append(l.missing, place+" has no maxItems")
	case s.AdditionalProperties.Schema != nil && s.MaxProps == nil:
		l.missing = append(l.missing, place+" has no maxProperties")
	}
	for name, property := range s.Properties {
		l.check(place+"."+name, property)
	}
	l.check(place+"[]", s.Items)
	l.check(place+".*", s.AdditionalProperties.Schema)
	for _, parts := range []openapi3.SchemaRefs{s.AllOf, s.OneOf, s.AnyOf} {
		for _, part := range parts {
			l.check(place, part)
		}
	}
}
