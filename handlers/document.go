package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/gen"
)

// addDocument serves the API document and the document of the events, as JSON
// and as YAML, to any origin.
func addDocument(e *echo.Echo) {
	serve := func(contentType string, body func() ([]byte, error)) echo.HandlerFunc {
		return func(c echo.Context) error {
			text, err := body()
			if err != nil {
				return err
			}
			h := c.Response().Header()
			h.Set(echo.HeaderAccessControlAllowOrigin, "*")
			h.Set(echo.HeaderCacheControl, "no-cache")
			return c.Blob(http.StatusOK, contentType, text)
		}
	}
	embedded := func(text []byte) func() ([]byte, error) {
		return func() ([]byte, error) { return text, nil }
	}
	e.GET("/openapi.yaml", serve("application/yaml", embedded(gen.Document)))
	e.GET("/openapi-webhooks.yaml", serve("application/yaml", embedded(gen.Webhooks)))
	e.GET("/openapi.json", serve(echo.MIMEApplicationJSON, documentJSON))
}

// documentJSON is the API document as JSON, in which each operation that answers 501 has x-unbuilt. The conversion takes 0.3 s
// of CPU, half of what a start needs, so it is done at the first request. A test, not the start, checks that it
// succeeds. The copy in the generated code can't be used: it has its operationIds in Go's
// spelling.
//
//nolint:gochecknoglobals // as above
var documentJSON = sync.OnceValues(func() ([]byte, error) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		return nil, fmt.Errorf("read the API document: %w", err)
	}
	markUnbuilt(doc)
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("write the API document as JSON: %w", err)
	}
	return text, nil
})

// markUnbuilt sets x-unbuilt: true on the operations that Unbuilt lists, for the reference page's badges. Go names differ
// from operationIds only in upper and lower case.
func markUnbuilt(doc *openapi3.T) {
	unbuilt := map[string]bool{}
	for _, name := range Unbuilt() {
		unbuilt[strings.ToLower(name)] = true
	}
	for _, item := range doc.Paths.Map() {
		for _, operation := range item.Operations() {
			if !unbuilt[strings.ToLower(operation.OperationID)] {
				continue
			}
			if operation.Extensions == nil {
				operation.Extensions = map[string]any{}
			}
			operation.Extensions["x-unbuilt"] = true
		}
	}
}
