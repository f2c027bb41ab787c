package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/call"
	"showfloor/internal/tenancy"
)

// InviteCall rings a user.
func (s *Server) InviteCall(ctx context.Context, r api.InviteCallRequestObject) (api.InviteCallResponseObject, error) {
	a, err := s.areas.Calls.InviteCall(ctx, request.Caller(ctx), call.Input{
		FromUserID: r.Body.FromUserID, FromDisplayName: r.Body.FromDisplayName, ToUserID: r.Body.ToUserID, Kind: string(r.Body.Kind),
		ProjectID: r.Body.ProjectID, Metadata: pairsOf(r.Body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return api.InviteCall201JSONResponse(toCallAdmission(request.Caller(ctx), a)), nil
}

// AnswerCall answers a call for the callee and returns its token for the room.
func (s *Server) AnswerCall(ctx context.Context, r api.AnswerCallRequestObject) (api.AnswerCallResponseObject, error) {
	a, err := s.areas.Calls.AnswerCall(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.AnswerCall201JSONResponse(toCallAdmission(request.Caller(ctx), a)), nil
}

// DeclineCall declines a ringing call for the callee.
func (s *Server) DeclineCall(ctx context.Context, r api.DeclineCallRequestObject) (api.DeclineCallResponseObject, error) {
	v, err := s.areas.Calls.DeclineCall(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.DeclineCall201JSONResponse(toCall(v)), nil
}

// EndCall ends a call.
func (s *Server) EndCall(ctx context.Context, r api.EndCallRequestObject) (api.EndCallResponseObject, error) {
	v, err := s.areas.Calls.EndCall(ctx, request.Caller(ctx), r.ID, r.Body.UserID)
	if err != nil {
		return nil, err
	}
	return api.EndCall201JSONResponse(toCall(v)), nil
}

func toCall(v call.View) api.Call {
	return api.Call{
		SessionID: v.ID, State: api.SessionState(v.State), Kind: api.CallKind(v.Call.Kind), FromUserID: v.Call.FromUserID,
		FromDisplayName: orNull(v.Call.FromDisplayName), ToUserID: v.Call.ToUserID, ProjectID: orNull(v.ProjectID),
		RingExpiresAt: timestamp.From(v.Call.RingExpiresAt), StartedAt: timeOrNull(v.StartedAt), EndedAt: timeOrNull(v.EndedAt),
	}
}

func toCallAdmission(by tenancy.Caller, a call.Admission) api.CallAdmission {
	c := toCall(a.View)
	return api.CallAdmission{
		SessionID: c.SessionID, State: c.State, Kind: c.Kind, FromUserID: c.FromUserID, FromDisplayName: c.FromDisplayName,
		ToUserID: c.ToUserID, ProjectID: c.ProjectID, RingExpiresAt: c.RingExpiresAt, StartedAt: c.StartedAt, EndedAt: c.EndedAt,
		Session: toSession(by)(a.View.View), Token: a.Token.Token, SfuURL: a.Token.SFUURL, Role: api.ParticipantRole(a.Token.Role),
		Perms: toPerms(a.Token.Perms), ExpiresAt: timestamp.From(a.Token.ExpiresAt),
	}
}
