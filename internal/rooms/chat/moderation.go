package chat

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Kinds of moderation.
const (
	Timeout  = "timeout"
	Ban      = "ban"
	Mute     = "mute"
	Slowmode = "slowmode"
)

// ListChannelModeration pages through a channel's moderation actions, newest
// first. cursor is the id after which the page starts, nil for the first page.
func (s *Service) ListChannelModeration(
	ctx context.Context, c tenancy.Caller, channelID string, cursor *string, limit int,
) ([]db.ChannelModeration, error) {
	q := db.New(s.config.Pool)
	if _, err := find(ctx, q, channelKey{c.TenantID, channelID}); err != nil {
		return nil, err
	}
	rows, err := q.ListModeration(ctx, db.ListModerationParams{
		TenantID: c.TenantID, ChannelID: channelID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list moderation: %w", err)
	}
	return rows, nil
}

// RestrictionFilter selects restrictions of a channel.
type RestrictionFilter struct {
	// Kind is nil for all kinds.
	Kind *string
	// UserIDs is empty for all users.
	UserIDs []string
}

// afterRestrictions sorts after the ids of all moderation actions.
const afterRestrictions = string(id.Moderation) + "_zzzzzzzzzzzzzzzzzzzzzzzzzzz"

// ListChannelRestrictions pages through the restrictions that apply now in a channel, newest first. Each is the
// action that made it. cursor is the id after which the page starts, nil for the first page.
func (s *Service) ListChannelRestrictions(
	ctx context.Context, c tenancy.Caller, channelID string, f RestrictionFilter, cursor *string, limit int,
) ([]db.ChannelModeration, error) {
	q := db.New(s.config.Pool)
	if _, err := find(ctx, q, channelKey{c.TenantID, channelID}); err != nil {
		return nil, err
	}
	kinds, before := []string{Timeout, Ban, Mute}, afterRestrictions
	if f.Kind != nil {
		kinds = []string{*f.Kind}
	}
	if cursor != nil {
		before = *cursor
	}
	var rows []db.ChannelModeration
	var err error
	if len(f.UserIDs) > 0 {
		rows, err = q.ListChannelRestrictionsOfUsers(ctx, db.ListChannelRestrictionsOfUsersParams{
			TenantID: c.TenantID, ChannelID: channelID, UserIds: f.UserIDs, Kinds: kinds, Before: before, MaxRows: int32(limit),
		})
	} else {
		rows, err = q.ListChannelRestrictions(ctx, db.ListChannelRestrictionsParams{
			TenantID: c.TenantID, ChannelID: channelID, Kinds: kinds, Before: before, MaxRows: int32(limit),
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list restrictions: %w", err)
	}
	return rows, nil
}

// Restriction is a moderator's restriction of a user.
type Restriction struct {
	Target, By string
	Reason     *string
	// Lift ends the restriction.
	Lift bool
}

// TimeoutChannelMember prevents a user from writing for the duration d from now. A
// d of 0 ends the timeout.
func (s *Service) TimeoutChannelMember(
	ctx context.Context, c tenancy.Caller, channelID string, r Restriction, d time.Duration,
) (db.ChannelModeration, error) {
	r.Lift = d == 0
	return s.restrict(ctx, c, channelID, Timeout, r, func(ch channel, st *userStatus) *time.Time {
		if st.TimedOutUntil = nil; !r.Lift {
			st.TimedOutUntil = new(ch.Now.Add(d))
		}
		return st.TimedOutUntil
	})
}

// MuteChannelMember prevents a user from writing until the mute is lifted.
func (s *Service) MuteChannelMember(ctx context.Context, c tenancy.Caller, channelID string, r Restriction) (db.ChannelModeration, error) {
	return s.restrict(ctx, c, channelID, Mute, r, func(_ channel, st *userStatus) *time.Time {
		st.Muted = !r.Lift
		return nil
	})
}

// BanChannelMember excludes a user until the ban is lifted. Nodes with connections
// of this user to the channel's room close them. The ban ends a membership, except
// in a direct channel, whose two members are permanent.
func (s *Service) BanChannelMember(ctx context.Context, c tenancy.Caller, channelID string, r Restriction) (db.ChannelModeration, error) {
	return s.restrict(ctx, c, channelID, Ban, r, func(ch channel, st *userStatus) *time.Time {
		if !r.Lift && st.invited() && ch.Kind != Direct {
			st.LeftAt = &ch.Now
		}
		st.Banned = !r.Lift
		return nil
	})
}

// restrict restricts a user, or lifts a restriction. set changes the user's
// status and returns when the restriction expires, nil for never.
func (s *Service) restrict(ctx context.Context, c tenancy.Caller, channelID, kind string, r Restriction,
	set func(ch channel, st *userStatus) *time.Time,
) (row db.ChannelModeration, err error) {
	if err := s.checkRoom(ctx, c, channelID); err != nil {
		return row, err
	}
	if err := checkUser(c, "by", r.By); err != nil {
		return row, err
	}
	key := channelKey{c.TenantID, channelID}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		ch, err := lock(ctx, tx, key)
		if err != nil {
			return err
		}
		all, err := userStatuses(ctx, db.New(tx), key, r.Target, r.By)
		if err != nil {
			return err
		}
		before := all[r.Target]
		if err := checkRestriction(c, ch, all[r.By], before, r.Lift); err != nil {
			return err
		}
		after := before
		expires := set(ch, &after)
		if _, err := write(ctx, tx, ch, after); err != nil {
			return err
		}
		row, err = s.record(ctx, tx, c, ch, db.CreateModerationParams{
			Kind: kind, Target: &r.Target, ByUser: r.By, Reason: r.Reason, Active: !r.Lift, ExpiresAt: expires,
		})
		if err != nil {
			return err
		}
		if before.LeftAt == nil && after.LeftAt != nil {
			return s.config.Events.EmitTx(ctx, tx, newEvent(key, event.ChannelMemberLeft, eventdata.ChannelMemberLeftData{
				ChannelID: channelID, UserID: r.Target,
			}))
		}
		return nil
	})
	return row, err
}

// checkRestriction checks that by may restrict target. A restriction of any user
// may be lifted, also of a host.
func checkRestriction(c tenancy.Caller, ch channel, by, target userStatus, lift bool) error {
	if err := checkModerator(c, ch, by); err != nil {
		return err
	}
	if ch.Kind == Direct && !slices.Contains(ch.DirectUserIds, target.UserID) {
		return problem.Missing("member")
	}
	if !lift && target.role(ch.HostID) == session.Host {
		return problem.Conflicting("hosts can't be restricted")
	}
	return nil
}

// SetChannelSlowmode sets the minimum time between two messages of one author, in
// seconds; 0 switches the slow mode off. Hosts and cohosts are exempt.
func (s *Service) SetChannelSlowmode(
	ctx context.Context, c tenancy.Caller, channelID, by string, seconds int32, reason *string,
) (row db.ChannelModeration, err error) {
	if err := s.checkRoom(ctx, c, channelID); err != nil {
		return row, err
	}
	if err := checkUser(c, "by", by); err != nil {
		return row, err
	}
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		e, err := lockForCaller(ctx, tx, c, channelKey{c.TenantID, channelID})
		if err != nil {
			return err
		}
		if err := checkModerator(c, e.channel, e.status); err != nil {
			return err
		}
		if err := slow(ctx, tx, e.channel, seconds); err != nil {
			return err
		}
		row, err = s.record(ctx, tx, c, e.channel, db.CreateModerationParams{
			Kind: Slowmode, ByUser: by, Reason: reason, Active: seconds > 0, SlowmodeSec: &seconds,
		})
		return err
	})
	return row, err
}

