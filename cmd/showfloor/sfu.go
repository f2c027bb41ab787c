package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"

	"showfloor/internal/media/roombroadcast"
	"showfloor/internal/media/sfu"
	"showfloor/internal/rooms/roomgate"
)

// sfuPath is the path of the SFU's WebSocket below PUBLIC_URL.
const sfuPath = "/sfu"

// openSFU creates the SFU without listening.
func (s *server) openSFU() error {
	gate := roomgate.NewSFU(s.areas.Sessions, s.viewers, s.log)
	s.broadcasts = roomgate.NewBroadcasts(roomgate.BroadcastsConfig{
		Sessions: s.areas.Sessions, Hub: s.hub, Reports: s.reports, Most: s.config.areas.Broadcasts, Log: s.log,
	})
	server, err := sfu.New(sfu.Config{
		Addr: s.config.SFUAddr, ExternalIPs: s.config.sfuIPs, TURNAddr: s.config.TURNAddr, TURNIP: s.config.turnIP,
		Gate: gate, Air: roomgate.NewAir(s.hub, s.reports, s.areas.Streams.RoomPlaybackURL), Recordings: s.roomRecorder,
		Listener: s.listener, Broadcasts: s.broadcasts.Rooms(),
		Log: s.log, Meter: s.meter,
		ClientIP:    s.clientIP,
		MaxWatchers: s.config.sfuMaxWatchers,
		Limits:      sfu.Limits{TCP: s.bounds.shares.sfu, RelayTCP: s.bounds.shares.relay, RelaySockets: s.bounds.shares.relaySockets},
	})
	if err != nil {
		return err
	}
	gate.Connect(server)
	s.roomGate.Connect(server.StopRecording)
	s.sfu, s.gate = server, gate
	s.followers = append(s.followers, gate)
	s.metrics.watchSFU(server)
	s.metrics.watchBroadcasts(s.broadcasts.Rooms())
	return nil
}

// watchBroadcasts adds the number of broadcasts of sessions.
func (m *metrics) watchBroadcasts(b *roombroadcast.Broadcaster) {
	m.gauge("broadcasts_active", "Sessions that this server broadcasts into streams.", func() float64 { return float64(len(b.Running())) })
}

// clientIP returns the address of a request's client. Requests from TRUSTED_PROXIES name it
// in X-Forwarded-For.
func (s *server) clientIP(r *http.Request) netip.Addr {
	return s.config.http.TrustedProxies.ClientAddr(r)
}

// startSFU listens for media and announces this node to the other processes.
func (s *server) startSFU(ctx context.Context) error {
	if err := s.areas.Sessions.RecoverNode(ctx); err != nil {
		return err
	}
	if err := s.sfu.Start(); err != nil {
		setting := "SFU_ADDR"
		if errors.Is(err, sfu.ErrRelay) {
			setting = "TURN_ADDR"
		}
		return fmt.Errorf("%s: %w; stop what uses the port or set %[1]s to another", setting, err)
	}
	s.engines = append(s.engines, engineNote{rooms, s.sfuEngine()})
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.gate.Watch(watching) })
	work.Go(func() { s.roomGate.Watch(watching) })
	work.Go(func() { s.broadcasts.Watch(watching) })
	s.onStop("rooms", func(ctx context.Context) error {
		err := s.stopRooms(ctx)
		stop()
		work.Wait()
		return err
	})
	return nil
}

// stopRooms disconnects all participants. Without a database their departure can't be
// stored, and waiting for it must not use up the time for sealing broadcasts: the next
// start repairs the participants' rows.
func (s *server) stopRooms(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime/3)
	defer cancel()
	if err := s.sfu.Stop(ctx); err != nil {
		s.log.Warn("sfu: the departure of participants was not stored; the next start repairs it", "error", err)
	}
	return nil
}

// retire releases this server's rooms. If the database can't be reached, the
// other nodes notice the missing heartbeats.
func (s *server) retire(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownTime/10)
	defer cancel()
	if err := s.areas.Sessions.Retire(ctx); err != nil {
		s.log.Warn("sfu: the release of rooms was not stored", "error", err)
	}
	return nil
}

// sfuEngine returns the ports of media, for the banner and readiness.
func (s *server) sfuEngine() string {
	text := "UDP and TCP port " + portOf(s.sfu.Addr())
	if turn := s.sfu.TURNAddr(); turn != nil {
		text += ", relay (TURN) on port " + portOf(turn)
	}
	return text
}

// withSFU also serves the SFU's signalling.
func (s *server) withSFU(api http.Handler) http.Handler {
	signalling := s.sfu.Handler()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == sfuPath || strings.HasPrefix(r.URL.Path, sfuPath+"/") {
			signalling.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}
