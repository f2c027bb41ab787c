package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// aliveFor is after how long without a word a node has lost its rooms.
const aliveFor = 30 * time.Second

// Moved is the error of who wants into a room that another node has.
type Moved struct { //nolint:errname // it tells where to go
	// SFUURL is where it is.
	SFUURL string
}

func (m *Moved) Error() string { return "the room is at " + m.SFUURL }

// placement is the node that has a room.
type placement struct{ node, sfuURL string }

// Retire gives up this node's place for rooms, before it stops: whoever asks for one
// of its rooms from now on has it placed elsewhere, and who is lost by the stop may come
// back there, for as long as after a lost connection.
func (s *Service) Retire(ctx context.Context) error {
	s.retired.Store(true)
	return s.Beat(ctx, 0)
}

// sfuURL is where this node takes rooms; empty when it doesn't, or not any more.
func (s *Service) sfuURL() string {
	if s.retired.Load() {
		return ""
	}
	return s.config.SFUURL
}

// place tells which node has the room's media, and gives the room to one when
// none that lives has it: to the one where a stream's encoder is, to this one if
// somebody wants in here, else to the one with the fewest participants.
func (s *Service) place(ctx context.Context, tenantID, roomID string, here bool) (placement, error) {
	return s.placeBy(ctx, db.New(s.config.Pool), tenantID, roomID, here)
}

// placeBy is place with queries that may be a transaction's.
func (s *Service) placeBy(ctx context.Context, q *db.Queries, tenantID, roomID string, here bool) (placement, error) {
	const attempts = 3 // only nodes that die in between take more than two
	for range attempts {
		now := s.config.Now()
		alive := now.Add(-aliveFor)
		is, err := q.GetPlacement(ctx, db.GetPlacementParams{TenantID: tenantID, RoomID: roomID, AliveSince: alive})
		if err != nil {
			return placement{}, fmt.Errorf("get placement: %w", err)
		}
		if to, ok := s.stays(is); ok {
			return to, nil
		}
		to, err := s.choose(ctx, q, alive, is, here)
		if err != nil {
			return placement{}, err
		}
		_, err = q.PlaceRoom(ctx, db.PlaceRoomParams{
			RoomID: roomID, TenantID: tenantID, NodeID: to.node, Now: now, WasNode: is.NodeID, Channel: ChangesChannel,
		})
		if err == nil {
			return to, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) { // else somebody else has placed it meanwhile
			return placement{}, fmt.Errorf("place room: %w", err)
		}
	}
	return placement{}, errNowhere()
}

// stays tells whether a room stays on the node where it is: that one lives, and a
// stream's encoder is nowhere else.
func (s *Service) stays(is db.GetPlacementRow) (placement, bool) {
	switch {
	case is.EncoderNode != "" && is.EncoderNode != is.NodeID:
		return placement{}, false
	case is.NodeID == s.config.Node && s.config.SFUURL != "":
		return placement{is.NodeID, s.config.SFUURL}, !s.retired.Load()
	default:
		return placement{is.NodeID, is.SfuURL}, is.Alive && is.SfuURL != ""
	}
}

// choose picks the node for a room that isn't where it should be.
func (s *Service) choose(ctx context.Context, q *db.Queries, alive time.Time, is db.GetPlacementRow, here bool) (placement, error) {
	self := placement{s.config.Node, s.sfuURL()}
	if is.EncoderNode != "" {
		return placement{is.EncoderNode, is.EncoderSfuURL}, nil
	}
	if here && self.sfuURL != "" {
		return self, nil
	}
	nodes, err := q.ListNodesWithSFU(ctx, alive)
	if err != nil {
		return self, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes {
		if n.ID != self.node || self.sfuURL != "" { // that it is retired may not be written down
			return placement{n.ID, n.SfuURL}, nil
		}
	}
	if self.sfuURL == "" {
		return self, errNowhere()
	}
	return self, nil
}

func errNowhere() error {
	return problem.New(problem.Unavailable, "unavailable", "no media server is there to take the room; try again")
}

// Beat says that this node lives, where its SFU is and how many participants it
// carries.
func (s *Service) Beat(ctx context.Context, participants int) error {
	select {
	case s.beating <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("beat: the one before goes on: %w", ctx.Err())
	}
	defer func() { <-s.beating }()
	p := db.BeatNodeParams{ID: s.config.Node, Now: s.config.Now(), Participants: int32(participants)}
	if url := s.sfuURL(); url != "" {
		p.SfuURL = &url
	}
	if err := db.New(s.config.Pool).BeatNode(ctx, p); err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	return nil
}
