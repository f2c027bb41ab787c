package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/seller"
)

// GetConnectStatus returns the state of the caller's tenant as a seller.
func (s *Server) GetConnectStatus(ctx context.Context, _ api.GetConnectStatusRequestObject) (api.GetConnectStatusResponseObject, error) {
	status, err := s.areas.Sellers.GetConnectStatus(ctx, request.Caller(ctx))
	if err != nil {
		return nil, err
	}
	return api.GetConnectStatus200JSONResponse{
		Onboarded: status.Onboarded, ProcessorAccountID: orNull(status.AccountID), ChargesEnabled: status.ChargesEnabled,
	}, nil
}

// CreateOnboardingLink creates a page on which the tenant registers as a seller.
func (s *Server) CreateOnboardingLink(
	ctx context.Context, r api.CreateOnboardingLinkRequestObject,
) (api.CreateOnboardingLinkResponseObject, error) {
	link, err := s.areas.Sellers.CreateOnboardingLink(ctx, request.Caller(ctx), seller.Landing{
		ReturnURL: r.Body.ReturnURL, RefreshURL: r.Body.RefreshURL,
	})
	if err != nil {
		return nil, err
	}
	return api.CreateOnboardingLink201JSONResponse{OnboardingURL: link.URL, ExpiresAt: timestamp.From(link.ExpiresAt)}, nil
}
