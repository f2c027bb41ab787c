package contract_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/assert"
)

// bodies calls do for each operation with a JSON body, with the body's schema.
func bodies(t *testing.T, do func(method string, op *openapi3.Operation, body *openapi3.SchemaRef)) {
	t.Helper()
	for _, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			if media := op.RequestBody.Value.Content["application/json"]; media != nil {
				do(method, op, media.Schema)
			}
		}
	}
}

// TestBodiesAreInputsAndPatches: the name of a schema says that it is a
// request body. Reports of media servers and workers have other names.
func TestBodiesAreInputsAndPatches(t *testing.T) {
	t.Parallel()
	bodies(t, func(method string, op *openapi3.Operation, body *openapi3.SchemaRef) {
		if slices.Contains([]string{"Ingest callbacks", "Worker callbacks"}, op.Tags[0]) {
			return
		}
		ending := "Input"
		if method == http.MethodPatch {
			ending = "Patch"
		}
		assert.True(t, strings.HasSuffix(body.Ref, ending), "%s: %s must end in %s", op.OperationID, body.Ref, ending)
	})
}

// TestOmittedFieldsKeepTheirValues: the validator writes defaults into bodies. A default in a patch
// would overwrite a value that the caller left out in order to keep it.
func TestOmittedFieldsKeepTheirValues(t *testing.T) {
	t.Parallel()
	keepers := []string{"upsertProduct", "syncCatalog", "setIosPushCredentials", "setCloudPushCredentials"}
	bodies(t, func(method string, op *openapi3.Operation, body *openapi3.SchemaRef) {
		if method == http.MethodPatch || slices.Contains(keepers, op.OperationID) {
			assert.Empty(t, defaults(body.Value, ""), "%s: say the default in the description", op.OperationID)
		}
	})
}

// defaults lists the properties with a default, including those of parts and items.
func defaults(s *openapi3.Schema, path string) (list []string) {
	if s.Default != nil {
		list = append(list, path)
	}
	for name, property := range s.Properties {
		list = append(list, defaults(property.Value, path+"."+name)...)
	}
	for _, part := range s.AllOf {
		list = append(list, defaults(part.Value, path)...)
	}
	if s.Items != nil {
		list = append(list, defaults(s.Items.Value, path+"[]")...)
	}
	return list
}
