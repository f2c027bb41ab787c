package session

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// CreateBreakouts opens count more breakout rooms of a session. assignments lists
// the users to invite by room number, "1" to count. Each room is a conference with
// the settings and metadata of its parent. The parent's host and cohosts moderate
// there; all others may speak. The rooms close by themselves after a duration; 0 for
// never.
func (s *Service) CreateBreakouts(
	ctx context.Context, c tenancy.Caller, sessionID string, count int, assignments map[string][]string, duration time.Duration,
) (rooms []View, err error) {
	users, err := readAssignments(count, assignments)
	if err != nil {
		return nil, err
	}
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, parent db.Session) error {
		if err := checkBreakout(parent); err != nil {
			return err
		}
		open, err := lockOpenBreakouts(ctx, tx, parent)
		if err != nil {
			return err
		}
		if len(open)+count > maxBreakouts {
			return problem.Conflicting("%d breakout rooms are open; there can be %d", len(open), maxBreakouts)
		}
		rooms = make([]View, count)
		all := eventdata.SessionBreakoutsCreatedData{
			SessionID: parent.ID, Breakouts: make([]eventdata.BreakoutEventRoom, count), By: By(c),
		}
		first, closesAt := firstNumber(open), s.closingTime(duration)
		for i := range rooms {
			if rooms[i].Session, err = s.createBreakout(ctx, tx, parent, first+int32(i), users[i], closesAt); err != nil {
				return err
			}
			all.Breakouts[i] = eventdata.BreakoutEventRoom{
				ID: rooms[i].ID, Name: rooms[i].Name, ParentSessionID: parent.ID, UserIds: users[i],
				ClosesAt: timestamp.Optional(closesAt),
			}
		}
		if err := s.scheduleClosing(ctx, tx, parent, closesAt); err != nil {
			return err
		}
		a.add(parent, event.SessionBreakoutsCreated, all)
		return s.audit(ctx, tx, c, "session.create_breakouts", parent.ID, nil, map[string]any{"count": count, "first": first})
	})
	return rooms, err
}

// firstNumber is the number of the next breakout room: the highest number of an
// open room plus one.
func firstNumber(open []db.Session) int32 {
	last := int32(0)
	for _, room := range open {
		if room.BreakoutNumber != nil {
			last = max(last, *room.BreakoutNumber)
		}
	}
	return last + 1
}

func (s *Service) createBreakout(
	ctx context.Context, tx pgx.Tx, parent db.Session, number int32, userIDs []string, closesAt *time.Time,
) (db.Session, error) {
	now := s.config.Now()
	layout := DefaultLayout(Conference)
	if parent.Type == Conference {
		layout = parent.Layout
	}
	invited, err := inviteesOf(ctx, db.New(tx), parent, userIDs)
	if err != nil {
		return db.Session{}, err
	}
	return s.InsertTx(ctx, tx, db.CreateSessionParams{
		ID: id.New(id.Session), TenantID: parent.TenantID, Type: Conference, Name: breakoutName(parent.Name, number),
		ProjectID: parent.ProjectID, HostID: parent.HostID, Capacity: min(parent.Capacity, DefaultCapacity(Conference)),
		RecordingEnabled: parent.RecordingEnabled, TranscriptionEnabled: parent.TranscriptionEnabled, Layout: layout,
		InviteUserIds: userIDs, State: Live, ParentSessionID: &parent.ID, BreakoutNumber: &number, Metadata: parent.Metadata,
		StartedAt: &now, ClosesAt: closesAt, Now: now,
	}, invited)
}

// inviteesOf converts users to invitees of a breakout room. They keep their
// display names from the parent session. Its moderators are moderators here too;
// all others are guests.
func inviteesOf(ctx context.Context, q *db.Queries, parent db.Session, userIDs []string) ([]Invitee, error) {
	known, err := q.ListParticipantsByUser(ctx, db.ListParticipantsByUserParams{
		TenantID: parent.TenantID, RoomID: parent.ID, UserIds: userIDs,
	})
	if err != nil {
		return nil, fmt.Errorf("list participants: %w", err)
	}
	inParent := map[string]db.Participant{}
	for _, p := range known {
		inParent[p.UserID] = p
	}
	list := make([]Invitee, len(userIDs))
	for i, userID := range userIDs {
		p := inParent[userID]
		list[i] = Invitee{UserID: userID, DisplayName: p.DisplayName, Role: Guest}
		switch {
		case userID == parent.HostID:
			list[i].Role = Host
		case p.State != Kicked && Moderates(p.Role):
			list[i].Role = p.Role
		}
	}
	return list, nil
}

