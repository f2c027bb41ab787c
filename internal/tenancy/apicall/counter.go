// Package apicall counts the calls of the API by tenant, operation and day, and reads the counts.
//
// It owns the table api_call_days. Calls are counted in memory after their answer, and written every 10 seconds and when the
// server stops. A server that is killed loses the counts of up to 10 seconds. If the answer of a write is lost, its counts may be
// added twice.
package apicall

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/latency"
)

const (
	// FlushEvery is the interval of writes.
	FlushEvery = 10 * time.Second
	// maxKeys is the number of pairs of tenant and operation that are counted between two writes. Calls of further pairs count for their
	// operation only.
	maxKeys = 50_000

	day = 24 * time.Hour
)

// Config of a Service.
type Config struct {
	Pool *pgxpool.Pool
	Log  *slog.Logger
	// Now is the clock, time.Now by default.
	Now func() time.Time
}

// Service counts calls and reads the counts.
type Service struct {
	pool *pgxpool.Pool
	log  *slog.Logger
	now  func() time.Time

	mu      sync.Mutex
	counts  counts
	dropped int64
}

// New returns the service.
func New(c Config) *Service {
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{pool: c.Pool, log: c.Log, now: c.Now, counts: newCounts()}
}

// key is a row. Its tenant is empty for the sum of an operation.
type key struct {
	day               int64 // days since 1970
	tenant, operation string
}

type count struct {
	calls, clientErrors, serverErrors int64
	last                              time.Time
	took                              *latency.Counts
}

type counts struct{ tenants, operations map[key]*count }

func newCounts() counts { return counts{map[key]*count{}, map[key]*count{}} }

// Count counts a call that was answered with a status.
func (s *Service) Count(tenantID, operation string, status int, took time.Duration) {
	now := s.now()
	k := key{now.Unix() / int64(day/time.Second), "", operation}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := s.counts.operations[k]
	if o == nil {
		o = &count{took: &latency.Counts{}}
		s.counts.operations[k] = o
	}
	o.note(status, now)
	o.took.Add(took)
	k.tenant = tenantID
	c := s.counts.tenants[k]
	if c == nil {
		if len(s.counts.tenants) >= maxKeys {
			s.dropped++
			return
		}
		c = &count{}
		s.counts.tenants[k] = c
	}
	c.note(status, now)
}

func (c *count) note(status int, now time.Time) {
	c.calls++
	switch {
	case status >= 500:
		c.serverErrors++
	case status >= 400:
		c.clientErrors++
	}
	if now.After(c.last) {
		c.last = now
	}
}

func (c *count) merge(other *count) {
	c.calls += other.calls
	c.clientErrors += other.clientErrors
	c.serverErrors += other.serverErrors
	if other.last.After(c.last) {
		c.last = other.last
	}
	if other.took != nil && c.took != nil {
		c.took.Merge(other.took[:])
	}
}

// Run writes the counts every 10 seconds until ctx ends.
func (s *Service) Run(ctx context.Context) {
	tick := time.NewTicker(FlushEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.Flush(ctx); err != nil && ctx.Err() == nil {
				s.log.WarnContext(ctx, "counts of API calls were not written; they are tried again", "error", err)
			}
		}
	}
}

// Flush writes the counts since the last write in one statement. If it fails, they are written with the next ones.
func (s *Service) Flush(ctx context.Context) error {
	s.mu.Lock()
	taken, dropped := s.counts, s.dropped
	s.counts, s.dropped = newCounts(), 0
	s.mu.Unlock()
	if dropped > 0 {
		s.log.WarnContext(ctx, "calls of too many tenants and operations; they count for their operation only", "calls", dropped)
	}
	if len(taken.operations) == 0 {
		return nil
	}
	if err := db.New(s.pool).AddAPICalls(ctx, taken.rows()); err != nil {
		s.giveBack(taken)
		return fmt.Errorf("add API calls: %w", err)
	}
	return nil
}

// giveBack adds counts that were not written to those of the meantime. The number of pairs stays limited.
func (s *Service) giveBack(taken counts) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, c := range taken.operations {
		if now := s.counts.operations[k]; now != nil {
			now.merge(c)
		} else {
			s.counts.operations[k] = c
		}
	}
	for k, c := range taken.tenants {
		if now := s.counts.tenants[k]; now != nil {
			now.merge(c)
		} else if len(s.counts.tenants) < maxKeys {
			s.counts.tenants[k] = c
		}
	}
}

// rows returns the rows of the pairs, and of the sums of tenants and operations, in the order of the primary key.
func (c counts) rows() (p db.AddAPICallsParams) {
	all := map[key]*count{}
	maps.Copy(all, c.operations)
	for k, n := range c.tenants {
		all[k] = n
		k.operation = ""
		sum := all[k]
		if sum == nil {
			sum = &count{}
			all[k] = sum
		}
		sum.merge(n)
	}
	keys := make([]key, 0, len(all))
	for k := range all {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b key) int {
		return cmp.Or(cmp.Compare(a.tenant, b.tenant), cmp.Compare(a.day, b.day), cmp.Compare(a.operation, b.operation))
	})
	for _, k := range keys {
		n, took := all[k], ""
		if n.took != nil {
			took = n.took.String()
		}
		p.TenantIds, p.Operations = append(p.TenantIds, k.tenant), append(p.Operations, k.operation)
		p.Days = append(p.Days, time.Unix(k.day*int64(day/time.Second), 0).UTC())
		p.Calls, p.ClientErrors = append(p.Calls, n.calls), append(p.ClientErrors, n.clientErrors)
		p.ServerErrors = append(p.ServerErrors, n.serverErrors)
		p.Took, p.LastAts = append(p.Took, took), append(p.LastAts, n.last)
	}
	return p
}
