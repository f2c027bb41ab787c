package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"

	"showfloor/handlers"
	"showfloor/jobs"
)

// checks returns the checks of GET /v1/health/ready, with the engine of each part.
func (s *server) checks() []handlers.Check {
	asked := map[string]func(context.Context) error{
		database: s.pool.Ping,
		queue:    func(ctx context.Context) error { return jobs.Check(ctx, s.pool) },
		files:    s.checkFiles,
		storage:  s.checkStorage,
		ingest:   func(context.Context) error { return serving(s.rtmp.Addr()) },
		mailing:  s.areas.Mails.Check,
		payments: s.processor.Check,
		rooms:    func(context.Context) error { return serving(s.sfu.Addr()) },
		playback: func(context.Context) error { return serving(s.http) },
		channel:  s.realtime.Check,
		timing:   s.checkClock,
		disk:     s.disk.Ready,
	}
	limiter := s.config.http.Limits.Limiter
	asked[limits] = limiter.Check
	var checks []handlers.Check
	for _, e := range s.engines {
		if run, ok := asked[e.part]; ok {
			check := handlers.Check{Name: e.part, Engine: func() string { return e.engine }, Run: run}
			// The server is useful without these parts.
			check.Deferred = slices.Contains([]string{storage, mailing, payments, channel, timing, disk}, e.part)
			switch e.part { // their engine changes while Redis is away
			case limits:
				check.Engine = limiter.Engine
			case channel:
				check.Engine = s.realtime.Engine
			}
			checks = append(checks, check)
		}
	}
	return checks
}

// serving returns an error if there is no listener.
func serving(addr net.Addr) error {
	if addr == nil {
		return errors.New("not listening")
	}
	return nil
}

// writable returns an error if no file can be created in the folder.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".ready-*")
	if err != nil {
		return fmt.Errorf("data folder: %w", err)
	}
	defer os.Remove(f.Name())
	return f.Close()
}
