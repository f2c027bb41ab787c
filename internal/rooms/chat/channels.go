package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// View is a channel as the API shows it to the tenant.
type View = db.GetChannelRow

// ListChannels pages through the tenant's groups and direct channels, newest
// first: all, or those that a user is a member of. cursor is the id after which
// the page starts, nil for the first page.
func (s *Service) ListChannels(ctx context.Context, c tenancy.Caller, userID, cursor *string, limit int) ([]View, error) {
	q := db.New(s.config.Pool)
	var rows []db.ListChannelsRow
	var err error
	if userID == nil {
		rows, err = q.ListChannels(ctx, db.ListChannelsParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	} else {
		rows, err = listChannelsOf(ctx, q, c.TenantID, *userID, cursor, limit)
	}
	if err != nil {
		return nil, fmt.Errorf("list channels: %w", err)
	}
	views := make([]View, len(rows))
	for i, r := range rows {
		views[i] = viewOf(db.Channel{
			ID: r.ID, Kind: r.Kind, Name: r.Name, ProjectID: r.ProjectID, DirectUserIds: r.DirectUserIds, SlowmodeSec: r.SlowmodeSec,
			LastMessageAt: r.LastMessageAt, CreatedAt: r.CreatedAt, UpdatedAt: r.UpdatedAt,
		}, r.MemberCount)
	}
	return views, nil
}

// afterGroups sorts after the ids of groups and direct channels, and before those of streams and sessions.
const afterGroups = "chan_zzzzzzzzzzzzzzzzzzzzzzzzzzz"

// listChannelsOf is ListChannels for the channels of a user.
func listChannelsOf(
	ctx context.Context, q *db.Queries, tenantID, userID string, cursor *string, limit int,
) (list []db.ListChannelsRow, err error) {
	p := db.ListChannelsOfParams{TenantID: tenantID, UserID: userID, Before: afterGroups, MaxRows: int32(limit)}
	if cursor != nil {
		p.Before = *cursor
	}
	rows, err := q.ListChannelsOf(ctx, p)
	for _, r := range rows {
		list = append(list, db.ListChannelsRow(r))
	}
	return list, err
}

// viewOf converts a channel that has its own name: a group or direct channel.
func viewOf(c db.Channel, members int32) View {
	v := View{
		ID: c.ID, Kind: c.Kind, ProjectID: c.ProjectID, CreatedAt: c.CreatedAt, SlowmodeSec: c.SlowmodeSec, LastMessageAt: c.LastMessageAt,
		UpdatedAt: c.UpdatedAt, DirectUserIds: c.DirectUserIds, MemberCount: members,
	}
	if c.Name != nil {
		v.Name = *c.Name
	}
	return v
}

// GetChannel returns one channel of the tenant, also that of a stream or session.
func (s *Service) GetChannel(ctx context.Context, c tenancy.Caller, channelID string) (View, error) {
	row, err := db.New(s.config.Pool).GetChannel(ctx, db.GetChannelParams{TenantID: c.TenantID, ID: channelID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("channel")
	}
	if err != nil {
		return row, fmt.Errorf("get channel: %w", err)
	}
	return row, nil
}

// GroupInput describes a new group channel.
type GroupInput struct {
	Name      string
	ProjectID *string
	// HostID is nil for a channel without a host.
	HostID  *string
	UserIDs []string
}

// CreateChannel creates a group with its first members: the host, then the guests.
func (s *Service) CreateChannel(ctx context.Context, c tenancy.Caller, in GroupInput) (View, error) {
	var users []string
	if in.HostID != nil {
		users = append(users, *in.HostID)
	}
	users = distinct(append(users, in.UserIDs...))
	roles := make([]string, len(users))
	for i := range roles {
		roles[i] = session.Guest
	}
	if in.HostID != nil {
		roles[0] = session.Host
	}
	var row db.Channel
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		row, err = db.New(tx).CreateChannel(ctx, db.CreateChannelParams{
			ID: id.New(id.Channel), TenantID: c.TenantID, Name: in.Name, ProjectID: in.ProjectID,
		})
		if err != nil {
			return fmt.Errorf("create channel: %w", err)
		}
		return s.addFirstMembers(ctx, tx, c, row, users, roles)
	})
	return viewOf(row, int32(len(users))), err
}

// DirectInput describes a direct channel to create or find.
type DirectInput struct {
	// UserIDs are exactly two.
	UserIDs []string
	// Name is nil for a name made of the two ids.
	Name      *string
	ProjectID *string
}

// CreateDirectChannel returns the direct channel of two users in a project, and
// creates it if necessary.
func (s *Service) CreateDirectChannel(ctx context.Context, c tenancy.Caller, in DirectInput) (View, error) {
	users := slices.Sorted(slices.Values(in.UserIDs))
	name := users[0] + ", " + users[1]
	if in.Name != nil {
		name = *in.Name
	}
	var row db.Channel
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) (err error) {
		row, err = db.New(tx).CreateDirectChannel(ctx, db.CreateDirectChannelParams{
			ID: id.New(id.Channel), TenantID: c.TenantID, Name: name, ProjectID: in.ProjectID, UserIds: users,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return errNothing
		}
		if err != nil {
			return fmt.Errorf("create direct channel: %w", err)
		}
		return s.addFirstMembers(ctx, tx, c, row, users, []string{session.Guest, session.Guest})
	})
	if !errors.Is(err, errNothing) {
		return viewOf(row, int32(len(users))), err
	}
	found, err := db.New(s.config.Pool).FindDirectChannel(ctx, db.FindDirectChannelParams{
		TenantID: c.TenantID, ProjectID: in.ProjectID, UserIds: users,
	})
	if err != nil {
		return View{}, fmt.Errorf("find direct channel: %w", err)
	}
	return s.GetChannel(ctx, c, found)
}

// addFirstMembers adds the members of a new channel. Their join times are 1 µs apart, in
// the order of users.
func (s *Service) addFirstMembers(ctx context.Context, tx pgx.Tx, c tenancy.Caller, row db.Channel, users, roles []string) error {
	q, key := db.New(tx), channelKey{row.TenantID, row.ID}
	p := db.AddChannelMembersParams{ChannelID: row.ID, TenantID: row.TenantID, UserIds: users, Roles: roles}
	events := make([]event.Event, len(users))
	for i, userID := range users {
		p.JoinedAts = append(p.JoinedAts, row.CreatedAt.Add(time.Duration(i)*time.Microsecond))
		events[i] = newEvent(key, event.ChannelMemberJoined, eventdata.ChannelMemberJoinedData{
			ChannelID: row.ID, UserID: userID, Role: eventdata.ParticipantRole(roles[i]),
		})
	}
	if len(users) > 0 {
		if err := q.AddChannelMembers(ctx, p); err != nil {
			return fmt.Errorf("add channel members: %w", err)
		}
	}
	if err := s.config.Events.EmitManyTx(ctx, tx, events); err != nil {
		return err
	}
	return audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
		Actor: c.Actor(), TenantID: c.TenantID, Action: "channel.create", Entity: "channel", EntityID: row.ID,
		After: map[string]any{"kind": row.Kind, "name": row.Name, "projectId": row.ProjectID},
	})
}