// CloseBreakouts ends all open breakout rooms of a session and returns their
// number.
func (s *Service) CloseBreakouts(ctx context.Context, c tenancy.Caller, sessionID string) (closed int, err error) {
	err = s.change(ctx, c, sessionID, hosting, func(tx pgx.Tx, a *announcements, parent db.Session) error {
		closed, err = s.closeBreakouts(ctx, tx, a, parent, By(c))
		if err != nil || closed == 0 {
			return err
		}
		return s.audit(ctx, tx, c, "session.close_breakouts", parent.ID, nil, map[string]any{"closed": closed})
	})
	return closed, err
}

// lockOpenBreakouts locks the open breakout rooms of a locked session.
func lockOpenBreakouts(ctx context.Context, tx pgx.Tx, parent db.Session) ([]db.Session, error) {
	open, err := db.New(tx).LockOpenBreakouts(ctx, db.LockOpenBreakoutsParams{TenantID: parent.TenantID, ParentSessionID: &parent.ID})
	if err != nil {
		return nil, fmt.Errorf("lock breakout rooms: %w", err)
	}
	return open, nil
}

// followInBreakouts copies a role change into the session's open breakout rooms,
// when a participant became a cohost or stopped being one. Rooms in which the user
// has no participant row stay as they are.
func (s *Service) followInBreakouts(
	ctx context.Context, tx pgx.Tx, a *announcements, c tenancy.Caller, parent db.Session, before string, p db.Participant,
) error {
	if Moderates(before) == Moderates(p.Role) {
		return nil
	}
	role := Guest
	if Moderates(p.Role) {
		role = p.Role
	}
	return s.inBreakouts(ctx, tx, parent, p.UserID, func(row *db.Session, there *db.Participant) bool {
		if there.State == Kicked || there.Role == Host || Moderates(there.Role) == Moderates(role) {
			return false
		}
		there.Role, there.CanPublishScreen = role, ScreenOf(role)
		a.add(*row, event.SessionParticipantUpdated, participantUpdated(*there, By(c)))
		return true
	})
}

// inBreakouts calls change for a user's participant in each open breakout room of
// a session. In rooms without such a participant the user may still receive
// messages as a moderator of the parent, so inBreakouts notifies the nodes about
// these rooms too.
func (s *Service) inBreakouts(
	ctx context.Context, tx pgx.Tx, parent db.Session, userID string, change func(row *db.Session, there *db.Participant) bool,
) error {
	if parent.ParentSessionID != nil {
		return nil
	}
	open, err := lockOpenBreakouts(ctx, tx, parent)
	if err != nil {
		return err
	}
	var others []string
	for _, row := range open {
		there, err := LockParticipantTx(ctx, tx, row, userID)
		if problem.Is(err, "not_found") {
			others = append(others, row.ID)
			continue
		}
		if err != nil {
			return err
		}
		spotlight := row.SpotlightUserID
		if !change(&row, &there) {
			continue
		}
		now := s.config.Now()
		row.UpdatedAt = now
		if err := saveParticipants(ctx, tx, now, there); err != nil {
			return err
		}
		if err := saveSession(ctx, tx, row); err != nil {
			return err
		}
		concerned := userID
		if row.SpotlightUserID != spotlight {
			concerned = ""
		}
		if err := ChangedTx(ctx, tx, row.ID, concerned); err != nil {
			return err
		}
	}
	if others == nil {
		return nil
	}
	err = db.New(tx).NotifyRooms(ctx, db.NotifyRoomsParams{Channel: ChangesChannel, UserID: userID, RoomIds: others})
	if err != nil {
		return fmt.Errorf("notify the nodes: %w", err)
	}
	return nil
}
