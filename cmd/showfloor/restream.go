package main

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"sync"

	"showfloor/internal/base/postgres"
	"showfloor/internal/media/hub"
	engine "showfloor/internal/media/restream"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/restreamgate"
)

// RestreamSettings are the settings of forwarding to other platforms.
type RestreamSettings struct {
	RestreamAllowPrivate string `env:"RESTREAM_ALLOW_PRIVATE"`
}

// readRestream parses them. Unless it is set, RESTREAM_ALLOW_PRIVATE is as for webhooks.
func (c *config) readRestream() error {
	if c.RestreamAllowPrivate == "" {
		c.areas.RestreamPrivate = c.trustsThisMachine()
		return nil
	}
	allowed, err := strconv.ParseBool(c.RestreamAllowPrivate)
	if err != nil {
		return fmt.Errorf("RESTREAM_ALLOW_PRIVATE: %q is neither true nor false", c.RestreamAllowPrivate)
	}
	c.areas.RestreamPrivate = allowed
	return nil
}

// openRestream creates the engine that forwards streams. The hub and the areas may be created later.
func (s *server) openRestream() {
	dialer := outbound.NewDialer(s.config.areas.RestreamPrivate, nil)
	s.restreamGate = restreamgate.New(func() *restream.Service { return s.areas.Restreams }, s.log)
	s.restream = engine.New(engine.Config{
		Reports: s.restreamGate, Stream: func(id string) (*hub.Stream, bool) { return s.hub.Stream(id) },
		Dial: func(ctx context.Context, host string, secure bool) (net.Conn, error) {
			return dialer.Dial(ctx, host, secure)
		},
		Now: s.clock.Now, Log: s.log,
	})
	s.restreamGate.Connect(s.restream)
	s.onStop("restreams", func(context.Context) error {
		s.restream.Close()
		return nil
	})
}

// startRestream follows the routes of this node's streams.
func (s *server) startRestream(ctx context.Context) error {
	listener := &postgres.Listener{
		Pool: s.pool, Channel: restream.Channel, Connected: s.restreamGate.Poll, Heard: s.restreamGate.Changed, Log: s.log,
	}
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	var work sync.WaitGroup
	work.Go(func() { s.restreamGate.Watch(watching) })
	work.Go(func() { listener.Run(watching) })
	s.onStop("restreams' notifications", func(context.Context) error {
		stop()
		work.Wait()
		return nil
	})
	return nil
}

// watchRestream adds the figures of forwarding.
func (m *metrics) watchRestream(e *engine.Engine) {
	m.gauge("restream_routes", "Routes of streams on air on this server to other platforms.",
		func() float64 { return float64(e.Stats().Running) })
	m.gauge("restream_connected", "Those routes whose target has accepted the stream.",
		func() float64 { return float64(e.Stats().Connected) })
	m.counter("restream_bytes_out_total", "Bytes that were sent to restream targets.", func() float64 { return float64(e.Stats().BytesOut) })
	m.counter("restream_dropped_frames_total", "Pictures that a restream target took too slowly.",
		func() float64 { return float64(e.Stats().Dropped) })
	m.countReasons("restream_outcomes_total",
		"Connections to restream targets that were accepted or are tried again, and routes that failed: refused or unreachable.",
		func() map[string]uint64 { return e.Stats().Outcomes })
}
