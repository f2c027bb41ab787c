package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// aliveFor is the time after a node's last heartbeat from which its rooms may be
// placed elsewhere.
const aliveFor = 30 * time.Second

// Moved is the error for an entry into a room that is on another node.
type Moved struct { //nolint:errname // it names the other node
	// SFUURL is the WebSocket address of that node's SFU.
	SFUURL string
}

func (m *Moved) Error() string { return "the room is at " + m.SFUURL }

// placement is the node that has a room.
type placement struct{ node, sfuURL string }

// Retire withdraws this node from room placement, before it stops. A later request
// for one of its rooms places the room on another node. Participants who lose
// their connection by the stop may reconnect there, within the same time as after
// a lost connection.
func (s *Service) Retire(ctx context.Context) error {
	s.retired.Store(true)
	return s.Beat(ctx, 0)
}

// sfuURL is the address at which this node takes rooms; empty if it has no SFU or
// is retired.
func (s *Service) sfuURL() string {
	if s.retired.Load() {
		return ""
	}
	return s.config.SFUURL
}

// place returns the node that has the room's media. If no live node has the room,
// place assigns it: to the node of the stream's encoder; else to this node, if
// here is true; else to the node with the fewest participants.
func (s *Service) place(ctx context.Context, tenantID, roomID string, here bool) (placement, error) {
	return s.placeBy(ctx, db.New(s.config.Pool), tenantID, roomID, here)
}

// placeBy is place with queries that may belong to a transaction.
func (s *Service) placeBy(ctx context.Context, q *db.Queries, tenantID, roomID string, here bool) (placement, error) {
	const attempts = 3 // a third attempt is needed only if a node dies meanwhile
	for range attempts {
		now := s.config.Now()
		alive := now.Add(-aliveFor)
		current, err := q.GetPlacement(ctx, db.GetPlacementParams{TenantID: tenantID, RoomID: roomID, AliveSince: alive})
		if err != nil {
			return placement{}, fmt.Errorf("get placement: %w", err)
		}
		if to, ok := s.stays(current); ok {
			return to, nil
		}
		to, err := s.choose(ctx, q, alive, current, here)
		if err != nil {
			return placement{}, err
		}
		_, err = q.PlaceRoom(ctx, db.PlaceRoomParams{
			RoomID: roomID, TenantID: tenantID, NodeID: to.node, Now: now, WasNode: current.NodeID, Channel: ChangesChannel,
		})
		if err == nil {
			return to, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) { // else another process has placed the room meanwhile
			return placement{}, fmt.Errorf("place room: %w", err)
		}
	}
	return placement{}, errNowhere()
}

// stays reports whether a room stays on its current node: the node is alive, and
// the stream's encoder is not on another node.
func (s *Service) stays(current db.GetPlacementRow) (placement, bool) {
	switch {
	case current.EncoderNode != "" && current.EncoderNode != current.NodeID:
		return placement{}, false
	case current.NodeID == s.config.Node && s.config.SFUURL != "":
		return placement{current.NodeID, s.config.SFUURL}, !s.retired.Load()
	default:
		return placement{current.NodeID, current.SfuURL}, current.Alive && current.SfuURL != ""
	}
}

// choose picks a node for a room that has to be placed.
func (s *Service) choose(ctx context.Context, q *db.Queries, alive time.Time, current db.GetPlacementRow, here bool) (placement, error) {
	self := placement{s.config.Node, s.sfuURL()}
	if current.EncoderNode != "" {
		return placement{current.EncoderNode, current.EncoderSfuURL}, nil
	}
	if here && self.sfuURL != "" {
		return self, nil
	}
	nodes, err := q.ListNodesWithSFU(ctx, alive)
	if err != nil {
		return self, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes {
		if n.ID != self.node || self.sfuURL != "" { // the database may not show yet that this node is retired
			return placement{n.ID, n.SfuURL}, nil
		}
	}
	if self.sfuURL == "" {
		return self, errNowhere()
	}
	return self, nil
}

func errNowhere() error {
	return problem.New(problem.Unavailable, "unavailable", "no media server is available for the room; try again")
}

// Beat writes this node's heartbeat with the address of its SFU and its number of
// participants.
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
