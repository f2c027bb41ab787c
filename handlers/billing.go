package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
)

// ReceiveProcessorEvent receives a webhook of the payment processor.
func (s *Server) ReceiveProcessorEvent(
	ctx context.Context, r api.ReceiveProcessorEventRequestObject,
) (api.ReceiveProcessorEventResponseObject, error) {
	body, err := pipeline.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	if err := s.areas.Billing.ReceiveProcessorEvent(ctx, body, r.Params.StripeSignature); err != nil {
		return nil, err
	}
	return api.ReceiveProcessorEvent201JSONResponse{Received: true}, nil
}
