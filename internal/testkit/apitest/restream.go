package apitest

import (
	"testing"

	engine "showfloor/internal/media/restream"
	"showfloor/internal/outflow/outbound"
	"showfloor/internal/streams/restream"
	"showfloor/internal/streams/restreamgate"
)

// openRestream creates the engine that tests restream targets. It forwards no streams.
func (s *Server) openRestream(t testing.TB, o Options) *restreamgate.Gate {
	t.Helper()
	gate := restreamgate.New(func() *restream.Service { return s.Restreams }, o.Log)
	forwarders := engine.New(engine.Config{
		Reports: gate, Stream: s.Hub.Stream, Dial: outbound.NewDialer(!o.Production, nil).Dial, Log: o.Log,
	})
	gate.Connect(forwarders)
	t.Cleanup(forwarders.Close)
	return gate
}
