package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
)

// CreateBreakouts opens breakout rooms.
func (s *Server) CreateBreakouts(ctx context.Context, r api.CreateBreakoutsRequestObject) (api.CreateBreakoutsResponseObject, error) {
	assignments := map[string][]string{}
	if r.Body.Assignments != nil {
		assignments = *r.Body.Assignments
	}
	rooms, err := s.areas.Sessions.CreateBreakouts(ctx, request.Caller(ctx), r.ID, r.Body.Count, assignments)
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
