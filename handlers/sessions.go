package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// ListSessions lists the tenant's sessions.
func (s *Server) ListSessions(ctx context.Context, r api.ListSessionsRequestObject) (api.ListSessionsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Session)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Sessions.ListSessions(ctx, request.Caller(ctx), (*string)(r.Params.Type), cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v session.View) string { return v.ID })
	return api.ListSessions200JSONResponse{
		Body: each(views, toSession(request.Caller(ctx))), Headers: api.ListSessions200ResponseHeaders{Link: link},
	}, nil
}

// CreateSession opens a session. The validator has filled in the document's
// defaults.
func (s *Server) CreateSession(ctx context.Context, r api.CreateSessionRequestObject) (api.CreateSessionResponseObject, error) {
	v, err := s.areas.Sessions.CreateSession(ctx, request.Caller(ctx), session.Input{
		Type: string(r.Body.Type), Name: r.Body.Name, ProjectID: r.Body.ProjectID, HostID: r.Body.HostID,
		Capacity: small(r.Body.Capacity), Layout: (*string)(r.Body.Layout), RecordingEnabled: *r.Body.RecordingEnabled,
		TranscriptionEnabled: *r.Body.TranscriptionEnabled, WaitingRoom: *r.Body.WaitingRoom, InviteUserIDs: r.Body.InviteUserIds,
		Metadata: pairsOf(r.Body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateSession201JSONResponse(toSession(request.Caller(ctx))(v)), nil
}

// GetSession returns a session.
func (s *Server) GetSession(ctx context.Context, r api.GetSessionRequestObject) (api.GetSessionResponseObject, error) {
	v, err := s.areas.Sessions.GetSession(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetSession200JSONResponse(toSession(request.Caller(ctx))(v)), nil
}

// UpdateSession changes a session.
func (s *Server) UpdateSession(ctx context.Context, r api.UpdateSessionRequestObject) (api.UpdateSessionResponseObject, error) {
	v, err := s.areas.Sessions.UpdateSession(ctx, request.Caller(ctx), r.ID, session.Patch{
		Name: r.Body.Name, Layout: (*string)(r.Body.Layout), Locked: r.Body.Locked, WaitingRoom: r.Body.WaitingRoom,
		Capacity: small(r.Body.Capacity), RecordingEnabled: r.Body.RecordingEnabled, TranscriptionEnabled: r.Body.TranscriptionEnabled,
		Metadata: pairsOf(r.Body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateSession200JSONResponse(toSession(request.Caller(ctx))(v)), nil
}

// CreateSessionToken creates a user's token for a session.
func (s *Server) CreateSessionToken(
	ctx context.Context, r api.CreateSessionTokenRequestObject,
) (api.CreateSessionTokenResponseObject, error) {
	t, err := s.areas.Sessions.CreateSessionToken(ctx, request.Caller(ctx), r.ID, session.TokenInput{
		UserID: r.Body.UserID, DisplayName: r.Body.DisplayName, Role: (*string)(r.Body.Role),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateSessionToken201JSONResponse{
		Token: t.Token, SfuURL: t.SFUURL, Role: api.ParticipantRole(t.Role), Perms: toPerms(t.Perms), ExpiresAt: timestamp.From(t.ExpiresAt),
	}, nil
}

// EndSession ends a session.
func (s *Server) EndSession(ctx context.Context, r api.EndSessionRequestObject) (api.EndSessionResponseObject, error) {
	row, err := s.areas.Sessions.EndSession(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.EndSession201JSONResponse{
		ID: row.ID, State: api.SessionState(row.State), StartedAt: timeOrNull(row.StartedAt), EndedAt: timestamp.From(*row.EndedAt),
	}, nil
}

func toSummarySource(source string) api.SummarySource { return api.SummarySource(source) }

// GetSessionSummary returns the summary of a session.
func (s *Server) GetSessionSummary(ctx context.Context, r api.GetSessionSummaryRequestObject) (api.GetSessionSummaryResponseObject, error) {
	sum, err := s.areas.Sessions.GetSessionSummary(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	out := api.GetSessionSummary200JSONResponse{
		Ready: sum.Text != nil, GeneratedAt: timeOrNull(sum.At), Summary: nullable.NewNullNullable[api.SummaryText](),
		Engine: nullable.NewNullNullable[api.SummaryEngine](), Sources: each(sum.Sources, toSummarySource),
	}
	if sum.Text != nil {
		out.Engine = nullable.NewNullableWithValue(api.SummaryEngine(sum.Engine))
		out.Summary = nullable.NewNullableWithValue(api.SummaryText{
			Tldr: sum.Text.TLDR, Highlights: sum.Text.Highlights, ActionItems: sum.Text.ActionItems, Decisions: sum.Text.Decisions,
		})
	}
	return out, nil
}

// CreateSfuToken creates a token for a stream's room.
func (s *Server) CreateSfuToken(ctx context.Context, r api.CreateSfuTokenRequestObject) (api.CreateSfuTokenResponseObject, error) {
	var in session.SfuTokenInput
	if r.Body != nil {
		in = session.SfuTokenInput{UserID: r.Body.UserID, DisplayName: r.Body.DisplayName, Role: (*string)(r.Body.Role)}
	}
	t, err := s.areas.Sessions.CreateSfuToken(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	return api.CreateSfuToken201JSONResponse{
		Token: t.Token, SfuURL: t.SFUURL, Room: t.RoomID, Role: api.ParticipantRole(t.Role), Perms: toPerms(t.Perms),
		ExpiresAt: timestamp.From(t.ExpiresAt),
	}, nil
}

// toSession returns a function that converts sessions for a caller. Participants
// don't see the metadata, which is for the tenant's own servers.
func toSession(c tenancy.Caller) func(session.View) api.Session {
	return func(v session.View) api.Session {
		out := withoutMetadata(v)
		if c.Participant == nil {
			m := toMetadata(v.Metadata)
			out.Metadata = &m
		}
		return out
	}
}

func withoutMetadata(v session.View) api.Session {
	out := api.Session{
		ID: v.ID, Type: api.SessionType(v.Type), Name: v.Name, ProjectID: orNull(v.ProjectID), HostID: v.HostID,
		Capacity: int(v.Capacity), ParticipantCount: int(v.Present), RecordingEnabled: v.RecordingEnabled,
		TranscriptionEnabled: v.TranscriptionEnabled, WaitingRoom: v.WaitingRoom, Locked: v.Locked, Layout: api.SessionLayout(v.Layout),
		SpotlightUserID: orNull(v.SpotlightUserID), RecordingID: orNull(v.RecordingID), Broadcast: broadcastOrNull(v.Broadcast),
		InviteUserIds: v.InviteUserIds,
		State:         api.SessionState(v.State),
		StartedAt:     timeOrNull(v.StartedAt), EndedAt: timeOrNull(v.EndedAt), ParentSessionID: orNull(v.ParentSessionID),
		ClosesAt: timeOrNull(v.ClosesAt), CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
	if v.Parties != nil {
		out.Participants = each(v.Parties, toParticipant)
	}
	for _, b := range v.Breakouts {
		out.Breakouts = append(out.Breakouts, api.BreakoutEventRoom{
			ID: b.ID, Name: b.Name, ParentSessionID: v.ID, UserIds: b.InviteUserIds, ClosesAt: timeOrNull(b.ClosesAt),
		})
	}
	return out
}

func toParticipant(p db.Participant) api.Participant {
	return api.Participant{
		SessionID: p.RoomID, UserID: p.UserID, DisplayName: orNull(p.DisplayName), Role: api.ParticipantRole(p.Role),
		CanPublishScreen: p.CanPublishScreen, Perms: toPerms(session.PermsOf(p)), State: api.ParticipantState(p.State),
		HandRaised: p.HandRaisedAt != nil, HandRaisedAt: timeOrNull(p.HandRaisedAt),
		JoinedAt: timeOrNull(p.JoinedAt), LeftAt: timeOrNull(p.LeftAt),
	}
}

func toPerms(p session.Perms) api.ParticipantPerms {
	return api.ParticipantPerms{Audio: p.Audio, Video: p.Video, Screen: p.Screen}
}
