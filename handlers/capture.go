package handlers

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/handlers/request"
	"showfloor/internal/outflow/tester"
)

// capturePath is the path of capture URLs; the token follows it.
const capturePath = "/v1/webhooks/capture/"

// addCaptures adds the routes that the document leaves out: TRACE, which some client generators refuse, and for capture
// URLs, which the document can't express, all other methods and the paths behind the token.
func (s *Server) addCaptures(e *echo.Echo) {
	capture := func(c echo.Context) error {
		receipt, err := s.capture(c.Request().Context())
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, receipt)
	}
	// Only the document's own methods are routed there, so every other request
	// ends up at RouteNotFound.
	e.RouteNotFound(capturePath+":token", capture)
	e.RouteNotFound(capturePath+":token/*", capture)
	e.TRACE("/v1/me/webhook-tester/:token/delete", func(c echo.Context) error {
		out, err := s.deleteCaptureURL(c.Request().Context(), c.Param("token"))
		if err != nil {
			return err
		}
		return c.JSON(http.StatusOK, out)
	})
}

// captureToken returns the token in the path of a capture URL. The router's
// parameter is empty for methods that it doesn't know.
func captureToken(r *http.Request) string {
	token, _, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, capturePath), "/")
	return token
}

// captureURLs gives the pipeline access to the tokens of capture URLs.
type captureURLs struct{ *tester.Service }

// Token implements pipeline.CaptureURLs.
func (captureURLs) Token(r *http.Request) string { return captureToken(r) }

// IsGone implements pipeline.CaptureURLs.
func (captureURLs) IsGone(err error) bool { return errors.Is(err, tester.ErrGone) }

// capture stores the request that ctx belongs to.
func (s *Server) capture(ctx context.Context) (api.CaptureReceipt, error) {
	r := request.Whole(ctx)
	token := captureToken(r)
	tenantID, err := s.areas.Tester.Expect(ctx, token, r.ContentLength)
	if err != nil {
		return api.CaptureReceipt{}, err
	}
	body, err := pipeline.ReadAll(r.Body)
	if err != nil {
		return api.CaptureReceipt{}, err
	}
	captureID, err := s.areas.Tester.Capture(ctx, tester.Request{
		Token: token, TenantID: tenantID, Method: r.Method, URL: r.URL, Host: r.Host, Header: r.Header, Body: body, IP: request.Origin(ctx).IP,
	})
	if err != nil {
		return api.CaptureReceipt{}, err
	}
	return api.CaptureReceipt{Captured: true, ID: captureID}, nil
}

// CaptureGet stores a request.
func (s *Server) CaptureGet(ctx context.Context, _ api.CaptureGetRequestObject) (api.CaptureGetResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CaptureGet200JSONResponse(receipt), err
}

// CapturePut stores a request.
func (s *Server) CapturePut(ctx context.Context, _ api.CapturePutRequestObject) (api.CapturePutResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CapturePut200JSONResponse(receipt), err
}

// CapturePost stores a request.
func (s *Server) CapturePost(ctx context.Context, _ api.CapturePostRequestObject) (api.CapturePostResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CapturePost200JSONResponse(receipt), err
}

// CaptureDelete stores a request.
func (s *Server) CaptureDelete(ctx context.Context, _ api.CaptureDeleteRequestObject) (api.CaptureDeleteResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CaptureDelete200JSONResponse(receipt), err
}

// CaptureOptions stores a request.
func (s *Server) CaptureOptions(ctx context.Context, _ api.CaptureOptionsRequestObject) (api.CaptureOptionsResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CaptureOptions200JSONResponse(receipt), err
}

// CaptureHead stores a request.
func (s *Server) CaptureHead(ctx context.Context, _ api.CaptureHeadRequestObject) (api.CaptureHeadResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CaptureHead200JSONResponse(receipt), err
}

// CapturePatch stores a request.
func (s *Server) CapturePatch(ctx context.Context, _ api.CapturePatchRequestObject) (api.CapturePatchResponseObject, error) {
	receipt, err := s.capture(ctx)
	return api.CapturePatch200JSONResponse(receipt), err
}
