package restream

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/media/rtmpurl"
)

// Want is a route that this node must forward.
type Want struct {
	RouteID, StreamID string
	Address           rtmpurl.Address
	// Reached: the target has accepted the stream before.
	Reached bool
	// LostAt is the time since which the target isn't reached; zero if it is, or wasn't tried yet.
	LostAt time.Time
}

// Wanted returns the open routes of a stream, if it is on air on this node.
func (s *Service) Wanted(ctx context.Context, streamID string) ([]Want, error) {
	return s.wanted(ctx, &streamID)
}

// WantedHere returns the open routes of all streams on air on this node.
func (s *Service) WantedHere(ctx context.Context) ([]Want, error) { return s.wanted(ctx, nil) }

func (s *Service) wanted(ctx context.Context, streamID *string) ([]Want, error) {
	p := db.ListWantedRestreamRoutesParams{Node: s.config.Node, StreamID: streamID}
	rows, err := db.New(s.config.Pool).ListWantedRestreamRoutes(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list wanted restream routes: %w", err)
	}
	var list []Want
	for _, r := range rows {
		raw, err := s.config.Box.Open(r.Address, sealContext(r.TargetID))
		if err != nil {
			s.config.Log.Error("the address of a restream target can't be decrypted", "target", r.TargetID, "error", err)
			continue
		}
		a, err := rtmpurl.Parse(string(raw))
		if err != nil {
			s.config.Log.Error("the address of a restream target can't be parsed", "target", r.TargetID)
			continue
		}
		w := Want{RouteID: r.ID, StreamID: r.StreamID, Address: a, Reached: r.StartedAt != nil}
		if r.LostAt != nil {
			w.LostAt = *r.LostAt
		}
		list = append(list, w)
	}
	return list, nil
}

// Health is the state of a route's connection, as its node reports it. A zero time and an empty text stand for none.
type Health struct {
	RouteID                   string
	BitrateKbps               int
	DroppedFrames, Reconnects uint64
	LastError                 string
	ConnectedAt, LostAt       time.Time
}

// SaveHealth stores the state of routes of this node.
func (s *Service) SaveHealth(ctx context.Context, list []Health) error {
	if len(list) == 0 {
		return nil
	}
	p := db.SaveRestreamHealthParams{Node: s.config.Node, Now: s.config.Now()}
	for _, h := range list {
		p.Ids, p.Bitrates = append(p.Ids, h.RouteID), append(p.Bitrates, int32(h.BitrateKbps))
		p.Dropped, p.Reconnects = append(p.Dropped, int64(h.DroppedFrames)), append(p.Reconnects, int64(h.Reconnects))
		p.LastErrors, p.Connected, p.Lost = append(p.LastErrors, h.LastError), append(p.Connected, h.ConnectedAt), append(p.Lost, h.LostAt)
	}
	if err := db.New(s.config.Pool).SaveRestreamHealth(ctx, p); err != nil {
		return fmt.Errorf("save health of restream routes: %w", err)
	}
	return nil
}
