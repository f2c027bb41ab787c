package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/quota"
)

// View is a session as the API shows it to the tenant.
type View struct {
	db.Session
	// Parties are the caller and the callee of a call; nil for other sessions.
	Parties []db.Participant
	// Breakouts are the open breakout rooms that the caller may enter. Only GetSession
	// sets it.
	Breakouts []db.ListBreakoutsForRow
	// Broadcast is the last broadcast; nil if there was none.
	Broadcast *db.SessionBroadcast
}

// Input describes a new session; the handler has checked its limits.
type Input struct {
	Type, Name string
	ProjectID  *string
	HostID     string
	// Capacity and Layout are nil for the type's defaults.
	Capacity                                            *int32
	Layout                                              *string
	RecordingEnabled, TranscriptionEnabled, WaitingRoom bool
	// InviteUserIDs may contain duplicates and the host.
	InviteUserIDs []string
	Metadata      map[string]string
}

// CreateSession opens a session. Its host and the invited users become
// participants.
func (s *Service) CreateSession(ctx context.Context, c tenancy.Caller, in Input) (View, error) {
	row, invited, err := s.plan(c, in)
	if err != nil {
		return View{}, err
	}
	var v View
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		if in.Capacity != nil {
			if err := s.config.Quotas.CheckValueTx(ctx, tx, c.TenantID, quota.SessionCapacity, int64(*in.Capacity)); err != nil {
				return err
			}
		}
		if v.Session, err = s.InsertTx(ctx, tx, row, invited); err != nil {
			return err
		}
		return s.audit(ctx, tx, c, "session.create", v.ID, nil, map[string]any{
			"type": v.Type, "name": v.Name, "hostId": v.HostID, "capacity": v.Capacity,
		})
	})
	return v, err
}

// plan returns the session that an input describes and the users to invite.
func (s *Service) plan(c tenancy.Caller, in Input) (db.CreateSessionParams, []Invitee, error) {
	now := s.config.Now()
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return db.CreateSessionParams{}, nil, err
	}
	row := db.CreateSessionParams{
		ID: id.New(id.Session), TenantID: c.TenantID, Type: in.Type, Name: in.Name, ProjectID: in.ProjectID, HostID: in.HostID,
		Capacity: DefaultCapacity(in.Type), Layout: DefaultLayout(in.Type), RecordingEnabled: in.RecordingEnabled,
		TranscriptionEnabled: in.TranscriptionEnabled, WaitingRoom: in.WaitingRoom, InviteUserIds: []string{}, State: Live,
		Metadata: kept, StartedAt: &now, Now: now,
	}
	if in.Capacity != nil {
		row.Capacity = *in.Capacity
	}
	if in.Layout != nil {
		row.Layout = *in.Layout
	}
	if err := checkCapacity(row.Type, row.Capacity); err != nil {
		return row, nil, err
	}
	invited := []Invitee{{UserID: in.HostID, Role: Host}}
	for _, userID := range in.InviteUserIDs {
		if slices.Contains(row.InviteUserIds, userID) {
			continue
		}
		row.InviteUserIds = append(row.InviteUserIds, userID)
		if userID != in.HostID {
			invited = append(invited, Invitee{UserID: userID, Role: DefaultRole(in.Type)})
		}
	}
	return row, invited, nil
}

// Invitee is a user who becomes a participant before entering.
type Invitee struct {
	UserID      string
	DisplayName *string
	Role        string
	// State is Invited if empty.
	State string
}

// InsertTx creates a session with its participants in the caller's transaction, and
// emits session.created. A capacity above the plan's limit is lowered to it. InsertTx refuses
// a suspended tenant. For a breakout room it does not check the tenant, because the parent is
// locked.
func (s *Service) InsertTx(ctx context.Context, tx pgx.Tx, in db.CreateSessionParams, invited []Invitee) (db.Session, error) {
	q := db.New(tx)
	if in.ParentSessionID == nil {
		status, err := q.ShareTenant(ctx, in.TenantID)
		if err != nil {
			return db.Session{}, fmt.Errorf("lock tenant: %w", err)
		}
		if err := tenancy.CheckTenant(status); err != nil {
			return db.Session{}, err
		}
	}
	most, err := s.config.Quotas.LimitTx(ctx, tx, in.TenantID, quota.SessionCapacity)
	if err != nil {
		return db.Session{}, err
	}
	in.Capacity = int32(min(int64(in.Capacity), most))
	if in.InviteUserIds == nil {
		in.InviteUserIds = []string{}
	}
	if in.Metadata == nil {
		in.Metadata = json.RawMessage(metadata.None)
	}
	row, err := q.CreateSession(ctx, in)
	if err != nil {
		return row, fmt.Errorf("create session: %w", err)
	}
	if err := InviteTx(ctx, tx, row, in.Now, invited); err != nil {
		return row, err
	}
	a := &announcements{}
	a.addSession(row, event.SessionCreated, func(d eventdata.SessionEventData) any {
		return eventdata.SessionCreatedData{SessionEventData: d}
	})
	return row, s.announce(ctx, tx, a)
}

