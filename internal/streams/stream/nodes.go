package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"showfloor/gen/db"
)

const (
	// HeartbeatEvery is the interval of a process's heartbeats.
	HeartbeatEvery = 10 * time.Second
	// nodeGone is the time after a process's last heartbeat from which its connections
	// count as dead.
	nodeGone = 60 * time.Second
	// keepNodes is how long the rows of dead processes are kept.
	keepNodes = 24 * time.Hour
)

// beats records the time since which this process has written its heartbeats without a gap.
type beats struct {
	mu          sync.Mutex
	since, last time.Time
}

func (b *beats) note(now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now.Sub(b.last) > nodeGone/2 {
		b.since = now
	}
	b.last = now
}

// steady reports whether every live node has had time to write its heartbeat: this
// process has written its own for longer than nodeGone without a gap.
func (b *beats) steady(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.last) <= nodeGone/2 && now.Sub(b.since) > nodeGone
}

// Heartbeat writes this node's heartbeat. It returns those of the node's
// connections that have ended in the database: they were replaced or stopped, or
// they were ended because the node's heartbeats were missing.
func (s *Service) Heartbeat(ctx context.Context, publisherIDs []string) (ended []string, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	if err := q.TouchNode(ctx, db.TouchNodeParams{
		ID: s.config.Node, Now: now, URL: s.nodeURL(), Version: &s.config.Version, StartedAt: &s.config.StartedAt,
	}); err != nil {
		return nil, fmt.Errorf("touch node: %w", err)
	}
	s.beats.note(now)
	rows, err := q.ListEndedPublishers(ctx, publisherIDs)
	if err != nil {
		return nil, fmt.Errorf("list ended publishers: %w", err)
	}
	for _, p := range rows {
		ended = append(ended, p.ID)
	}
	return ended, nil
}

// Steady reports whether a node without a recent heartbeat is dead: every live
// node has had time to write one, and the database could be written.
func (s *Service) Steady(now time.Time) bool { return s.beats.steady(now) }

// EndStranded ends the connections of nodes that were killed and did not start
// again under their name, such as a container with a new data folder.
func (s *Service) EndStranded(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	if !s.beats.steady(now) {
		return nil // if this node could not write for a while, others could not write their heartbeats either
	}
	rows, err := q.ListStrandedPublishers(ctx, db.ListStrandedPublishersParams{Node: s.config.Node, Before: now.Add(-nodeGone)})
	if err != nil {
		return fmt.Errorf("list stranded publishers: %w", err)
	}
	var errs []error
	for _, p := range rows {
		if err := s.Unpublish(ctx, p.ID); err != nil {
			errs = append(errs, fmt.Errorf("end stranded publisher %s: %w", p.ID, err))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if err := q.DeleteStreamMediaBefore(ctx, now.Add(-keepMedia)); err != nil {
		return fmt.Errorf("delete old figures of streams: %w", err)
	}
	if err := q.DeleteStreamInspectionsBefore(ctx, now.Add(-keepMedia)); err != nil {
		return fmt.Errorf("delete old measurements of streams: %w", err)
	}
	if err := q.DeleteNodesBefore(ctx, now.Add(-keepNodes)); err != nil {
		return fmt.Errorf("delete old nodes: %w", err)
	}
	return nil
}
