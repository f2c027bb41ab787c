package chat

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// Member is a user in a channel.
type Member struct {
	ChannelID, UserID, Role string
	JoinedAt                time.Time
	// LeftAt is nil for a current member, TimedOutUntil without a current timeout.
	LeftAt, TimedOutUntil *time.Time
	Muted, Banned         bool
}

// Joined is a cursor in the list of members, which is ordered by join time: the
// position after one member.
type Joined struct {
	At time.Time
	// Tie orders members who joined at the same time.
	Tie string
}

// ListChannelMembers pages through a channel's members in the order in which they
// joined, including participants in its room. For each member it also returns the
// cursor after it.
func (s *Service) ListChannelMembers(
	ctx context.Context, c tenancy.Caller, channelID string, after Joined, limit int,
) ([]Member, []Joined, error) {
	q := db.New(s.config.Pool)
	if _, err := find(ctx, q, channelKey{c.TenantID, channelID}); err != nil {
		return nil, nil, err
	}
	rows, err := q.ListChannelMembers(ctx, db.ListChannelMembersParams{
		TenantID: c.TenantID, ChannelID: channelID, After: after.At, AfterTie: after.Tie, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list channel members: %w", err)
	}
	members, places := make([]Member, len(rows)), make([]Joined, len(rows))
	for i, r := range rows {
		members[i] = Member{
			ChannelID: channelID, UserID: r.UserID, Role: r.Role, JoinedAt: r.JoinedAt,
			TimedOutUntil: lasting(r.TimedOutUntil, r.Now), Muted: r.Muted,
		}
		places[i] = Joined{r.JoinedAt, r.Tie}
	}
	return members, places, nil
}

// lasting is the end of a current timeout; nil when the timeout is over.
func lasting(until *time.Time, now time.Time) *time.Time {
	if until == nil || !now.Before(*until) {
		return nil
	}
	return until
}

// JoinChannel makes a user a member, with the role guest if role is nil. If the
// user is a member already and role is set, the role changes.
func (s *Service) JoinChannel(ctx context.Context, c tenancy.Caller, channelID, userID string, role *string) (m Member, err error) {
	key := channelKey{c.TenantID, channelID}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		ch, st, err := lockMember(ctx, tx, key, userID)
		switch {
		case err != nil:
			return err
		case ch.Kind == Direct:
			return problem.Conflicting("a direct channel is for its two members")
		case st.Banned:
			return problem.New(problem.Forbidden, "banned", "this user is banned from the channel")
		}
		before := st
		if !st.invited() {
			st.Role, st.JoinedAt, st.LeftAt = session.Guest, &ch.Now, nil
		}
		if role != nil {
			st.Role = *role
		}
		if m, err = write(ctx, tx, ch, st); err != nil {
			return err
		}
		if before.invited() || before.inRoom() {
			return nil
		}
		return s.config.Events.EmitTx(ctx, tx, newEvent(key, event.ChannelMemberJoined, eventdata.ChannelMemberJoinedData{
			ChannelID: channelID, UserID: userID, Role: eventdata.ParticipantRole(m.Role),
		}))
	})
	return m, err
}

// LeaveChannel ends a membership. Ending it again has no effect. A participant who
// is a member by being in the room must leave the room instead.
func (s *Service) LeaveChannel(ctx context.Context, c tenancy.Caller, channelID, userID string) (m Member, err error) {
	key := channelKey{c.TenantID, channelID}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		ch, st, err := lockMember(ctx, tx, key, userID)
		switch {
		case err != nil:
			return err
		case ch.Kind == Direct:
			return problem.Conflicting("a direct channel is for its two members")
		case st.inRoom():
			return problem.Conflicting("this user is a member by being in the room")
		case st.JoinedAt == nil:
			return problem.Missing("member")
		case !st.invited():
			m = memberOf(ch, st)
			return nil
		}
		st.LeftAt = &ch.Now
		if m, err = write(ctx, tx, ch, st); err != nil {
			return err
		}
		return s.config.Events.EmitTx(ctx, tx, newEvent(key, event.ChannelMemberLeft, eventdata.ChannelMemberLeftData{
			ChannelID: channelID, UserID: userID,
		}))
	})
	return m, err
}

// lockMember locks a channel, to change one user's status in it.
func lockMember(ctx context.Context, tx pgx.Tx, key channelKey, userID string) (channel, userStatus, error) {
	ch, err := lock(ctx, tx, key)
	if err != nil {
		return ch, userStatus{}, err
	}
	all, err := userStatuses(ctx, db.New(tx), key, userID)
	return ch, all[userID], err
}

// write stores a user's status in a locked channel.
func write(ctx context.Context, tx pgx.Tx, ch channel, st userStatus) (Member, error) {
	if st.Role == "" {
		st.Role = session.Viewer // the user is restricted, but not a member
	}
	err := db.New(tx).SetChannelMember(ctx, db.SetChannelMemberParams{
		ChannelID: ch.ID, UserID: st.UserID, TenantID: ch.TenantID, Role: st.Role, JoinedAt: st.JoinedAt, LeftAt: st.LeftAt,
		TimedOutUntil: st.TimedOutUntil, Muted: st.Muted, Banned: st.Banned,
	})
	if err != nil {
		return Member{}, fmt.Errorf("set channel member: %w", err)
	}
	return memberOf(ch, st), nil
}

// memberOf converts the status of a user who has a row in the channel.
func memberOf(ch channel, st userStatus) Member {
	m := Member{
		ChannelID: ch.ID, UserID: st.UserID, Role: st.Role, LeftAt: st.LeftAt, TimedOutUntil: lasting(st.TimedOutUntil, ch.Now),
		Muted: st.Muted, Banned: st.Banned,
	}
	if role := st.role(ch.HostID); role != "" {
		m.Role = role
	}
	if st.JoinedAt != nil {
		m.JoinedAt = *st.JoinedAt
	}
	return m
}