// mostRecalled is the maximum number of messages that are read when a slow mode
// begins, to find authors who wrote within its time: without a slow mode, write
// times are not recorded per author.
const mostRecalled = 10_000

func slow(ctx context.Context, tx pgx.Tx, ch channel, seconds int32) error {
	q := db.New(tx)
	if err := q.SetSlowmode(ctx, db.SetSlowmodeParams{TenantID: ch.TenantID, ID: ch.ID, SlowmodeSec: seconds, Now: ch.Now}); err != nil {
		return fmt.Errorf("set slow mode: %w", err)
	}
	if seconds == 0 {
		return nil
	}
	err := q.RecallWrote(ctx, db.RecallWroteParams{
		ChannelID: ch.ID, TenantID: ch.TenantID, Now: ch.Now, MaxRows: mostRecalled, Since: ch.Now.Add(-time.Duration(seconds) * time.Second),
	})
	if err != nil {
		return fmt.Errorf("recall who wrote: %w", err)
	}
	return nil
}

// record stores a moderation action. It emits an event, unless the action lifts a
// restriction.
func (s *Service) record(
	ctx context.Context, tx pgx.Tx, c tenancy.Caller, ch channel, p db.CreateModerationParams,
) (db.ChannelModeration, error) {
	p.ID, p.ChannelID, p.TenantID, p.Now = id.New(id.Moderation), ch.ID, ch.TenantID, ch.Now
	q := db.New(tx)
	row, err := q.CreateModeration(ctx, p)
	if err != nil {
		return row, fmt.Errorf("create moderation: %w", err)
	}
	if p.Kind == Ban {
		if err := session.ChangedTx(ctx, tx, ch.ID, *p.Target); err != nil {
			return row, err
		}
	}
	if p.Active {
		data := eventdata.ChatModerationActionData{
			ChannelID: ch.ID, Kind: eventdata.ChannelModerationKind(p.Kind), Target: p.Target, By: p.ByUser, Reason: p.Reason,
		}
		if err := s.config.Events.EmitTx(ctx, tx, newEvent(channelKey{ch.TenantID, ch.ID}, event.ChatModerationAction, data)); err != nil {
			return row, err
		}
	}
	return row, audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: "channel." + p.Kind, Entity: "channel", EntityID: ch.ID,
		After: map[string]any{
			"target": p.Target, "by": p.ByUser, "active": p.Active, "expiresAt": timestamp.Optional(p.ExpiresAt), "slowmodeSec": p.SlowmodeSec,
		},
	})
}
