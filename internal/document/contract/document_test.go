// Package contract_test checks the API document against the service's description (testdata), which
// is older than the document, operation by operation. It also checks names against those that client
// generators use. The package has no other code.
package contract_test

import (
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/gen"
)

func document(t *testing.T) *openapi3.T {
	t.Helper()
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	require.NoError(t, err)
	return doc
}
