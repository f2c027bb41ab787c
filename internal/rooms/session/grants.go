package session

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

// GetGrant is a user's current grant in a room. For a user who is no participant,
// Gone is GoneUnknown; that is not an error.
func (s *Service) GetGrant(ctx context.Context, tenantID, roomID, userID string) (Grant, error) {
	list, err := s.ListGrants(ctx, roomID, []string{userID})
	if err != nil {
		return Grant{}, err
	}
	if g := list[0]; g.TenantID == tenantID {
		return g, nil
	}
	return Grant{TenantID: tenantID, RoomID: roomID, UserID: userID, DisplayName: userID, Gone: GoneUnknown}, nil
}

// ListGrants returns these users' current grants in a room, in the order of userIDs.
func (s *Service) ListGrants(ctx context.Context, roomID string, userIDs []string) ([]Grant, error) {
	rows, err := db.New(s.config.Pool).ListGrants(ctx, db.ListGrantsParams{RoomID: roomID, UserIds: userIDs})
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	found := make(map[string]Grant, len(rows))
	for _, r := range rows {
		g := grantOf(r.Participant, r.SessionState, r.TenantStatus)
		g.HandRaised, g.Session = r.Participant.HandRaisedAt != nil, outlineOf(r)
		if g.Gone == "" && r.Moved {
			g.Gone = GoneMoved
		}
		found[r.Participant.UserID] = g
	}
	list := make([]Grant, len(userIDs))
	for i, userID := range userIDs {
		g, known := found[userID]
		if !known {
			g = Grant{RoomID: roomID, UserID: userID, DisplayName: userID, Gone: GoneUnknown}
		}
		list[i] = g
	}
	return list, nil
}

// GrantInRoom is the current grant of a ticket's holder in a room: the ticket's own room
// or a breakout room of it. Users who are invited to the breakout room, or
// moderate the ticket's room, may enter it.
func (s *Service) GrantInRoom(ctx context.Context, t Ticket, roomID string) (Grant, error) {
	own, err := s.GetGrant(ctx, t.TenantID, t.RoomID, t.UserID)
	if err != nil || roomID == t.RoomID {
		return own, err
	}
	unknown := Grant{TenantID: t.TenantID, RoomID: roomID, UserID: t.UserID, DisplayName: own.DisplayName, Gone: GoneUnknown}
	row, err := getBreakout(ctx, db.New(s.config.Pool), t.TenantID, t.RoomID, roomID)
	switch {
	case problem.Is(err, "not_found"):
		return unknown, nil
	case err != nil:
		return Grant{}, err
	case own.Gone != "" && own.Gone != GoneMoved && own.Gone != GoneEnded:
		unknown.Gone = own.Gone
		return unknown, nil
	}
	g, err := s.GetGrant(ctx, t.TenantID, roomID, t.UserID)
	if g.Gone == GoneMoved { // GoneMoved concerns a connection, not the permission to enter
		g.Gone = ""
	}
	if err == nil && g.Gone == GoneUnknown && Moderates(own.Role) {
		g = moderatorGrant(own, row)
	}
	return g, err
}

// moderatorGrant is the grant that a session's moderator has in a breakout room in which
// it has no participant row.
func moderatorGrant(own Grant, row db.Session) Grant {
	g := own
	g.RoomID, g.State, g.ConnID, g.Muted, g.Silenced, g.HandRaised, g.Session = row.ID, Invited, "", false, false, false, nil
	if own.Gone == "" || own.Gone == GoneMoved || own.Gone == GoneEnded {
		g.Gone = goneOf(Invited, &row.State, "")
	}
	return g
}

// ListChatGrants returns these users' current grants in a room, in the order of
// userIDs, to decide whether they may read its chat. In a breakout room, a
// moderator of the parent counts as invited.
func (s *Service) ListChatGrants(ctx context.Context, tenantID, roomID string, userIDs []string) ([]Grant, error) {
	list, err := s.ListGrants(ctx, roomID, userIDs)
	if err != nil {
		return nil, err
	}
	var unknown []string
	at := map[string]int{}
	for i, g := range list {
		if g.Gone == GoneUnknown {
			unknown, at[g.UserID] = append(unknown, g.UserID), i
		}
	}
	if unknown == nil || !isSession(roomID) {
		return list, nil
	}
	row, err := get(ctx, db.New(s.config.Pool), tenantID, roomID)
	if problem.Is(err, "not_found") || err == nil && row.ParentSessionID == nil {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	parents, err := s.ListGrants(ctx, *row.ParentSessionID, unknown)
	if err != nil {
		return nil, err
	}
	for _, own := range parents {
		if own.Gone != GoneUnknown && Moderates(own.Role) {
			list[at[own.UserID]] = moderatorGrant(own, row)
		}
	}
	return list, nil
}

// MayAccess reports whether a caller may access a room. The tenant's own server may
// access any room; a participant its own, and each breakout room of it that
// GrantInRoom allows.
func (s *Service) MayAccess(ctx context.Context, c tenancy.Caller, roomID string) (bool, error) {
	if c.Participant == nil || c.Participant.RoomID == roomID {
		return true, nil
	}
	if !id.Session.Matches(roomID) {
		return false, nil
	}
	g, err := s.GrantInRoom(ctx, Ticket{TenantID: c.TenantID, RoomID: c.Participant.RoomID, UserID: c.Participant.UserID}, roomID)
	return g.Gone == "" || g.Gone == GoneEnded, err
}

// grantOf is the grant of a participant; sessionState is nil in a stream's room.
func grantOf(p db.Participant, sessionState *string, tenantStatus string) Grant {
	g := Grant{
		TenantID: p.TenantID, RoomID: p.RoomID, UserID: p.UserID, DisplayName: p.UserID, Role: p.Role, Perms: PermsOf(p),
		State: p.State, Muted: p.Muted, Silenced: p.Silenced, Gone: goneOf(p.State, sessionState, tenantStatus),
	}
	if p.DisplayName != nil {
		g.DisplayName = *p.DisplayName
	}
	if p.ConnID != nil {
		g.ConnID = *p.ConnID
	}
	return g
}

func goneOf(state string, sessionState *string, tenantStatus string) string {
	switch {
	case tenancy.CheckTenant(tenantStatus) != nil:
		return GoneSuspended
	case state == Kicked:
		return GoneKicked
	case sessionState != nil && over(*sessionState):
		return GoneEnded
	default:
		return ""
	}
}

// outlineOf is the session of a participant's grant; nil for a stream's room.
func outlineOf(r db.ListGrantsRow) *Outline {
	if r.SessionState == nil {
		return nil
	}
	return &Outline{
		ID: r.Participant.RoomID, Type: *r.Type, Name: *r.Name, State: *r.SessionState, Layout: *r.Layout, HostID: *r.HostID,
		Locked: *r.Locked, WaitingRoom: *r.WaitingRoom, RecordingEnabled: *r.RecordingEnabled, TranscriptionEnabled: *r.TranscriptionEnabled,
		SpotlightUserID: r.SpotlightUserID, ParentSessionID: r.ParentSessionID, RecordingID: r.RecordingID,
		BroadcastID: r.BroadcastID, BroadcastStreamID: r.BroadcastStreamID, OnAir: r.OnAir,
	}
}
