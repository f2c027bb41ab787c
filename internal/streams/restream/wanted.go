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

// Wanted returns the open routes of a stream, if it is on air on this node. A route fails if its target's address can't be read.
func (s *Service) Wanted(ctx context.Context, streamID string) ([]Want, error) {
	return s.wanted(ctx, &streamID)
}

// WantedHere returns the open routes of all streams on air on this node, as Wanted does.
func (s *Service) WantedHere(ctx context.Context) ([]Want, error) { return s.wanted(ctx, nil) }

func (s *Service) wanted(ctx context.Context, streamID *string) ([]Want, error) {
	p := db.ListWantedRestreamRoutesParams{Node: s.config.Node, StreamID: streamID}
	rows, err := db.New(s.config.Pool).ListWantedRestreamRoutes(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list wanted restream routes: %w", err)
	}
	var list []Want
	for _, r := range rows {
		a, err := s.open(r.TargetID, r.Address)
		if err != nil {
			s.config.Log.Error("a restream route has failed", "route", r.ID, "target", r.TargetID, "error", err)
			if err := s.RouteFailed(ctx, r.ID, unreadable); err != nil {
				return nil, err
			}
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

// unreadable is the reason of a route whose target's address can't be decrypted, for example because its master key is lost.
const unreadable = "the server can't read the target's address: change the address of the target, and attach it again"

// open decrypts and parses the address of a target. Its errors hold no part of the address.
func (s *Service) open(targetID string, address []byte) (rtmpurl.Address, error) {
	raw, err := s.config.Box.Open(address, sealContext(targetID))
	if err != nil {
		return rtmpurl.Address{}, fmt.Errorf("decrypt the address: %w", err)
	}
	a, err := rtmpurl.Parse(string(raw))
	if err != nil {
		return rtmpurl.Address{}, fmt.Errorf("parse the address: %w", err)
	}
	return a, nil
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
