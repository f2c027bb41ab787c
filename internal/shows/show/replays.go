package show

import (
	"context"
	"slices"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/streams/recording"
	"showfloor/internal/tenancy"
)

// Replay is a READY recording with the products that were pinned. Many callers share it: it must not be changed.
type Replay struct {
	recording.Replay
	encoded

	Stream db.Stream
	Tenant db.Tenant
	// Products are those of the timeline, in its order, archived or not.
	Products []db.Product
	public   bool
}

// Title is the recording's name, or the stream's if it has none.
func (r *Replay) Title() string {
	if r.Name != nil {
		return *r.Name
	}
	return r.Stream.Name
}

// GetReplay returns a public recording of any tenant, up to a second old. All others are the problem not_found.
func (s *Service) GetReplay(ctx context.Context, recordingID string) (*Replay, error) {
	r, err := s.findReplay(ctx, recordingID)
	if err == nil && !r.public {
		return nil, problem.Missing("replay")
	}
	return r, err
}

// GetParticipantReplay returns a READY recording of the stream whose room the caller's token is for, up to a second old. All others
// are the problem not_found.
func (s *Service) GetParticipantReplay(ctx context.Context, c tenancy.Caller, recordingID string) (*Replay, error) {
	r, err := s.findReplay(ctx, recordingID)
	if err != nil {
		return nil, err
	}
	if r.TenantID != c.TenantID || *r.StreamID != c.Participant.RoomID {
		return nil, problem.Missing("replay")
	}
	if _, err := s.CheckViewer(ctx, c, *r.StreamID); err != nil {
		return nil, err
	}
	return r, nil
}

// CheckPublicReplay returns the problem not_found unless the tenant's recording is public, and tenant_suspended for a suspended
// tenant.
func (s *Service) CheckPublicReplay(ctx context.Context, tenantID, recordingID string) error {
	r, err := s.GetReplay(ctx, recordingID)
	if err == nil && r.TenantID != tenantID {
		err = problem.Missing("replay")
	}
	if !problem.Is(err, "not_found") {
		return err
	}
	// To viewers without a token, a suspended tenant's recordings are missing. A participant's token names the tenant.
	tenant, readErr := s.config.Accounts.GetTenant(ctx, tenancy.Caller{TenantID: tenantID})
	if readErr != nil {
		return readErr
	}
	if refusal := tenancy.CheckTenant(tenant.Status); refusal != nil {
		return refusal
	}
	return err
}

// GuestToken is a token with which a user without an account buys in a replay.
type GuestToken struct {
	Token, UserID string
	ExpiresAt     time.Time
}

// CreateReplayGuestToken issues a token for a public recording.
func (s *Service) CreateReplayGuestToken(ctx context.Context, recordingID string) (g GuestToken, err error) {
	r, err := s.GetReplay(ctx, recordingID)
	if err != nil {
		return g, err
	}
	g.Token, g.UserID, g.ExpiresAt, err = s.config.Sessions.IssueReplayToken(ctx, r.TenantID, r.ID)
	return g, err
}

// ReplayPlace is where a page of a replay's chat begins: after a message, or at a position. The zero ReplayPlace is the beginning.
type ReplayPlace struct {
	MessageID string
	At        time.Duration
}

// ReplayMessage is a chat message with its position in a recording.
type ReplayMessage struct {
	db.ChannelMessage

	At time.Duration
}

// ListReplayMessages returns a page of the chat of a public recording, in the order of the positions.
func (s *Service) ListReplayMessages(ctx context.Context, recordingID string, from ReplayPlace, limit int) ([]ReplayMessage, error) {
	r, err := s.GetReplay(ctx, recordingID)
	if err != nil {
		return nil, err
	}
	return s.messages(ctx, r, from, limit)
}

// ListParticipantReplayMessages is ListReplayMessages for the recordings of GetParticipantReplay.
func (s *Service) ListParticipantReplayMessages(
	ctx context.Context, c tenancy.Caller, recordingID string, from ReplayPlace, limit int,
) ([]ReplayMessage, error) {
	r, err := s.GetParticipantReplay(ctx, c, recordingID)
	if err != nil {
		return nil, err
	}
	return s.messages(ctx, r, from, limit)
}

func (s *Service) messages(ctx context.Context, r *Replay, from ReplayPlace, limit int) ([]ReplayMessage, error) {
	since, after := r.Course.Begin(), chat.Place{MessageID: from.MessageID}
	if from.At > 0 {
		since = r.Course.Time(from.At)
	}
	rows, err := s.config.Chat.ListKeptMessages(ctx, r.TenantID, *r.StreamID, since, r.Course.End(), after, limit)
	if err != nil {
		return nil, err
	}
	list := make([]ReplayMessage, len(rows))
	for i, m := range rows {
		list[i] = ReplayMessage{m, r.Course.Position(m.CreatedAt)}
	}
	return list, nil
}

func (s *Service) findReplay(ctx context.Context, recordingID string) (*Replay, error) {
	if !id.Recording.Matches(recordingID) {
		return nil, problem.Missing("replay")
	}
	return s.replays.get(ctx, recordingID)
}

// readReplay makes one query for each part of a replay.
func (s *Service) readReplay(ctx context.Context, recordingID string) (*Replay, error) {
	row, err := s.config.Recordings.GetReplay(ctx, recordingID)
	if problem.Is(err, "not_found") {
		return nil, problem.Missing("replay")
	}
	if err != nil {
		return nil, err
	}
	r, c := &Replay{Replay: row}, tenancy.Caller{TenantID: row.TenantID}
	v, err := s.config.Streams.GetStream(ctx, c, *r.StreamID)
	if err != nil {
		return nil, err
	}
	r.Stream = v.Stream
	if r.Tenant, err = s.config.Accounts.GetTenant(ctx, c); err != nil {
		return nil, err
	}
	if tenancy.CheckTenant(r.Tenant.Status) != nil {
		return nil, problem.Missing("replay")
	}
	if r.public, err = recording.IsPublic(r.Recording, r.Stream.PublicReplay); err != nil {
		return nil, err
	}
	var ids []string
	for _, pin := range r.Timeline {
		if !slices.Contains(ids, pin.ProductID) {
			ids = append(ids, pin.ProductID)
		}
	}
	r.Products, err = s.listInOrder(ctx, c, ids)
	return r, err
}
