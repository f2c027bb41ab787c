package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
)

// StartSessionBroadcast broadcasts a session into a stream.
func (s *Server) StartSessionBroadcast(
	ctx context.Context, r api.StartSessionBroadcastRequestObject,
) (api.StartSessionBroadcastResponseObject, error) {
	b, err := s.areas.Sessions.StartBroadcast(ctx, request.Caller(ctx), r.ID, r.Body.StreamID)
	if err != nil {
		return nil, err
	}
	return api.StartSessionBroadcast201JSONResponse(toBroadcast(b)), nil
}

// StopSessionBroadcast ends the broadcast of a session.
func (s *Server) StopSessionBroadcast(
	ctx context.Context, r api.StopSessionBroadcastRequestObject,
) (api.StopSessionBroadcastResponseObject, error) {
	b, err := s.areas.Sessions.StopBroadcast(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.StopSessionBroadcast200JSONResponse(toBroadcast(b)), nil
}

func toBroadcast(b db.SessionBroadcast) api.StreamBroadcast {
	return api.StreamBroadcast{
		StreamID: b.StreamID, State: api.StreamBroadcastState(b.State), StartedAt: timeOrNull(b.StartedAt), EndedAt: timeOrNull(b.EndedAt),
		Reason: orNull((*api.StreamBroadcastEndReason)(b.Reason)),
	}
}

// broadcastOrNull converts the broadcast of a session; nil becomes null.
func broadcastOrNull(b *db.SessionBroadcast) nullable.Nullable[api.StreamBroadcast] {
	if b == nil {
		return nullable.NewNullNullable[api.StreamBroadcast]()
	}
	return nullable.NewNullableWithValue(toBroadcast(*b))
}
