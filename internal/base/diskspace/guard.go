// Package diskspace measures the free space of the file systems that hold the server's data,
// and decides which writes are refused while it is low.
package diskspace

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"showfloor/internal/base/problem"
)

const (
	// every is the interval of the measurements. Captured requests are the fastest way for
	// clients to fill the disk; in one interval they fill far less than the lowest sensible mark.
	every = 5 * time.Second
	// reportTimeout limits one report, so that a database that doesn't answer doesn't
	// delay the measurements.
	reportTimeout = 5 * time.Second
	// reserve is the space in bytes that PostgreSQL needs for any write: two WAL segments.
	reserve = 32 << 20
)

// Config of a Guard.
type Config struct {
	// Dirs are the folders whose file systems are watched.
	Dirs []string
	// Others are watched and reported too, but nothing is refused while they are full: the database isn't there.
	Others []string
	Marks  Marks
	// Measure returns the space of the file system that holds a folder; Measure by
	// default.
	Measure func(dir string) (Space, error)
	// Report records a status, and notifies the operator of a change. It is called after
	// each measurement until it has succeeded once for the current level. nil for none.
	Report func(ctx context.Context, s Status) error
	Log    *slog.Logger
}

// Status is the result of the last measurement, of the fullest file system.
type Status struct {
	Level Level
	Space Space
	// Dir is the folder on that file system.
	Dir string
	// Mark is the free space in bytes from which on the level is better.
	Mark uint64
}

// Guard watches file systems. Its methods can be called at the same time.
type Guard struct {
	config Config
	// levels holds the level of each folder; only Check changes it.
	levels   []Level
	reported *Level

	mu sync.RWMutex
	// status is that of all folders, own that of Dirs.
	status, own Status
}

// New makes a guard. Its status is unknown until the first Check.
func New(c Config) *Guard {
	if c.Measure == nil {
		c.Measure = Measure
	}
	return &Guard{config: c, levels: make([]Level, len(c.Dirs)+len(c.Others))}
}

// Status returns the result of the last measurement.
func (g *Guard) Status() Status {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.status
}

// ownStatus returns the last measurement of Dirs.
func (g *Guard) ownStatus() Status {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.own
}

// Refuse returns the problem disk_space_low while writes that can wait, such as captured
// requests, are refused; otherwise nil.
func (g *Guard) Refuse() error {
	if g.ownStatus().Level < Low {
		return nil
	}
	return problem.New(problem.Unavailable, "disk_space_low",
		"this server's disk is almost full, so it stores no requests at the moment; try again later, or ask its operator to free space")
}

// RefuseMore returns a problem disk_space_low below the lower mark, else nil. Operations
// with x-stores: true are refused with it; payments and live media continue.
func (g *Guard) RefuseMore() error {
	if g.ownStatus().Level < VeryLow {
		return nil
	}
	return problem.New(problem.Unavailable, "disk_space_low",
		"this server's disk is almost full, so it takes orders and live media only; try again later, or ask its operator to free space")
}

// Ready fails while the level isn't Enough; its message names the level and the free
// bytes. Payments and live media continue, so the server keeps receiving requests.
func (g *Guard) Ready(context.Context) error {
	s := g.Status()
	if s.Level == Enough {
		return nil
	}
	return problem.New(problem.Unavailable, "disk_space_low", "free space is %s: %s (%d bytes) are left",
		s.Level, Bytes(s.Space.Free), s.Space.Free)
}

// Writable fails while the space is too low for any write of the database.
func (g *Guard) Writable(context.Context) error {
	s := g.ownStatus()
	if s.Space.Total == 0 || s.Space.Free >= reserve {
		return nil
	}
	return problem.New(problem.Unavailable, "disk_full", "the disk is full: %d bytes are left", s.Space.Free)
}

// Run checks every 5 seconds until ctx ends.
func (g *Guard) Run(ctx context.Context) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		g.Check(ctx)
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// Check measures once, logs a change of the level and reports it. Only one call may
// run at a time.
func (g *Guard) Check(ctx context.Context) {
	before := g.Status().Level
	own := g.measure(0, g.config.Dirs)
	worst := fuller(own, g.measure(len(g.config.Dirs), g.config.Others))
	g.mu.Lock()
	g.status, g.own = worst, own
	g.mu.Unlock()
	switch {
	case worst.Level > before:
		g.config.Log.Warn("little disk space is left", "level", worst.Level.String(), "folder", worst.Dir,
			"free", worst.Space.Free, "mark", worst.Mark)
	case worst.Level < before:
		g.config.Log.Info("disk space was freed", "level", worst.Level.String(), "folder", worst.Dir, "free", worst.Space.Free)
	}
	if g.config.Report == nil || g.reported != nil && *g.reported == worst.Level {
		return
	}
	reporting, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	if err := g.config.Report(reporting, worst); err != nil {
		if ctx.Err() == nil {
			g.config.Log.Warn("could not notify the operator of the disk's free space", "level", worst.Level.String(), "error", err)
		}
		return
	}
	g.reported = &worst.Level
}

// measure returns the status of the fullest of the file systems of dirs, whose levels begin at first.
func (g *Guard) measure(first int, dirs []string) (worst Status) {
	for i, dir := range dirs {
		space, err := g.config.Measure(dir)
		if err != nil {
			g.config.Log.Warn("could not measure the disk's free space", "folder", dir, "error", err)
			continue
		}
		level := g.config.Marks.next(g.levels[first+i], space)
		g.levels[first+i] = level
		s := Status{Level: level, Space: space, Dir: dir, Mark: g.config.Marks.Low.Of(space.Total)}
		if s.Level == VeryLow {
			s.Mark = g.config.Marks.VeryLow.Of(space.Total)
		}
		worst = fuller(worst, s)
	}
	return worst
}

// fuller returns the status with less space; b if a is none.
func fuller(a, b Status) Status {
	if b.Dir != "" && (a.Dir == "" || b.Level > a.Level || b.Level == a.Level && b.Space.Free < a.Space.Free) {
		return b
	}
	return a
}
