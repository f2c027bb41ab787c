package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/rooms/session"
)

// UpdateSessionParticipant changes a participant's role or permissions.
func (s *Server) UpdateSessionParticipant(
	ctx context.Context, r api.UpdateSessionParticipantRequestObject,
) (api.UpdateSessionParticipantResponseObject, error) {
	p, err := s.areas.Sessions.UpdateSessionParticipant(ctx, request.Caller(ctx), r.ID, r.UserID, session.ParticipantPatch{
		Role: (*string)(r.Body.Role), CanPublishScreen: r.Body.CanPublishScreen,
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateSessionParticipant200JSONResponse(toParticipant(p)), nil
}

// KickSessionParticipant removes a participant from the session.
func (s *Server) KickSessionParticipant(
	ctx context.Context, r api.KickSessionParticipantRequestObject,
) (api.KickSessionParticipantResponseObject, error) {
	p, err := s.areas.Sessions.KickSessionParticipant(ctx, request.Caller(ctx), r.ID, r.UserID)
	if err != nil {
		return nil, err
	}
	return api.KickSessionParticipant200JSONResponse(toParticipant(p)), nil
}

// AdmitSessionParticipant admits a participant from the waiting room.
func (s *Server) AdmitSessionParticipant(
	ctx context.Context, r api.AdmitSessionParticipantRequestObject,
) (api.AdmitSessionParticipantResponseObject, error) {
	p, err := s.areas.Sessions.AdmitSessionParticipant(ctx, request.Caller(ctx), r.ID, r.UserID)
	if err != nil {
		return nil, err
	}
	return api.AdmitSessionParticipant201JSONResponse(toParticipant(p)), nil
}

// MuteAllParticipants mutes all participants. The validator has filled in the
// document's default, unless the request has no body.
func (s *Server) MuteAllParticipants(
	ctx context.Context, r api.MuteAllParticipantsRequestObject,
) (api.MuteAllParticipantsResponseObject, error) {
	exceptHost := r.Body == nil || r.Body.ExceptHost == nil || *r.Body.ExceptHost
	muted, err := s.areas.Sessions.MuteAllParticipants(ctx, request.Caller(ctx), r.ID, exceptHost)
	if err != nil {
		return nil, err
	}
	return api.MuteAllParticipants201JSONResponse{Muted: muted}, nil
}

// MuteSessionParticipant mutes one participant.
func (s *Server) MuteSessionParticipant(
	ctx context.Context, r api.MuteSessionParticipantRequestObject,
) (api.MuteSessionParticipantResponseObject, error) {
	p, err := s.areas.Sessions.MuteSessionParticipant(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.MuteSessionParticipant201JSONResponse(toParticipant(p)), nil
}

// SetSessionSpotlight shows one participant to all others.
func (s *Server) SetSessionSpotlight(
	ctx context.Context, r api.SetSessionSpotlightRequestObject,
) (api.SetSessionSpotlightResponseObject, error) {
	v, err := s.areas.Sessions.SetSessionSpotlight(ctx, request.Caller(ctx), r.ID, orNil(r.Body.UserID))
	if err != nil {
		return nil, err
	}
	return api.SetSessionSpotlight201JSONResponse(toSession(request.Caller(ctx))(v)), nil
}

// PromoteSessionParticipant brings a viewer on stage.
func (s *Server) PromoteSessionParticipant(
	ctx context.Context, r api.PromoteSessionParticipantRequestObject,
) (api.PromoteSessionParticipantResponseObject, error) {
	p, err := s.areas.Sessions.PromoteSessionParticipant(ctx, request.Caller(ctx), r.ID, r.Body.UserID, string(r.Body.Role))
	if err != nil {
		return nil, err
	}
	return api.PromoteSessionParticipant201JSONResponse(toParticipant(p)), nil
}

// RaiseHand raises a participant's hand.
func (s *Server) RaiseHand(ctx context.Context, r api.RaiseHandRequestObject) (api.RaiseHandResponseObject, error) {
	p, err := s.areas.Sessions.RaiseHand(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.RaiseHand201JSONResponse(toParticipant(p)), nil
}

// LowerHand lowers a participant's hand.
func (s *Server) LowerHand(ctx context.Context, r api.LowerHandRequestObject) (api.LowerHandResponseObject, error) {
	p, err := s.areas.Sessions.LowerHand(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.LowerHand201JSONResponse(toParticipant(p)), nil
}
