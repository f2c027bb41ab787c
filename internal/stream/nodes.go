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
	// HeartbeatEvery is how often a process says that it lives.
	HeartbeatEvery = 10 * time.Second
	// nodeGone is after how long without a word its connections count as dead.
	nodeGone = 60 * time.Second
	// keepNodes is how long the names of processes that are gone are kept.
	keepNodes = 24 * time.Hour
)

// beats remembers since when this process has written its heartbeats without a
// gap.
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

// steady tells whether there was time enough for every node that lives to write
// its own: no gap for longer than a node may be silent.
func (b *beats) steady(now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return now.Sub(b.last) <= nodeGone/2 && now.Sub(b.since) > nodeGone
}

// Heartbeat says that this node lives. Of the connections that it holds, it
// returns those that don't count any more: they were replaced, stopped, or
// given up while nothing was heard of the node.
func (s *Service) Heartbeat(ctx context.Context, publisherIDs []string) (ended []string, err error) {
	q, now := db.New(s.config.Pool), s.config.Now()
	if err := q.TouchNode(ctx, db.TouchNodeParams{ID: s.config.Node, Now: now, URL: s.nodeURL()}); err != nil {
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

// Steady tells whether a node whose heartbeat is missing is gone: whether every one
// that lives has had time to write it, and could.
func (s *Service) Steady(now time.Time) bool { return s.beats.steady(now) }

// EndStranded ends what nodes had on air that were killed and don't come back
// under their name, such as a container with a fresh data folder.
func (s *Service) EndStranded(ctx context.Context) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	if !s.beats.steady(now) {
		return nil // if we could write nothing for a while, others couldn't either
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
	if err := q.DeleteNodesBefore(ctx, now.Add(-keepNodes)); err != nil {
		return fmt.Errorf("delete old nodes: %w", err)
	}
	return nil
}
