// Package contract_test holds the API document against what was promised before
// there was one: the service's description, as data in testdata, operation by
// operation; and against the names that generators of clients make up. It holds
// no code: the promises are the test.
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
