package main

import (
	"context"
	"sync"

	"showfloor/internal/base/postgres"
	"showfloor/internal/rooms/roomgate"
	"showfloor/internal/rooms/session"
)

// startRealtime starts the realtime channel, once there is an HTTP server. It stops
// after all publishers, and then asks its clients to reconnect to another node.
func (s *server) startRealtime() error {
	if err := s.realtime.Start(roomgate.NewRealtime(s.areas.Accounts, s.areas.Sessions, s.areas.Chat)); err != nil {
		return err
	}
	s.onStop("realtime", s.realtime.Stop)
	updating, stop := context.WithCancel(context.Background())
	var work sync.WaitGroup
	work.Go(func() { s.areas.Shows.RunUpdates(updating, s.realtime, s.log) })
	work.Go(func() { s.areas.Shows.RunProducts(updating, s.log) })
	s.onStop("states of shows", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	s.followers = append(s.followers, s.realtime)
	s.engines = append(s.engines, engineNote{channel, s.realtime.Engine()})
	s.metrics.watchRealtime(s.realtime)
	return nil
}

// followRooms passes every change of a participant's state to s.followers, which
// hold participants' connections. Changes of other processes are included.
func (s *server) followRooms(ctx context.Context) error {
	changes := roomgate.NewChanges(s.followers...)
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
