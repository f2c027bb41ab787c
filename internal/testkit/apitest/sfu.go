package apitest

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"showfloor/internal/media/sfu"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/rooms/roomgate"
	"showfloor/internal/streams/mediagate"
)

// openSFU serves rooms beside the API, and returns when it receives changes of rooms.
func (s *Server) openSFU(t testing.TB, o Options) {
	t.Helper()
	if !o.SFU {
		return
	}
	gate := roomgate.NewSFU(s.Sessions, s.Viewers, o.Log)
	reports := mediagate.NewReports(context.WithoutCancel(t.Context()), o.Log)
	reports.Connect(s.Streams, s.Hub)
	t.Cleanup(reports.Close)
	var err error
	s.SFU, err = sfu.New(sfu.Config{
		Addr: "127.0.0.1:0", Gate: gate, Air: roomgate.NewAir(s.Hub, reports, s.Streams.RoomPlaybackURL), Log: o.Log, Meter: s.Meter,
		MaxWatchers: 200,
		Limits:      sfu.Limits{RoomJoins: -1, AddressJoins: -1},
	})
	must(t, err)
	gate.Connect(s.SFU)
	must(t, s.SFU.Start())
	must(t, gate.Beat(t.Context()))
	s.follow(t, o, gate)
	t.Cleanup(func() {
		stopping, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := s.SFU.Stop(stopping); err != nil {
			t.Errorf("stop the SFU: %v", err)
		}
		if n := s.SFU.Stats().Panics; n > 0 {
			t.Errorf("the SFU recovered from %d panics; their stacks are in the log", n)
		}
	})
	api, signalling := s.Handler, s.SFU.Handler()
	s.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/sfu/") {
			signalling.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
	})
}

// Connect connects the guest to its room as a browser does; change adds to the
// options. The server must have an SFU.
func (g *Guest) Connect(t testing.TB, change ...func(*sfutest.Options)) *sfutest.Client {
	t.Helper()
	return sfutest.Join(t, g.sfuOptions(change))
}

// TryToConnect does the same as Connect for guests who may be refused.
func (g *Guest) TryToConnect(t testing.TB, change ...func(*sfutest.Options)) *sfutest.Client {
	t.Helper()
	return sfutest.Connect(t, g.sfuOptions(change))
}

// SFUURL returns the WebSocket URL of the server's SFU.
func (s *Server) SFUURL() string { return strings.Replace(s.URL, "http", "ws", 1) + "/sfu" }

func (g *Guest) sfuOptions(change []func(*sfutest.Options)) sfutest.Options {
	o := sfutest.Options{URL: g.server.SFUURL(), Token: g.Token, Room: g.RoomID}
	for _, f := range change {
		f(&o)
	}
	return o
}
