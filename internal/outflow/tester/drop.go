package tester

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
)

const (
	// dropRows is the maximum number of captures that one statement deletes.
	dropRows = 200
	// totalLife is how long a process uses the total that it read last, plus what it
	// has added since.
	totalLife = time.Second
)

// dropOldest deletes the tenant's oldest captures, which take up used bytes, until
// they take up no more than most bytes. The caller holds the lock of the tenant's
// capture_usage.
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

// total is this process's estimate of the size of all tenants' captures, in bytes.
type total struct {
	mu    sync.Mutex
	bytes int64
	until time.Time
}

// add adds bytes to the total and returns it; false if the total must be read
// again.
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

// makeRoom deletes the oldest captures of all tenants if bytes more would exceed
// Config.TotalBytes. Captures that other processes add concurrently are taken into
// account by the next call.
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
		// now+keep also includes captures of servers whose clocks are ahead.
		n, err := s.deleteOldest(ctx, now.Add(keep), sum+bytes-s.config.TotalBytes)
		if err != nil || n == 0 {
			return err
		}
	}
}

// deleteOldest deletes captures of all tenants from until or before, oldest first,
// until excess bytes are free or dropRows captures are deleted. It returns the
// number of deleted captures.
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

// deleteBefore deletes captures from until or before.
func (s *Service) deleteBefore(ctx context.Context, until time.Time) error {
	for {
		n, err := s.deleteOldest(ctx, until, math.MaxInt64)
		if err != nil || n < dropRows {
			return err
		}
	}
}
