package session

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/id"
	"showfloor/internal/problem"
)

// GetGrant is how a user stands in a room now. Somebody who is no participant is
// gone, and no error.
func (s *Service) GetGrant(ctx context.Context, tenantID, roomID, userID string) (Grant, error) {
	list, err := s.ListRoom(ctx, roomID, []string{userID})
	if err != nil {
		return Grant{}, err
	}
	if g := list[0]; g.TenantID == tenantID {
		return g, nil
	}
	return Grant{TenantID: tenantID, RoomID: roomID, UserID: userID, DisplayName: userID, Gone: GoneUnknown}, nil
}

// ListRoom is how these users stand in a room now, in their order.
func (s *Service) ListRoom(ctx context.Context, roomID string, userIDs []string) ([]Grant, error) {
	rows, err := db.New(s.config.Pool).ListStandings(ctx, db.ListStandingsParams{RoomID: roomID, UserIds: userIDs})
	if err != nil {
		return nil, fmt.Errorf("list standings: %w", err)
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

// Reach is how the holder of a ticket stands in a room: its own, or a breakout
// room of it, which those may enter who are invited there or moderate its own.
func (s *Service) Reach(ctx context.Context, t Ticket, roomID string) (Grant, error) {
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
	if g.Gone == GoneMoved { // that is about a connection, and not about who may come
		g.Gone = ""
	}
	if err == nil && g.Gone == GoneUnknown && Moderates(own.Role) {
		g = visiting(own, row)
	}
	return g, err
}

// visiting is how who moderates a session stands in a breakout room of it without
// having been there.
func visiting(own Grant, row db.Session) Grant {
	g := own
	g.RoomID, g.State, g.ConnID, g.Muted, g.Silenced, g.HandRaised, g.Session = row.ID, Invited, "", false, false, false, nil
	if own.Gone == "" || own.Gone == GoneMoved || own.Gone == GoneEnded {
		g.Gone = goneOf(Invited, &row.State, "")
	}
	return g
}

// ListHearers is how these users of the tenant stand in a room now, in their order, as
// to what is said there: in a breakout room, who moderates its parent is as good as
// invited.
func (s *Service) ListHearers(ctx context.Context, tenantID, roomID string, userIDs []string) ([]Grant, error) {
	list, err := s.ListRoom(ctx, roomID, userIDs)
	if err != nil {
		return nil, err
	}
	var strangers []string
	at := map[string]int{}
	for i, g := range list {
		if g.Gone == GoneUnknown {
			strangers, at[g.UserID] = append(strangers, g.UserID), i
		}
	}
	if strangers == nil || !isSession(roomID) {
		return list, nil
	}
	row, err := get(ctx, db.New(s.config.Pool), tenantID, roomID)
	if problem.Is(err, "not_found") || err == nil && row.ParentSessionID == nil {
		return list, nil
	}
	if err != nil {
		return nil, err
	}
	parents, err := s.ListRoom(ctx, *row.ParentSessionID, strangers)
	if err != nil {
		return nil, err
	}
	for _, own := range parents {
		if own.Gone != GoneUnknown && Moderates(own.Role) {
			list[at[own.UserID]] = visiting(own, row)
		}
	}
	return list, nil
}

// Reaches tells whether a room is there for a caller: for the tenant's own server
// any, for a participant its own, and each breakout room of it that Reach leads to.
func (s *Service) Reaches(ctx context.Context, c account.Caller, roomID string) (bool, error) {
	if c.Participant == nil || c.Participant.RoomID == roomID {
		return true, nil
	}
	if !id.Session.Matches(roomID) {
		return false, nil
	}
	g, err := s.Reach(ctx, Ticket{TenantID: c.TenantID, RoomID: c.Participant.RoomID, UserID: c.Participant.UserID}, roomID)
	return g.Gone == "" || g.Gone == GoneEnded, err
}

// grantOf is the standing of a participant; sessionState is nil in a stream's room.
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
	case account.CheckTenant(tenantStatus) != nil:
		return GoneSuspended
	case state == Kicked:
		return GoneKicked
	case sessionState != nil && over(*sessionState):
		return GoneEnded
	default:
		return ""
	}
}

// outlineOf is the session of a standing, nil for a stream's room.
func outlineOf(r db.ListStandingsRow) *Outline {
	if r.SessionState == nil {
		return nil
	}
	return &Outline{
		ID: r.Participant.RoomID, Type: *r.Type, Name: *r.Name, State: *r.SessionState, Layout: *r.Layout, HostID: *r.HostID,
		Locked: *r.Locked, WaitingRoom: *r.WaitingRoom, RecordingEnabled: *r.RecordingEnabled,
		SpotlightUserID: r.SpotlightUserID, ParentSessionID: r.ParentSessionID,
	}
}
