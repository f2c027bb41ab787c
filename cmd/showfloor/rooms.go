package main

import (
	"context"
	"sync"

	"showfloor/internal/inroom"
	"showfloor/internal/postgres"
	"showfloor/internal/session"
)

// startRealtime lets browsers connect, as soon as there is an HTTP server. It
// stops after all who publish, and asks its clients to connect again, elsewhere.
func (s *server) startRealtime() error {
	if err := s.realtime.Start(inroom.NewRealtime(s.areas.Accounts, s.areas.Sessions, s.areas.Chat)); err != nil {
		return err
	}
	s.onStop("realtime", s.realtime.Stop)
	s.followers = append(s.followers, s.realtime)
	s.engines = append(s.engines, engineNote{channel, s.realtime.Engine()})
	s.metrics.watchRealtime(s.realtime)
	return nil
}

// followRooms lets those who hold connections of participants, s.followers, hear
// of every change of their standing, in whichever process it was made.
func (s *server) followRooms(ctx context.Context) error {
	changes := inroom.NewChanges(s.followers...)
	listener := &postgres.Listener{
		Pool: s.pool, Channel: session.ChangesChannel, Connected: changes.Missed, Heard: changes.Heard, Log: s.log,
	}
	following, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { changes.Run(following) })
	work.Go(func() { listener.Run(following) })
	s.onStop("changes of rooms", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	return nil
}
