package pipeline

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"
	"github.com/stretchr/testify/require"
)

func TestUnbuiltOperationsAnswer501(t *testing.T) {
	t.Parallel()
	const path = "/v1/health"
	serve := func(unbuilt ...string) *httptest.ResponseRecorder {
		p, err := New(Config{Log: slog.New(slog.DiscardHandler)}, Services{WebSockets: noSockets{}, Unbuilt: unbuilt})
		require.NoError(t, err)
		e := echo.New()
		e.GET(path, func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
		answer := httptest.NewRecorder()
		p.Wrap(e).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
		return answer
	}
	require.Equal(t, http.StatusNoContent, serve("GetReadiness").Code)
	answer := serve("GetReadiness", "GetHealth")
	require.Equal(t, http.StatusNotImplemented, answer.Code)
	require.Contains(t, answer.Body.String(), `"code":"not_implemented"`)
}
