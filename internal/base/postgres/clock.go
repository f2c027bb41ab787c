package postgres

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// clockEvery is the interval of the measurements.
	clockEvery = 10 * time.Second
	// clockSamples is the number of queries per measurement. The fastest answer has
	// the smallest error.
	clockSamples = 3
	// clockTimeout limits one measurement.
	clockTimeout = 5 * time.Second
	// maxDrift is the assumed limit of how much faster this machine's clock runs than
	// the database's, as a fraction: ten times the drift of a usual quartz.
	maxDrift = 1e-4
	// MaxSkew is the largest difference between the two clocks that causes no warning.
	MaxSkew = time.Second
	// warnEvery is the interval of the warnings while the skew lasts.
	warnEvery = time.Hour
)

// Clock estimates the database's time without a query per reading. All servers on
// one database use it, so that they agree on deadlines, and with the queue, which
// hands jobs out by the database's clock.
//
// Its time is never ahead of the database's. It is behind by at most one round trip
// to the database, usually a millisecond. Steps of this machine's clock don't change
// it: between measurements it runs on the monotonic clock, also while the database
// is away.
type Clock struct {
	local func() time.Time
	// base is the local time at the start, from which other readings are counted.
	base time.Time

	mu sync.RWMutex
	// offset is the database's time less the local time since base, as of at.
	offset time.Duration
	at     time.Time
	warned time.Time
}

// NewClock measures the database's time. The local clock is time.Now when nil.
func NewClock(ctx context.Context, pool *pgxpool.Pool, local func() time.Time) (*Clock, error) {
	if local == nil {
		local = time.Now
	}
	c := &Clock{local: local, base: local()}
	return c, c.Measure(ctx, pool)
}

// Now returns the database's time. Compare it with other readings of this clock and
// with times from the database, never with time.Now.
func (c *Clock) Now() time.Time { return c.theirs(c.local()) }

// theirs returns the database's time at a time of this machine's clock.
func (c *Clock) theirs(local time.Time) time.Time {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.base.Add(local.Sub(c.base) + c.offset)
}

// Skew returns this machine's time less the database's: positive when the machine's
// clock is ahead.
func (c *Clock) Skew() time.Duration {
	// Round removes the monotonic readings, so that a step of the machine's clock counts.
	local := c.local()
	return local.Round(0).Sub(c.theirs(local).Round(0))
}

// Run measures every 10 seconds until ctx ends, and logs a warning of a skew above
// MaxSkew.
func (c *Clock) Run(ctx context.Context, pool *pgxpool.Pool, log *slog.Logger) {
	ticker := time.NewTicker(clockEvery)
	defer ticker.Stop()
	for {
		if err := c.Measure(ctx, pool); err != nil && ctx.Err() == nil {
			log.Warn("could not measure the database's time", "error", err)
		}
		c.warn(log)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// warn logs a skew when it begins and once an hour while it lasts.
func (c *Clock) warn(log *slog.Logger) {
	skew := c.Skew()
	if skew.Abs() <= MaxSkew {
		c.warned = time.Time{}
		return
	}
	if now := c.local(); c.warned.IsZero() || now.Sub(c.warned) >= warnEvery {
		c.warned = now
		log.Warn("this machine's clock and the database's differ; the server uses the database's: set both by NTP",
			"ahead", skew.Round(time.Millisecond).String())
	}
}

// Measure queries the database's time and corrects the clock.
func (c *Clock) Measure(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, clockTimeout)
	defer cancel()
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("ask for the database's time: %w", err)
	}
	defer conn.Release()
	for range clockSamples {
		var theirs time.Time
		sent := c.local()
		if err := conn.QueryRow(ctx, "SELECT clock_timestamp()::timestamptz").Scan(&theirs); err != nil {
			return fmt.Errorf("ask for the database's time: %w", err)
		}
		c.adopt(theirs, sent, c.local())
	}
	return nil
}

// adopt corrects the offset by an answer. The database read its time, theirs, between
// sent and received, which limits the offset in both directions. If the previous
// offset, less the drift since, is within these limits, adopt keeps it. Otherwise it
// takes the smallest offset within them, so that Now is never ahead.
func (c *Clock) adopt(theirs, sent, received time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	since := theirs.Sub(c.base.Round(0))
	least, most := since-received.Sub(c.base), since-sent.Sub(c.base)
	drifted := c.offset - time.Duration(float64(received.Sub(c.at))*maxDrift)
	if c.at.IsZero() || drifted < least || drifted > most {
		drifted = least
	}
	c.offset, c.at = drifted, received
}
