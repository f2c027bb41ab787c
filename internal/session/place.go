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

// place tells which node has the room's media, and gives the room to one when
// none that lives has it: to the one where a stream's encoder is, to this one if
// somebody wants in here, else to the one with the fewest participants.
func (s *Service) place(ctx context.Context, tenantID, roomID string, here bool) (placement, error) {
	const attempts = 3 // only nodes that die in between take more than two
	q := db.New(s.config.Pool)
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
		return placement{is.NodeID, s.config.SFUURL}, true
	default:
		return placement{is.NodeID, is.SfuURL}, is.Alive && is.SfuURL != ""
	}
}

// choose picks the node for a room that isn't where it should be.
func (s *Service) choose(ctx context.Context, q *db.Queries, alive time.Time, is db.GetPlacementRow, here bool) (placement, error) {
	self := placement{s.config.Node, s.config.SFUURL}
	if is.EncoderNode != "" {
		return placement{is.EncoderNode, is.EncoderSfuURL}, nil
	}
	if here && self.sfuURL != "" {
		return self, nil
	}
	nodes, err := q.ListNodesWithSFU(ctx, alive)
	switch {
	case err != nil:
		return self, fmt.Errorf("list nodes: %w", err)
	case len(nodes) > 0:
		return placement{nodes[0].ID, nodes[0].SfuURL}, nil
	case self.sfuURL != "":
		return self, nil
	default:
		return self, errNowhere()
	}
}

func errNowhere() error {
	return problem.New(problem.Unavailable, "unavailable", "no media server is there to take the room; try again")
}

// Beat says that this node lives, where its SFU is and how many participants it
// carries.
func (s *Service) Beat(ctx context.Context, participants int) error {
	p := db.BeatNodeParams{ID: s.config.Node, Now: s.config.Now(), Participants: int32(participants)}
	if s.config.SFUURL != "" {
		p.SfuURL = &s.config.SFUURL
	}
	if err := db.New(s.config.Pool).BeatNode(ctx, p); err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	return nil
}
