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

const (
	// capturePath is the path of capture URLs; the token follows it.
	capturePath = "/v1/webhooks/capture/"
	// testerPath and deletePath enclose the token in the path that deletes a capture URL.
	testerPath, deletePath = "/v1/me/webhook-tester/", "/delete"
)

// addCaptures adds the routes of capture URLs that the document can't express: all other methods, and the paths behind
// the token.
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
}

// deleteByAnyMethod treats every method that the document doesn't list as DELETE, at the path that deletes a capture URL.
// These are TRACE, which some client generators refuse, and methods that HTTP doesn't define.
func deleteByAnyMethod(router http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodOptions:
		default:
			if behind, ok := strings.CutPrefix(echo.GetPath(r), testerPath); ok {
				if token, ok := strings.CutSuffix(behind, deletePath); ok && token != "" && !strings.Contains(token, "/") {
					r = r.WithContext(r.Context()) // a copy: a handler must not change the request that it gets
					r.Method = http.MethodDelete
				}
			}
		}
		router.ServeHTTP(w, r)
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
