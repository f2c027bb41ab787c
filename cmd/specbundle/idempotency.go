package main

import (
	"net/http"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// idempotencyKey names the header parameter that addIdempotencyKey adds.
const idempotencyKey = "IdempotencyKey"

// addIdempotencyKey adds the parameter Idempotency-Key to every POST of tenants
// below /v1/me, because the server's middleware reads it for all of them: one
// rule in the server is one rule here, instead of a line in each operation.
// Operations without a credential, and operations with x-idempotent: false, don't
// get it. A document that doesn't define the parameter is not changed.
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
