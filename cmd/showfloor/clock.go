package main

import (
	"context"
	"sync"
	"time"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// openClock measures the difference between the database's clock and this machine's.
func (s *server) openClock(ctx context.Context) (err error) {
	s.clock, err = postgres.NewClock(ctx, s.pool, nil)
	return err
}

// watchClock repeats the measurement until the server stops.
func (s *server) watchClock(ctx context.Context) {
	s.metrics.gauge("clock_skew_seconds", "How far this machine's clock is ahead of the database's; negative when it is behind.",
		func() float64 { return s.clock.Skew().Seconds() })
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.clock.Run(watching, s.pool, s.log) })
	s.onStop("clock", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
}

// checkClock is the readiness check of the clock. It fails with a problem whose
// message holds the skew. The server stays ready: it uses the database's time.
func (s *server) checkClock(context.Context) error {
	skew := s.clock.Skew()
	if skew.Abs() <= postgres.MaxSkew {
		return nil
	}
	direction := "ahead of"
	if skew < 0 {
		direction = "behind"
	}
	return problem.New(problem.Unavailable, "clock_skew", "this machine's clock is %s %s the database's: set both by NTP",
		skew.Abs().Round(time.Millisecond), direction)
}
