package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/session"
)

// channel is one whose row is locked: whatever changes a channel, its members or its
// messages holds it, so that events of a channel commit in the order in which they
// happen, and ids of messages follow it.
type channel struct {
	db.LockChannelRow

	// HostID is the session's host; empty for other kinds, as are its name and project.
	HostID, SessionName string
	SessionProjectID    *string
	// Over is set when the session has ended or was cancelled.
	Over bool
}

// lock locks one of the tenant's channels. That of a stream or session gets its row
// with it.
func lock(ctx context.Context, tx pgx.Tx, key lane) (channel, error) {
	q := db.New(tx)
	row, err := q.LockChannel(ctx, db.LockChannelParams{TenantID: key.tenantID, ID: key.channelID})
	if errors.Is(err, pgx.ErrNoRows) {
		if _, err := q.CreateRoomChannel(ctx, db.CreateRoomChannelParams{TenantID: key.tenantID, ID: key.channelID}); err != nil {
			return channel{}, fmt.Errorf("create room's channel: %w", err)
		}
		row, err = q.LockChannel(ctx, db.LockChannelParams{TenantID: key.tenantID, ID: key.channelID})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return channel{}, problem.Missing("channel")
	}
	if err != nil {
		return channel{}, fmt.Errorf("lock channel: %w", err)
	}
	ch := channel{LockChannelRow: row}
	if ch.Kind != Session {
		return ch, nil
	}
	of, err := q.GetSession(ctx, db.GetSessionParams{TenantID: key.tenantID, ID: key.channelID})
	if err != nil {
		return channel{}, fmt.Errorf("get the channel's session: %w", err)
	}
	ch.HostID, ch.SessionName, ch.SessionProjectID = of.HostID, of.Name, of.ProjectID
	ch.Over = of.State == session.Ended || of.State == session.Cancelled
	return ch, nil
}

// standing is how a user stands in a channel and, if it is a room's, in that room.
type standing struct{ db.ListChannelStandingsRow }

// invited tells whether the user was made a member.
func (st standing) invited() bool { return st.JoinedAt != nil && st.LeftAt == nil && !st.Banned }

// inRoom tells whether the user is a member by being in the room.
func (st standing) inRoom() bool { return st.RoomState == session.Joined && !st.Banned }

// outside tells whether the room doesn't let the user in: not yet, or not any more.
func (st standing) outside() bool {
	return st.RoomState == session.Waiting || st.RoomState == session.Kicked
}

// role is the mightiest that the user has in the channel; the empty one for one who
// has none. A tenant can give one in a stream's or session's chat that is beyond the
// one in its room.
func (st standing) role(hostID string) string {
	has := map[string]bool{}
	if st.invited() {
		has[st.Role] = true
	}
	if !st.outside() {
		has[st.RoomRole] = true
		has[session.Host] = has[session.Host] || st.UserID == hostID
	}
	for _, role := range []string{session.Host, session.Cohost, session.Guest, session.Viewer} {
		if has[role] {
			return role
		}
	}
	return ""
}

// standings are those of users, by their ids.
func standings(ctx context.Context, q *db.Queries, key lane, userIDs ...string) (map[string]standing, error) {
	rows, err := q.ListChannelStandings(ctx, db.ListChannelStandingsParams{
		UserIds: distinct(userIDs), TenantID: key.tenantID, ChannelID: key.channelID,
	})
	if err != nil {
		return nil, fmt.Errorf("list standings: %w", err)
	}
	all := make(map[string]standing, len(rows))
	for _, r := range rows {
		all[r.UserID] = standing{r}
	}
	return all, nil
}

// distinct leaves out what came before; the list isn't nil.
func distinct(texts []string) []string {
	list, seen := make([]string, 0, len(texts)), make(map[string]bool, len(texts))
	for _, text := range texts {
		if !seen[text] {
			list, seen[text] = append(list, text), true
		}
	}
	return list
}

// find tells what kind a channel of the tenant is.
func find(ctx context.Context, q *db.Queries, key lane) (db.FindChannelRow, error) {
	row, err := q.FindChannel(ctx, db.FindChannelParams{TenantID: key.tenantID, ID: key.channelID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("channel")
	}
	if err != nil {
		return row, fmt.Errorf("find channel: %w", err)
	}
	return row, nil
}

// checkRoom wants a participant's own room, or a breakout room of it: no other
// channel is there for it.
func (s *Service) checkRoom(ctx context.Context, c account.Caller, channelID string) error {
	inside, err := s.config.Rooms.Reaches(ctx, c, channelID)
	if err == nil && !inside {
		err = problem.Missing("channel")
	}
	return err
}

// checkUser wants a participant to speak for its own user only; field names who it
// says that it is.
func checkUser(c account.Caller, field, userID string) error {
	if c.Participant != nil && c.Participant.UserID != userID {
		return problem.New(problem.Forbidden, "forbidden", "%s must be the user that your token is for", field)
	}
	return nil
}
