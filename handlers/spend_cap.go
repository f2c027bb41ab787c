package handlers

import (
	"context"
	"strings"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/commerce/overage"
)

// GetSpendCap returns the tenant's spend cap.
func (s *Server) GetSpendCap(ctx context.Context, _ api.GetSpendCapRequestObject) (api.GetSpendCapResponseObject, error) {
	limit, err := s.areas.Overage.GetSpendCap(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetSpendCap200JSONResponse(toSpendCap(limit)), nil
}

// SetSpendCap sets the tenant's spend cap.
func (s *Server) SetSpendCap(ctx context.Context, r api.SetSpendCapRequestObject) (api.SetSpendCapResponseObject, error) {
	limit, err := s.areas.Overage.SetSpendCap(ctx, request.Caller(ctx), orNil(r.Body.CapCents))
	if err != nil {
		return nil, err
	}
	return api.SetSpendCap200JSONResponse(toSpendCap(limit)), nil
}

func toSpendCap(c overage.Cap) api.SpendCap {
	return api.SpendCap{CapCents: orNull(c.Cents), Currency: strings.ToLower(c.Currency)}
}
