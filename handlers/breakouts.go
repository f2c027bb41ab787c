package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/request"
)

// CreateBreakouts opens breakout rooms.
func (s *Server) CreateBreakouts(ctx context.Context, r api.CreateBreakoutsRequestObject) (api.CreateBreakoutsResponseObject, error) {
	assignments := map[string][]string{}
	if r.Body.Assignments != nil {
		assignments = *r.Body.Assignments
	}
	var duration time.Duration
	if seconds := orNil(r.Body.DurationSec); seconds != nil {
		duration = time.Duration(*seconds) * time.Second
	}
	rooms, err := s.areas.Sessions.CreateBreakouts(ctx, request.Caller(ctx), r.ID, r.Body.Count, assignments, duration)
	if err != nil {
		return nil, err
	}
	return api.CreateBreakouts201JSONResponse(each(rooms, toSession(request.Caller(ctx)))), nil
}

// CloseBreakouts ends the breakout rooms that are open.
func (s *Server) CloseBreakouts(ctx context.Context, r api.CloseBreakoutsRequestObject) (api.CloseBreakoutsResponseObject, error) {
	closed, err := s.areas.Sessions.CloseBreakouts(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CloseBreakouts201JSONResponse{Closed: closed}, nil
}
