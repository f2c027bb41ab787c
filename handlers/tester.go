package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/tester"
)

// ListCaptureUrls lists the tenant's capture URLs.
func (s *Server) ListCaptureUrls(ctx context.Context, _ api.ListCaptureUrlsRequestObject) (api.ListCaptureUrlsResponseObject, error) {
	rows, err := s.areas.Tester.ListCaptureUrls(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.ListCaptureUrls200JSONResponse(each(rows, s.toCaptureURL)), nil
}

// CreateCaptureURL creates a capture URL.
func (s *Server) CreateCaptureURL(ctx context.Context, _ api.CreateCaptureURLRequestObject) (api.CreateCaptureURLResponseObject, error) {
	row, err := s.areas.Tester.CreateCaptureURL(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.CreateCaptureURL201JSONResponse(s.toCaptureURL(row)), nil
}

// ListCaptures lists the requests that a capture URL has stored.
func (s *Server) ListCaptures(ctx context.Context, r api.ListCapturesRequestObject) (api.ListCapturesResponseObject, error) {
	cursor, err := after(r.Params.Cursor, id.Capture)
	if err != nil {
		return nil, err
	}
	rows, more, err := s.areas.Tester.ListCaptures(ctx, request.Caller(ctx), r.Token, cursor, pageSize(r.Params.Limit))
	if err != nil {
		return nil, err
	}
	var link *string
	if more {
		link = s.nextPage(ctx, rows[len(rows)-1].ID)
	}
	return api.ListCaptures200JSONResponse{Body: each(rows, toCapture), Headers: api.ListCaptures200ResponseHeaders{Link: link}}, nil
}

// ReplayCapture sends a captured request to a URL.
func (s *Server) ReplayCapture(ctx context.Context, r api.ReplayCaptureRequestObject) (api.ReplayCaptureResponseObject, error) {
	replay, err := s.areas.Tester.ReplayCapture(ctx, request.Caller(ctx), r.Token, r.CaptureID, r.Body.URL)
	if err != nil {
		return nil, err
	}
	out := api.CaptureReplay{
		Status: nullable.NewNullNullable[int](), Headers: each(replay.Headers, toCapturedHeader),
		DurationMs: int(replay.Took.Milliseconds()), Error: textOrNull(replay.Failure),
	}
	if replay.Status != nil {
		out.Status = nullable.NewNullableWithValue(*replay.Status)
	}
	out.Body, out.BodyBase64 = tester.Text(replay.Body)
	return api.ReplayCapture201JSONResponse(out), nil
}

func (s *Server) toCaptureURL(u db.CaptureURL) api.CaptureURL {
	return api.CaptureURL{
		ID: u.ID, Token: u.Token, URL: s.publicURL + capturePath + u.Token, Captured: u.Captured,
		LastCapturedAt: timeOrNull(u.LastCapturedAt), CreatedAt: timestamp.From(u.CreatedAt),
	}
}

func toCapture(c tester.Captured) api.Capture {
	out := api.Capture{
		ID: c.ID, Method: c.Method, Path: c.Path, Query: c.Query, Headers: each(c.Headers, toCapturedHeader),
		BodyBytes: len(c.Body), IP: c.IP, CapturedAt: timestamp.From(c.CapturedAt),
	}
	out.Body, out.BodyBase64 = tester.Text(c.Body)
	return out
}

func toCapturedHeader(h tester.Header) api.CapturedHeader {
	return api.CapturedHeader{Name: h.Name, Value: h.Value, Base64: h.Base64}
}

// The path for deletions answers every method, and each of them deletes.

// DeleteCaptureURL deletes a capture URL.
func (s *Server) DeleteCaptureURL(ctx context.Context, r api.DeleteCaptureURLRequestObject) (api.DeleteCaptureURLResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURL200JSONResponse(out), err
}

func (s *Server) deleteCaptureURL(ctx context.Context, token string) (api.CaptureURL, error) {
	row, err := s.areas.Tester.DeleteCaptureURL(ctx, request.Caller(ctx), token)
	if err != nil {
		return api.CaptureURL{}, err
	}
	return s.toCaptureURL(row), nil
}

// DeleteCaptureURLByGet deletes a capture URL.
func (s *Server) DeleteCaptureURLByGet(
	ctx context.Context, r api.DeleteCaptureURLByGetRequestObject,
) (api.DeleteCaptureURLByGetResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByGet200JSONResponse(out), err
}

// DeleteCaptureURLByPut deletes a capture URL.
func (s *Server) DeleteCaptureURLByPut(
	ctx context.Context, r api.DeleteCaptureURLByPutRequestObject,
) (api.DeleteCaptureURLByPutResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByPut200JSONResponse(out), err
}

// DeleteCaptureURLByPost deletes a capture URL.
func (s *Server) DeleteCaptureURLByPost(
	ctx context.Context, r api.DeleteCaptureURLByPostRequestObject,
) (api.DeleteCaptureURLByPostResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByPost200JSONResponse(out), err
}

// DeleteCaptureURLByOptions deletes a capture URL.
func (s *Server) DeleteCaptureURLByOptions(
	ctx context.Context, r api.DeleteCaptureURLByOptionsRequestObject,
) (api.DeleteCaptureURLByOptionsResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByOptions200JSONResponse(out), err
}

// DeleteCaptureURLByPatch deletes a capture URL.
func (s *Server) DeleteCaptureURLByPatch(
	ctx context.Context, r api.DeleteCaptureURLByPatchRequestObject,
) (api.DeleteCaptureURLByPatchResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByPatch200JSONResponse(out), err
}

// DeleteCaptureURLByHead deletes a capture URL.
func (s *Server) DeleteCaptureURLByHead(
	ctx context.Context, r api.DeleteCaptureURLByHeadRequestObject,
) (api.DeleteCaptureURLByHeadResponseObject, error) {
	out, err := s.deleteCaptureURL(ctx, r.Token)
	return api.DeleteCaptureURLByHead200JSONResponse(out), err
}
