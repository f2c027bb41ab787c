package show

import (
	"context"
	"slices"

	"showfloor/internal/base/id"
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
	case problem.Is(err, "not_found") || err == nil && row.StreamID != room && row.ID != room:
		return Target{}, problem.Missing("show")
	case err != nil:
		return Target{}, err
	}
	return Target{StreamID: row.StreamID, RecordingID: row.ID}, nil
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

// CheckHost requires the host of the stream's room.
func (s *Service) CheckHost(ctx context.Context, c tenancy.Caller, streamID string) error {
	return s.checkRole(ctx, c, streamID, "only the host of this room may do this", session.Host)
}

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
