package main

import (
	"context"
	"sync"

	"showfloor/internal/onair"
	"showfloor/internal/usage"
)

// startUsage writes down what streams and rooms use, every few seconds.
func (s *server) startUsage(ctx context.Context) error {
	s.collector = usage.NewCollector(usage.CollectorConfig{Usage: s.areas.Usage, Source: onair.Usage{Meter: s.meter}, Log: s.log})
	s.metrics.watchUsage(s.collector)
	collecting, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.collector.Run(collecting) })
	s.onStop("collector of usage", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	return nil
}

// finishUsage writes the last intervals. It comes after streams and rooms have ended. Without
// a database they are lost: the time is needed to stop what else runs.
func (s *server) finishUsage(ctx context.Context) error {
	if s.collector == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownTime/3)
	defer cancel()
	return s.collector.Finish(ctx)
}
