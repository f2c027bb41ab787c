package chat

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// channel is a channel whose row is locked. A change of a channel, its members or
// its messages requires this lock. So a channel's events commit in the order of
// its changes, and message ids ascend in that order.
type channel struct {
	db.LockChannelRow

	// HostID is the session's host; empty for other kinds of channels, as are
	// SessionName and SessionProjectID.
	HostID, SessionName string
	SessionProjectID    *string
	// Over: the session has ended or was cancelled.
	Over bool
}

// lock locks one of the tenant's channels. It creates the row of a stream's or
// session's channel if there is none.
func lock(ctx context.Context, tx pgx.Tx, key channelKey) (channel, error) {
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
	of, err := session.GetTx(ctx, tx, key.tenantID, key.channelID)
	if err != nil {
		return channel{}, err
	}
	ch.HostID, ch.SessionName, ch.SessionProjectID = of.HostID, of.Name, of.ProjectID
	ch.Over = of.State == session.Ended || of.State == session.Cancelled
	return ch, nil
}

// userStatus is a user's membership and restrictions in a channel and, for a room's
// channel, its role and state in the room.
type userStatus struct{ db.ListChannelUserStatusesRow }

// invited reports whether the user was made a member of the channel.
func (st userStatus) invited() bool { return st.JoinedAt != nil && st.LeftAt == nil && !st.Banned }

// inRoom reports whether the user is a member by being in the room.
func (st userStatus) inRoom() bool { return st.RoomState == session.Joined && !st.Banned }

// outside reports whether the room keeps the user out: it waits for admission or
// was kicked.
func (st userStatus) outside() bool {
	return st.RoomState == session.Waiting || st.RoomState == session.Kicked
}

// role is the user's role with the most permissions in the channel; empty for
// none. In the chat of a stream or session, a tenant can give a user a higher role
// than the user has in its room.
func (st userStatus) role(hostID string) string {
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

// userStatuses returns users' statuses by user id.
func userStatuses(ctx context.Context, q *db.Queries, key channelKey, userIDs ...string) (map[string]userStatus, error) {
	rows, err := q.ListChannelUserStatuses(ctx, db.ListChannelUserStatusesParams{
		UserIds: distinct(userIDs), TenantID: key.tenantID, ChannelID: key.channelID,
	})
	if err != nil {
		return nil, fmt.Errorf("list users' statuses: %w", err)
	}
	all := make(map[string]userStatus, len(rows))
	for _, r := range rows {
		all[r.UserID] = userStatus{r}
	}
	return all, nil
}

// distinct removes duplicates and keeps the order; the result is never nil.
func distinct(texts []string) []string {
	list, seen := make([]string, 0, len(texts)), make(map[string]bool, len(texts))
	for _, text := range texts {
		if !seen[text] {
			list, seen[text] = append(list, text), true
		}
	}
	return list
}

// find returns the kind of one of the tenant's channels.
func find(ctx context.Context, q *db.Queries, key channelKey) (db.FindChannelRow, error) {
	row, err := q.FindChannel(ctx, db.FindChannelParams{TenantID: key.tenantID, ID: key.channelID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("channel")
	}
	if err != nil {
		return row, fmt.Errorf("find channel: %w", err)
	}
	return row, nil
}

// checkRoom restricts a participant to its own room and that room's breakout
// rooms. For any other channel the problem is not_found.
func (s *Service) checkRoom(ctx context.Context, c tenancy.Caller, channelID string) error {
	inside, err := s.config.Rooms.MayAccess(ctx, c, channelID)
	if err == nil && !inside {
		err = problem.Missing("channel")
	}
	return err
}

// checkUser restricts a participant to its own user id. field is the request's
// field for the problem.
func checkUser(c tenancy.Caller, field, userID string) error {
	if c.Participant != nil && c.Participant.UserID != userID {
		return problem.New(problem.Forbidden, "forbidden", "%s must be the user that your token is for", field)
	}
	return nil
}
