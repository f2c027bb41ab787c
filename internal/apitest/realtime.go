package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"showfloor/handlers"
	"showfloor/internal/inroom"
	"showfloor/internal/postgres"
	"showfloor/internal/realtime"
	"showfloor/internal/session"
)

// Publication is what was published, as a browser reads it.
type Publication struct {
	Room, Type string
	Data       map[string]any
}

// publications keeps what is published. Each is held against the document's
// RealtimePublication; one that isn't like that fails the test.
type publications struct {
	t  testing.TB
	mu sync.Mutex
	// all are in the order of their arrival.
	all []Publication
	// next is who carries them; nil for nobody.
	next realtime.Publisher
}

// Publish implements realtime.Publisher.
func (p *publications) Publish(ctx context.Context, message realtime.Publication) {
	if p.next != nil {
		p.next.Publish(ctx, message)
	}
	raw, err := json.Marshal(map[string]any{"type": message.Type, "data": message.Data})
	if err != nil {
		p.t.Errorf("a publication is no JSON: %v", err)
		return
	}
	var body struct{ Data map[string]any }
	if err := errors.Join(checkPublication(message.Type, raw), json.Unmarshal(raw, &body)); err != nil || message.Room == "" {
		p.t.Errorf("a publication in %q is not as the document says: %s\n%v", message.Room, raw, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.all = append(p.all, Publication{message.Room, message.Type, body.Data})
}

// checkPublication holds it against the union and against the schema of its type.
func checkPublication(name string, raw []byte) error {
	d, err := document()
	if err != nil {
		return err
	}
	var value map[string]any
	if err := json.Unmarshal(raw, &value); err != nil {
		return err
	}
	schemas := d.spec.Components.Schemas
	data := schemas[map[string]string{
		realtime.ChatMessage: "ChatMessageCreatedData", realtime.ChatEdited: "ChatMessageEditedData",
		realtime.ChatDeleted: "ChatMessageDeletedData", realtime.ProductPin: "RealtimeProductPin",
		realtime.StockTick: "RealtimeStockTick", realtime.DiscountDrop: "RealtimeDiscountDrop", realtime.AuctionBid: "RealtimeAuctionBid",
		"session.started": "SessionStartedData", "session.ended": "SessionEndedData", "session.updated": "SessionUpdatedData",
		"session.participant.updated": "SessionParticipantUpdatedData", "session.participant.kicked": "SessionParticipantKickedData",
		"session.participant.promoted": "SessionParticipantPromotedData", "session.handraise.raised": "SessionHandraiseRaisedData",
		"session.handraise.lowered": "SessionHandraiseLoweredData", "session.spotlight": "SessionSpotlightData",
		"session.muted-all": "SessionMutedAllData", "session.breakouts.created": "SessionBreakoutsCreatedData",
		"session.breakouts.closed": "SessionBreakoutsClosedData",
	}[name]]
	if data == nil {
		return errors.New("its type is not known here")
	}
	return errors.Join(schemas["RealtimePublication"].Value.VisitJSON(value), data.Value.VisitJSON(value["data"]), walkTimes(value))
}

// Published lists what was published so far, in order.
func (s *Server) Published() []Publication {
	s.published.mu.Lock()
	defer s.published.mu.Unlock()
	return slices.Clone(s.published.all)
}

// openRealtime makes the realtime channel, when the test wants one.
func (s *Server) openRealtime(o Options, now func() time.Time) {
	if !o.Realtime {
		return
	}
	s.Realtime = realtime.New(realtime.Config{RedisURL: o.RedisURL, Log: o.Log, Now: now, CheckEvery: 100 * time.Millisecond})
	s.published.next = s.Realtime
}

// upgrades is what connections that become WebSockets are handed to.
func (s *Server) upgrades() handlers.Realtime { //nolint:ireturn // nil is an answer
	if s.Realtime == nil {
		return nil
	}
	return s.Realtime
}

// startRealtime lets clients connect, and returns when it hears of changes.
func (s *Server) startRealtime(t testing.TB, o Options) {
	t.Helper()
	if s.Realtime == nil {
		return
	}
	must(t, s.Realtime.Start(inroom.NewRealtime(s.Accounts, s.Sessions, s.Chat)))
	t.Cleanup(func() { must(t, s.Realtime.Stop(context.Background())) })
	s.follow(t, o, s.Realtime)
}

// follow tells a follower of rooms' changes until the test ends, and returns when
// it hears of them.
func (s *Server) follow(t testing.TB, o Options, follower inroom.Follower) {
	t.Helper()
	changes := inroom.NewChanges(follower)
	connected := make(chan struct{})
	tell := sync.OnceFunc(func() { close(connected) })
	listener := &postgres.Listener{
		Pool: s.Pool, Channel: session.ChangesChannel, Heard: changes.Heard, Log: o.Log,
		Connected: func(ctx context.Context) {
			changes.Missed(ctx)
			tell()
		},
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	var work sync.WaitGroup
	work.Go(func() { changes.Run(ctx) })
	work.Go(func() { listener.Run(ctx) })
	t.Cleanup(func() {
		stop()
		work.Wait()
	})
	select {
	case <-connected:
	case <-t.Context().Done():
	}
}
