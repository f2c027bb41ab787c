package usage

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

const (
	// CloseEvery is how often a collector closes the open intervals. A killed server loses at
	// most that much.
	CloseEvery = 10 * time.Second
	// writeTime limits one attempt to write the waiting intervals.
	writeTime = 30 * time.Second
	// defaultMaxWaiting is the default of MaxWaiting; so many intervals take about 30 MB.
	defaultMaxWaiting = 100_000
)

// Source measures the usage of resources.
type Source interface {
	// Read returns the usage since the last call, without Owner and Interval.Source. No two
	// intervals of the same resource, meter and quality may ever have the same From.
	Read() []Interval
}

// CollectorConfig configures a Collector.
type CollectorConfig struct {
	Usage  *Service
	Source Source
	// Every is the interval between two closings; CloseEvery by default.
	Every time.Duration
	// MaxWaiting is how many intervals may wait for the database; 100,000 by default. Beyond it,
	// intervals of the same resource, meter and quality are merged into one.
	MaxWaiting int
	Log        *slog.Logger
}

// Collector closes the intervals of a source and writes them. While the database is away they
// wait in memory. A killed process loses the waiting and the open intervals.
type Collector struct {
	config CollectorConfig
	// run identifies this collector in keys. Other collectors, in this process or in others,
	// write separate intervals.
	run string
	// writing is locked by the goroutine that writes.
	writing sync.Mutex

	mu sync.Mutex
	// waiting holds the intervals that are not known to be written, oldest first. The first sent
	// of them may have been written. They don't change, so that they have the same keys when they
	// are sent again.
	waiting []Interval
	sent    int
	// owners are the owners of the resources in the last reading.
	owners map[string]Owner
	stats  CollectorStats
}

// CollectorStats counts since the start, except for Waiting.
type CollectorStats struct {
	// Waiting is the number of intervals that are not written yet.
	Waiting int
	// Written intervals; intervals Merged into an older one because too many waited; and intervals
	// Lost because the resource doesn't exist, or at the end because the database was away.
	Written, Merged, Lost uint64
	// Failures counts the failed attempts to write. They are retried.
	Failures uint64
}

// NewCollector returns a collector. Call Run once, and Finish after it.
func NewCollector(c CollectorConfig) *Collector {
	if c.Every <= 0 {
		c.Every = CloseEvery
	}
	if c.MaxWaiting <= 0 {
		c.MaxWaiting = defaultMaxWaiting
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	return &Collector{config: c, run: rand.Text(), owners: map[string]Owner{}}
}

// Run closes intervals and writes them until ctx ends. A slow write delays no closing.
func (c *Collector) Run(ctx context.Context) {
	closed := make(chan struct{}, 1)
	var writer sync.WaitGroup
	writer.Go(func() {
		for {
			select {
			case <-closed:
				if err := c.Write(ctx); err != nil && ctx.Err() == nil {
					c.config.Log.Warn("usage not written; it is tried again", "waiting", c.Stats().Waiting, "error", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	ticker := time.NewTicker(c.config.Every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			c.Collect()
			select {
			case closed <- struct{}{}:
			default:
			}
		case <-ctx.Done():
			writer.Wait()
			return
		}
	}
}

// Finish closes the last intervals and writes the waiting ones. Call it after Run has returned
// and the source has stopped measuring.
func (c *Collector) Finish(ctx context.Context) error {
	c.Collect()
	err := c.Write(ctx)
	if err == nil {
		return nil
	}
	c.mu.Lock()
	n := len(c.waiting)
	c.stats.Lost += uint64(n)
	c.mu.Unlock()
	return fmt.Errorf("%d intervals of usage are lost: %w", n, err)
}

// Stats returns the collector's counters.
func (c *Collector) Stats() CollectorStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	st := c.stats
	st.Waiting = len(c.waiting)
	return st
}

// Collect closes the open intervals, which then wait to be written.
func (c *Collector) Collect() {
	list := c.config.Source.Read()
	c.mu.Lock()
	defer c.mu.Unlock()
	seen := make(map[string]bool, len(list))
	for i := range list {
		x := &list[i]
		x.Source, x.Owner = c.run, c.owners[x.ResourceID]
		seen[x.ResourceID] = true
	}
	for id := range c.owners {
		if !seen[id] {
			delete(c.owners, id)
		}
	}
	c.waiting = append(c.waiting, list...)
	if len(c.waiting) > c.config.MaxWaiting {
		c.merge()
	}
}

// merge merges waiting intervals of the same resource, meter and quality that were never sent.
// The caller holds c.mu.
func (c *Collector) merge() {
	type name struct {
		resourceID string
		meter      Meter
		quality    string
	}
	at := map[name]int{}
	kept := c.waiting[:c.sent]
	for _, x := range c.waiting[c.sent:] {
		of := name{x.ResourceID, x.Meter, x.Quality}
		i, known := at[of]
		if !known {
			at[of] = len(kept)
			kept = append(kept, x)
			continue
		}
		older := &kept[i]
		older.Amount += x.Amount
		older.To = x.To
		if older.TenantID == "" {
			older.Owner = x.Owner
		}
		c.stats.Merged++
	}
	clear(c.waiting[len(kept):])
	c.waiting = kept
}

// Write writes the waiting intervals. After an error, those that are not written keep waiting.
func (c *Collector) Write(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	c.writing.Lock()
	defer c.writing.Unlock()
	err := c.write(ctx)
	if err != nil {
		c.mu.Lock()
		c.stats.Failures++
		c.mu.Unlock()
	}
	return err
}

func (c *Collector) write(ctx context.Context) error {
	for {
		if err := c.findOwners(ctx); err != nil {
			return err
		}
		batch := c.begin()
		if len(batch) == 0 {
			return nil
		}
		if _, err := c.config.Usage.Record(ctx, batch); err != nil {
			return err
		}
		c.written(len(batch))
	}
}

// findOwners finds the owners of waiting intervals that have none.
func (c *Collector) findOwners(ctx context.Context) error {
	asked := map[string]bool{}
	c.mu.Lock()
	for i := range c.waiting {
		if x := &c.waiting[i]; x.TenantID == "" {
			asked[x.ResourceID] = true
		}
	}
	c.mu.Unlock()
	if len(asked) == 0 {
		return nil
	}
	ids := make([]string, 0, len(asked))
	for id := range asked {
		ids = append(ids, id)
	}
	found, err := c.config.Usage.Owners(ctx, ids)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.Copy(c.owners, found)
	before := len(c.waiting)
	c.waiting = slices.DeleteFunc(c.waiting, func(x Interval) bool {
		_, known := found[x.ResourceID]
		return x.TenantID == "" && asked[x.ResourceID] && !known
	})
	if lost := before - len(c.waiting); lost > 0 {
		c.stats.Lost += uint64(lost)
		c.config.Log.Error("usage of resources that don't exist is dropped", "intervals", lost)
	}
	for i := range c.waiting {
		if x := &c.waiting[i]; x.TenantID == "" {
			x.Owner = found[x.ResourceID]
		}
	}
	return nil
}

// begin marks the next batch as sent and returns a copy of it, which is empty if nothing waits.
// After a failure the batch begins with the intervals that were sent before.
func (c *Collector) begin() []Interval {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.sent < min(len(c.waiting), maxRows) && c.waiting[c.sent].TenantID != "" {
		c.sent++
	}
	return slices.Clone(c.waiting[:c.sent])
}

// written removes the first n waiting intervals.
func (c *Collector) written(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = slices.Delete(c.waiting, 0, n)
	c.sent = 0
	c.stats.Written += uint64(n)
}
