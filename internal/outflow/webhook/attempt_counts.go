package webhook

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/latency"
	"showfloor/internal/base/postgres"
)

const (
	// maxCountedEndpoints is the number of endpoints whose attempts are counted between two writes. Attempts of further ones are only part of
	// the sum of all.
	maxCountedEndpoints = 20_000
	// keepAttempts is how long counts of attempts are kept.
	keepAttempts = 30 * 24 * time.Hour
	// AttemptsEvery is the interval of FlushAttempts.
	AttemptsEvery = 10 * time.Second
)

// attemptKey is a row of counts. The endpoint is empty for the sum of all.
type attemptKey struct {
	hour       int64 // hours since 1970
	endpointID string
}

type attemptCount struct {
	attempts, failed int64
	took             *latency.Counts
}

// attemptCounts counts attempts in memory until they are written.
type attemptCounts struct {
	mu     sync.Mutex
	counts map[attemptKey]*attemptCount
}

func newAttemptCounts() *attemptCounts { return &attemptCounts{counts: map[attemptKey]*attemptCount{}} }

// note counts an attempt at a time.
func (a *attemptCounts) note(endpointID string, o outcome, at time.Time) {
	k := attemptKey{hour: at.Unix() / 3600}
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.counts[k]
	if all == nil {
		all = &attemptCount{took: &latency.Counts{}}
		a.counts[k] = all
	}
	all.note(o)
	all.took.Add(o.took)
	k.endpointID = endpointID
	one := a.counts[k]
	if one == nil {
		if len(a.counts) >= maxCountedEndpoints {
			return
		}
		one = &attemptCount{}
		a.counts[k] = one
	}
	one.note(o)
}

func (c *attemptCount) note(o outcome) {
	c.attempts++
	if o.failure != "" {
		c.failed++
	}
}

// take returns the counts, and begins with new ones.
func (a *attemptCounts) take() map[attemptKey]*attemptCount {
	a.mu.Lock()
	defer a.mu.Unlock()
	taken := a.counts
	a.counts = map[attemptKey]*attemptCount{}
	return taken
}

// giveBack adds counts that were not written to those of the meantime.
func (a *attemptCounts) giveBack(taken map[attemptKey]*attemptCount) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for k, c := range taken {
		now := a.counts[k]
		switch {
		case now != nil:
			now.attempts, now.failed = now.attempts+c.attempts, now.failed+c.failed
			if c.took != nil {
				now.took.Merge(c.took[:])
			}
		case k.endpointID == "" || len(a.counts) < maxCountedEndpoints:
			a.counts[k] = c
		}
	}
}

// FlushAttempts writes the numbers of attempts since its last call, which operators see. If it fails, they are written with the next ones.
// A process that is killed loses those since the last call.
func (s *Service) FlushAttempts(ctx context.Context) error {
	taken := s.attempts.take()
	if len(taken) == 0 {
		return nil
	}
	keys := make([]attemptKey, 0, len(taken))
	for k := range taken {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b attemptKey) int {
		return cmp.Or(cmp.Compare(a.hour, b.hour), cmp.Compare(a.endpointID, b.endpointID))
	})
	var p db.AddWebhookAttemptsParams
	for _, k := range keys {
		c, took := taken[k], ""
		if c.took != nil {
			took = c.took.String()
		}
		p.Hours, p.EndpointIds = append(p.Hours, time.Unix(k.hour*3600, 0).UTC()), append(p.EndpointIds, k.endpointID)
		p.Attempts, p.Failed, p.Took = append(p.Attempts, c.attempts), append(p.Failed, c.failed), append(p.Took, took)
	}
	if err := db.New(s.config.Pool).AddWebhookAttempts(ctx, p); err != nil {
		s.attempts.giveBack(taken)
		return fmt.Errorf("add webhook attempts: %w", err)
	}
	return nil
}

// RunAttemptCounts calls FlushAttempts every 10 seconds until ctx ends.
func (s *Service) RunAttemptCounts(ctx context.Context) {
	tick := time.NewTicker(AttemptsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.FlushAttempts(ctx); err != nil && ctx.Err() == nil {
				s.config.Log.WarnContext(ctx, "counts of webhook attempts were not written; they are tried again", "error", err)
			}
		}
	}
}

// deleteOldAttempts deletes counts of hours more than 30 days ago.
func (s *Service) deleteOldAttempts(ctx context.Context) error {
	q, before := db.New(s.config.Pool), s.config.Now().Add(-keepAttempts)
	return postgres.DeleteInBatches(ctx, "webhook attempts", func(maxRows int32) (int64, error) {
		return q.DeleteWebhookAttemptsBefore(ctx, db.DeleteWebhookAttemptsBeforeParams{Before: before, MaxRows: maxRows})
	})
}
