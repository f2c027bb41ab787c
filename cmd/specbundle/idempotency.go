package main

import (
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// idempotencyKey names the header parameter that addIdempotencyKey adds.
const idempotencyKey = "IdempotencyKey"

// addIdempotencyKey gives every POST of tenants below /v1/me the parameter
// Idempotency-Key, which the server's middleware reads for all of them: what is
// one rule in the server is one rule here, instead of the same line in each
// operation. Operations without a credential don't have it, nor those that say
// x-idempotent: false. A document that doesn't list the parameter is left alone.
func addIdempotencyKey(doc *openapi3.T) {
	if doc.Components == nil || doc.Components.Parameters[idempotencyKey] == nil {
		return
	}
	parameter := doc.Components.Parameters[idempotencyKey]
	for path, item := range doc.Paths.Map() {
		op := item.GetOperation(http.MethodPost)
		if op == nil || !strings.HasPrefix(path, "/v1/me/") || op.Extensions["x-idempotent"] == false {
			continue
		}
		security := doc.Security
		if op.Security != nil {
			security = *op.Security
		}
		if len(security) > 0 {
			op.Parameters = append(op.Parameters, &openapi3.ParameterRef{
				Ref: "#/components/parameters/" + idempotencyKey, Value: parameter.Value,
			})
		}
	}
}
