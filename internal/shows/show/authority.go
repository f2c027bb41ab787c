package show

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
)

// Target is what a calling participant acts on.
type Target struct {
	StreamID string
	// RecordingID is set if the caller named a recording.
	RecordingID string
}

// FindTarget resolves the id of a show for a calling participant: its own stream, or a recording. A token of
// the stream's room is valid for all recordings of the stream, a token of createReplayGuestToken for its recording only.
// All other ids are the problem not_found.
func (s *Service) FindTarget(ctx context.Context, c tenancy.Caller, showID string) (Target, error) {
	room := c.Participant.RoomID
	if !id.Recording.Matches(showID) {
		if showID != room || !id.Stream.Matches(showID) {
			return Target{}, problem.Missing("show")
		}
		return Target{StreamID: showID}, nil
	}
	row, err := s.config.Recordings.GetRow(ctx, c, showID)
	switch {
	case problem.Is(err, "not_found") || err == nil && (row.StreamID == nil || *row.StreamID != room && row.ID != room):
		return Target{}, problem.Missing("show")
	case err != nil:
		return Target{}, err
	}
	return Target{StreamID: *row.StreamID, RecordingID: row.ID}, nil
}

// FindBuyer is FindTarget for acts that change something: a participant who is banned from the stream's room is refused.
func (s *Service) FindBuyer(ctx context.Context, c tenancy.Caller, showID string) (Target, error) {
	target, err := s.FindTarget(ctx, c, showID)
	if err == nil && id.Stream.Matches(c.Participant.RoomID) {
		_, err = s.grant(ctx, c, target.StreamID)
	}
	return target, err
}

// CheckViewer requires a participant of the stream's room who isn't banned. The pipeline has refused kicked ones. It returns
// the participant's name, "" for none.
func (s *Service) CheckViewer(ctx context.Context, c tenancy.Caller, streamID string) (displayName string, err error) {
	grant, err := s.grant(ctx, c, streamID)
	if err != nil || grant.DisplayName == grant.UserID {
		return "", err
	}
	return grant.DisplayName, nil
}

// AsHost requires the host of the stream's room. Every transaction under the returned context (postgres.InTx) commits only if the
// caller is still the host then, and wasn't removed from the room. A change of the role waits for its commit. A ban during the call
// isn't checked again.
func (s *Service) AsHost(ctx context.Context, c tenancy.Caller, streamID string) (context.Context, error) {
	if err := s.checkRole(ctx, c, streamID, onlyHost, session.Host); err != nil {
		return nil, err
	}
	hooks := &postgres.Hooks{}
	hooks.Add(stillHost{db.Session{TenantID: c.TenantID, ID: streamID}, c.Participant.UserID})
	hooks.Add(postgres.HookFrom(ctx))
	return postgres.WithHook(ctx, hooks), nil
}

const onlyHost = "only the host of this room may do this"

// stillHost is a hook that refuses a transaction whose user isn't the room's host any more.
type stillHost struct {
	room   db.Session
	userID string
}

// BeforeCommit implements postgres.Hook. It locks the participant.
func (h stillHost) BeforeCommit(ctx context.Context, tx pgx.Tx) error {
	p, err := session.LockParticipantTx(ctx, tx, h.room, h.userID)
	if err == nil && (p.Role != session.Host || p.State == session.Kicked) {
		return problem.New(problem.Forbidden, "forbidden", onlyHost)
	}
	return err
}

// AfterCommit implements postgres.Hook.
func (stillHost) AfterCommit() {}

// CheckModerator requires a host or cohost of the stream's room.
func (s *Service) CheckModerator(ctx context.Context, c tenancy.Caller, streamID string) error {
	return s.checkRole(ctx, c, streamID, "only a host or cohost of this room may do this", session.Host, session.Cohost)
}

func (s *Service) checkRole(ctx context.Context, c tenancy.Caller, streamID, refusal string, roles ...string) error {
	grant, err := s.grant(ctx, c, streamID)
	if err == nil && !slices.Contains(roles, grant.Role) {
		return problem.New(problem.Forbidden, "forbidden", "%s", refusal)
	}
	return err
}

// grant is the caller's grant in the stream's room.
func (s *Service) grant(ctx context.Context, c tenancy.Caller, streamID string) (session.Grant, error) {
	who := c.Participant
	if who.RoomID != streamID || !id.Stream.Matches(streamID) {
		return session.Grant{}, problem.Missing("show")
	}
	grant, err := s.config.Sessions.GetGrant(ctx, c.TenantID, streamID, who.UserID)
	if err != nil {
		return grant, err
	}
	switch grant.Gone {
	case "", session.GoneMoved:
	default:
		return grant, problem.New(problem.Forbidden, "forbidden", "you were removed from this room")
	}
	banned, err := s.config.Chat.ListBanned(ctx, c.TenantID, streamID, []string{who.UserID})
	if err == nil && len(banned) > 0 {
		err = problem.New(problem.Forbidden, "banned", "you are banned from this room")
	}
	return grant, err
}
