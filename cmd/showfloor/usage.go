package main

import (
	"context"
	"errors"
	"sync"

	"showfloor/internal/streams/mediagate"
	"showfloor/internal/tenancy/usage"
)

// startUsage stores the usage of streams and rooms every few seconds.
func (s *server) startUsage(ctx context.Context) error {
	s.collector = usage.NewCollector(usage.CollectorConfig{Usage: s.areas.Usage, Source: mediagate.Usage{Meter: s.meter}, Log: s.log})
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

// finishUsage stores the last intervals. It runs after streams and rooms have ended. Without a
// database the intervals are lost, because the remaining time is needed to stop the other parts.
func (s *server) finishUsage(ctx context.Context) error {
	if s.collector == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, shutdownTime/3)
	defer cancel()
	return s.collector.Finish(ctx)
}

// startCounts writes the counts of API calls and webhook attempts every few seconds.
func (s *server) startCounts(ctx context.Context) error {
	counting, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.areas.APICalls.Run(counting) })
	work.Go(func() { s.areas.Webhooks.RunAttemptCounts(counting) })
	s.onStop("counts", func(ctx context.Context) error {
		stop()
		work.Wait()
		ctx, cancel := context.WithTimeout(ctx, shutdownTime/6)
		defer cancel()
		return errors.Join(s.areas.APICalls.Flush(ctx), s.areas.Webhooks.FlushAttempts(ctx))
	})
	return nil
}