// InviteTx makes users participants of a locked or new session; existing
// participants stay as they are.
func InviteTx(ctx context.Context, tx pgx.Tx, s db.Session, now time.Time, invited []Invitee) error {
	if len(invited) == 0 {
		return nil
	}
	p := db.InviteParticipantsParams{TenantID: s.TenantID, RoomID: s.ID, Now: now}
	for _, i := range invited {
		name, state := "", Invited
		if i.DisplayName != nil {
			name = *i.DisplayName
		}
		if i.State != "" {
			state = i.State
		}
		p.UserIds, p.DisplayNames, p.Roles = append(p.UserIds, i.UserID), append(p.DisplayNames, name), append(p.Roles, i.Role)
		p.CanPublishScreens, p.States = append(p.CanPublishScreens, ScreenOf(i.Role)), append(p.States, state)
	}
	if err := db.New(tx).InviteParticipants(ctx, p); err != nil {
		return fmt.Errorf("invite participants: %w", err)
	}
	return nil
}

// ListSessions pages through the tenant's sessions, newest first, of all types or
// of one. cursor is the id after which the page starts, nil for the first page.
func (s *Service) ListSessions(ctx context.Context, c tenancy.Caller, sessionType, cursor *string, limit int) ([]View, error) {
	rows, err := db.New(postgres.Planned{Pool: s.config.Pool}).ListSessions(ctx, db.ListSessionsParams{
		TenantID: c.TenantID, Type: sessionType, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	return s.views(ctx, db.New(s.config.Pool), c.TenantID, rows)
}

// GetSession returns one of the tenant's sessions. A participant may get its own
// session or a breakout room that it may enter.
func (s *Service) GetSession(ctx context.Context, c tenancy.Caller, sessionID string) (View, error) {
	inside, err := s.MayAccess(ctx, c, sessionID)
	if err != nil {
		return View{}, err
	}
	if !inside {
		return View{}, problem.Missing("session")
	}
	q := db.New(s.config.Pool)
	row, err := get(ctx, q, c.TenantID, sessionID)
	if err != nil {
		return View{}, err
	}
	v, err := s.ViewOf(ctx, q, row)
	if err != nil || row.Type == Call || row.ParentSessionID != nil {
		return v, err
	}
	v.Breakouts, err = q.ListBreakoutsFor(ctx, db.ListBreakoutsForParams{TenantID: c.TenantID, ParentSessionID: &row.ID, UserID: By(c)})
	if err != nil {
		return v, fmt.Errorf("list breakout rooms: %w", err)
	}
	return v, nil
}

// FindSessionTenant returns the id of the tenant that a session, or a breakout room, belongs to.
func (s *Service) FindSessionTenant(ctx context.Context, sessionID string) (string, error) {
	tenantID, err := db.New(s.config.Pool).GetSessionTenant(ctx, sessionID)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", problem.Missing("session")
	}
	if err != nil {
		return "", fmt.Errorf("find the session's tenant: %w", err)
	}
	return tenantID, nil
}

// ViewOf is the tenant's view of a session, read by queries that may belong to a
// transaction.
func (s *Service) ViewOf(ctx context.Context, q *db.Queries, row db.Session) (View, error) {
	views, err := s.views(ctx, q, row.TenantID, []db.Session{row})
	if err != nil {
		return View{}, err
	}
	return views[0], nil
}

// views converts sessions to views, and adds the parties of calls.
func (s *Service) views(ctx context.Context, q *db.Queries, tenantID string, rows []db.Session) ([]View, error) {
	views := make([]View, len(rows))
	if err := addBroadcasts(ctx, q, tenantID, rows, views); err != nil {
		return nil, err
	}
	var calls []string
	for i, r := range rows {
		views[i].Session = r
		if r.Type == Call {
			calls = append(calls, r.ID)
		}
	}
	if calls == nil {
		return views, nil
	}
	parties, err := q.ListCallParties(ctx, db.ListCallPartiesParams{TenantID: tenantID, RoomIds: calls})
	if err != nil {
		return nil, fmt.Errorf("list parties: %w", err)
	}
	of := map[string][]db.Participant{}
	for _, p := range parties {
		of[p.RoomID] = append(of[p.RoomID], p)
	}
	for i := range views {
		views[i].Parties = of[views[i].ID]
	}
	return views, nil
}

// audit writes an audit entry for a change of a session.
func (s *Service) audit(ctx context.Context, tx pgx.Tx, c tenancy.Caller, action, sessionID string, before, after any) error {
	return audit.WriteTx(ctx, db.New(tx), s.config.Now(), audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: action, Entity: "session", EntityID: sessionID, Before: before, After: after,
	})
}
