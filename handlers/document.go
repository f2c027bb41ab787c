package handlers

import (
	"fmt"
	"net/http"

	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
)

// addDocument serves the API document in both notations, for people and for
// generators of clients on any origin.
func addDocument(e *echo.Echo, document []byte) error {
	asJSON, err := api.GetSpecJSON()
	if err != nil {
		return fmt.Errorf("read the embedded API document: %w", err)
	}
	serve := func(contentType string, body []byte) echo.HandlerFunc {
		return func(c echo.Context) error {
			h := c.Response().Header()
			h.Set(echo.HeaderAccessControlAllowOrigin, "*")
			h.Set(echo.HeaderCacheControl, "no-cache")
			return c.Blob(http.StatusOK, contentType, body)
		}
	}
	e.GET("/openapi.yaml", serve("application/yaml", document))
	e.GET("/openapi.json", serve(echo.MIMEApplicationJSON, asJSON))
	return nil
}
