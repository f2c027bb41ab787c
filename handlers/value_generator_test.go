package handlers_test

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"showfloor/internal/document/sample"
)

// generator makes values from schemas. The same seed makes the same values, apart from the live ids.
type generator struct {
	*rand.Rand

	// live has an id for each property that names one.
	live map[string]string
	// edge takes numbers, lengths and times at their limits.
	edge bool
}

// one returns one of the values.
func one[T any](g generator, values ...T) T { return values[g.IntN(len(values))] }

// value returns a value of the schema; name is that of the property or parameter.
func (g generator) value(name string, s *openapi3.Schema) any {
	if id := g.live[name]; id != "" && g.IntN(4) > 0 {
		return id
	}
	switch {
	case s.Nullable && g.IntN(4) == 0:
		return nil
	case len(s.Enum) > 0:
		return one(g, s.Enum...)
	case len(s.OneOf) > 0:
		return g.value(name, one(g, s.OneOf...).Value)
	case len(s.AnyOf) > 0:
		return g.value(name, one(g, s.AnyOf...).Value)
	case len(s.AllOf) == 1 && len(s.Properties) == 0:
		return g.value(name, s.AllOf[0].Value)
	case s.Type.Is(openapi3.TypeObject), len(s.AllOf) > 0:
		return g.object(s)
	case s.Type.Is(openapi3.TypeArray):
		return g.array(name, s)
	case s.Type.Is(openapi3.TypeBoolean):
		return g.IntN(2) == 0
	case s.Type.Is(openapi3.TypeInteger), s.Type.Is(openapi3.TypeNumber):
		return g.number(s)
	default:
		return g.text(s)
	}
}

// object has the required properties and about half of the others.
func (g generator) object(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	for _, part := range s.AllOf {
		maps.Copy(out, g.object(part.Value))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		if slices.Contains(s.Required, name) || g.IntN(2) == 0 {
			out[name] = g.value(name, s.Properties[name].Value)
		}
	}
	if entry := s.AdditionalProperties.Schema; entry != nil {
		for i := range g.IntN(3) {
			out["key"+strconv.Itoa(i)] = g.value("", entry.Value)
		}
	}
	return out
}

func (g generator) array(name string, s *openapi3.Schema) []any {
	size := s.MinItems + g.Uint64N(3)
	if g.edge {
		size = s.MinItems
		if s.MaxItems != nil && g.IntN(2) == 0 {
			size = min(*s.MaxItems, 200)
		}
	}
	if s.MaxItems != nil {
		size = min(size, *s.MaxItems)
	}
	out := []any{}
	for range size {
		out = append(out, g.value(strings.TrimSuffix(name, "s"), s.Items.Value))
	}
	return out
}

func (g generator) number(s *openapi3.Schema) any {
	low, high := int64(0), int64(1_000)
	if s.Min != nil {
		low = int64(*s.Min)
	}
	if s.Max != nil {
		high = int64(*s.Max)
	} else if g.edge {
		high = one(g, int64(1)<<31, int64(1)<<53, int64(1)<<62, int64(math.MaxInt64))
	}
	if g.edge {
		return one(g, low, high)
	}
	return low + g.Int64N(max(high-low, 0)+1)
}

func (g generator) text(s *openapi3.Schema) string {
	switch {
	case s.Format == "date-time" && g.edge:
		return one(g, "0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z", "2026-02-28T23:59:59.999999999-23:59")
	case s.Format == "date-time":
		return one(g, "2026-01-02T03:04:05.678Z", "2030-06-07T08:09:10+02:00")
	case s.Format == "uri", strings.HasPrefix(s.Pattern, "^https?"): // nothing listens there
		return "http://127.0.0.1:1/" + strconv.Itoa(g.IntN(1000))
	case s.Format == "email":
		return "user" + strconv.Itoa(g.IntN(1_000_000)) + "@generated.example"
	case s.Pattern != "" && s.Pattern != `\S`:
		text, _ := sample.Of(s).(string)
		return text
	}
	size := int(s.MinLength) + 1 + g.IntN(20) //nolint:gosec // lengths in the document are small
	if g.edge && s.MaxLength != nil {
		size = min(one(g, int(*s.MaxLength), max(int(s.MinLength), 1)), 20_000) //nolint:gosec // the same
	} else if s.MaxLength != nil {
		size = min(size, int(*s.MaxLength)) //nolint:gosec // the same
	}
	letters := []rune("abcXYZ019 -_.")
	if g.edge {
		letters = []rune("a\x00\x01\n'\"\\%;ß𝄞\u0301\u202e\u2028\ufeff\uffff")
	}
	out := make([]rune, size)
	for i := range out {
		out[i] = one(g, letters...)
	}
	return string(out)
}

// wrong changes a random place in a value so that it rarely fits its schema.
func (g generator) wrong(value any) any {
	switch v := value.(type) {
	case map[string]any:
		names := slices.Sorted(maps.Keys(v))
		switch {
		case len(names) == 0 || g.IntN(6) == 0:
			v[one(g, "unknown", "\x00", "__proto__", "")] = g.junk()
		case g.IntN(3) == 0:
			delete(v, one(g, names...))
		default:
			name := one(g, names...)
			v[name] = g.wrong(v[name])
		}
		return v
	case []any:
		if len(v) > 0 && g.IntN(2) == 0 {
			i := g.IntN(len(v))
			v[i] = g.wrong(v[i])
			return v
		}
	}
	return g.junk()
}

func (g generator) junk() any {
	deep := any("end")
	for range 70 {
		deep = []any{deep}
	}
	return one[any](g, nil, true, -1, 1.5, 1e300, -9223372036854775808, "", " ", "text", "\x00", "-1", strings.Repeat("ab", 2000), []any{}, map[string]any{}, deep)
}
