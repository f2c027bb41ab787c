package event_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/gen"
)

// TestNamesAreTheNamesOfTheDocument reads the package's constants from its source,
// so that it can't miss one.
func TestNamesAreTheNamesOfTheDocument(t *testing.T) {
	t.Parallel()
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	require.NoError(t, err)
	file, err := parser.ParseFile(token.NewFileSet(), "event.go", nil, parser.SkipObjectResolution)
	require.NoError(t, err)
	var names []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, isValue := n.(*ast.ValueSpec)
		if !isValue {
			return true
		}
		for _, v := range spec.Values {
			text, isLiteral := v.(*ast.BasicLit)
			if !isLiteral || text.Kind != token.STRING {
				continue
			}
			// Every event's name contains a dot; the queue's doesn't.
			if name := constant.StringVal(constant.MakeFromLiteral(text.Value, text.Kind, 0)); strings.Contains(name, ".") {
				names = append(names, name)
			}
		}
		return true
	})
	require.Contains(t, names, "stream.started")
	require.Subset(t, doc.Components.Schemas["EventName"].Value.Enum, names)
}
