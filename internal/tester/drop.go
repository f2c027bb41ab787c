package tester

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/postgres"
)

const (
	// dropRows is how many captures one statement drops at most.
	dropRows = 200
	// totalLife is how long a process goes by the total that it read last, and what
	// it has added since.
	totalLife = time.Second
)

// dropOldest drops the tenant's oldest captures, which take up used bytes, until
// they take up no more than most. The caller holds the tenant's capture_usage.
func dropOldest(ctx context.Context, q *db.Queries, tenantID string, used, most int64) error {
	for used > most {
		left, err := q.DropOldestCaptures(ctx, db.DropOldestCapturesParams{TenantID: tenantID, Excess: used - most, MaxRows: dropRows})
		if err != nil {
			return fmt.Errorf("drop oldest captures: %w", err)
		}
		if left == used {
			return fmt.Errorf("drop oldest captures of %s: %d bytes are counted, but there is none", tenantID, used)
		}
		used = left
	}
	return nil
}

// total is what the captures of all tenants take up, in bytes, as this process
// knows it.
type total struct {
	mu    sync.Mutex
	bytes int64
	until time.Time
}

// add counts what is about to be added, and returns what there is then; false when
// that has to be read anew.
func (t *total) add(bytes int64, now time.Time) (int64, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes += bytes
	return t.bytes, now.Before(t.until)
}

func (t *total) set(bytes int64, until time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.bytes, t.until = bytes, until
}

// makeRoom drops the oldest captures, of all tenants, if with so many bytes more they
// would exceed Config.TotalBytes. Captures that other processes add at the same moment
// are dropped by the next call.
func (s *Service) makeRoom(ctx context.Context, bytes int64) error {
	now := s.config.Now()
	if sum, known := s.total.add(bytes, now); known && sum <= s.config.TotalBytes {
		return nil
	}
	for {
		sum, err := db.New(s.config.Pool).SumCaptureBytes(ctx)
		if err != nil {
			return fmt.Errorf("sum captures: %w", err)
		}
		s.total.set(sum+bytes, now.Add(totalLife))
		if sum+bytes <= s.config.TotalBytes {
			return nil
		}
		// Those of servers whose clocks are ahead too.
		n, err := s.deleteOldest(ctx, now.Add(keep), sum+bytes-s.config.TotalBytes)
		if err != nil || n == 0 {
			return err
		}
	}
}

// deleteOldest deletes captures of all tenants from until or before, the oldest
// first, until excess bytes are free or dropRows of them are gone. It returns how
// many it has deleted.
func (s *Service) deleteOldest(ctx context.Context, until time.Time, excess int64) (n int, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		rows, err := q.ListOldestCaptures(ctx, db.ListOldestCapturesParams{Until: until, Excess: excess, MaxRows: dropRows})
		if err != nil {
			return fmt.Errorf("list oldest captures: %w", err)
		}
		n = len(rows)
		var ids, tenantIDs []string
		for _, r := range rows {
			ids, tenantIDs = append(ids, r.ID), append(tenantIDs, r.TenantID)
		}
		if _, err := q.LockCaptureUsage(ctx, tenantIDs); err != nil {
			return fmt.Errorf("lock capture usage: %w", err)
		}
		if err := q.DeleteCaptures(ctx, ids); err != nil {
			return fmt.Errorf("delete oldest captures: %w", err)
		}
		return nil
	})
	return n, err
}

// deleteBefore deletes what was captured at an instant or before.
func (s *Service) deleteBefore(ctx context.Context, until time.Time) error {
	for {
		n, err := s.deleteOldest(ctx, until, math.MaxInt64)
		if err != nil || n < dropRows {
			return err
		}
	}
}
