package handlers

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/gen"
)

// addDocument serves the API document and the document of the events, as JSON
// and as YAML, to any origin.
func addDocument(e *echo.Echo) error {
	asJSON, err := documentJSON()
	if err != nil {
		return fmt.Errorf("read the API document: %w", err)
	}
	serve := func(contentType string, body []byte) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header()
			h.Set(echo.HeaderAccessControlAllowOrigin, "*")
			h.Set(echo.HeaderCacheControl, "no-cache")
			return c.Blob(http.StatusOK, contentType, body)
		}
	}
	e.GET("/openapi.yaml", serve("application/yaml", gen.Document))
	e.GET("/openapi-webhooks.yaml", serve("application/yaml", gen.Webhooks))
	e.GET("/openapi.json", serve(echo.MIMEApplicationJSON, asJSON))
	return nil
}

// documentJSON is the API document as JSON, converted once per process. The copy
// in the generated code can't be used: it has its operationIds in Go's spelling.
//
//nolint:gochecknoglobals // as above
var documentJSON = sync.OnceValues(func() ([]byte, error) {
	doc, err := openapi3.NewLoader().LoadFromData(gen.Document)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
})
