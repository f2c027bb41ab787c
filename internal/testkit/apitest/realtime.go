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
	"showfloor/internal/base/postgres"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/roomgate"
	"showfloor/internal/rooms/session"
	"showfloor/internal/shows/show"
)

// Publication is a publication in the form in which a browser receives it.
type Publication struct {
	Room, Type string
	Data       map[string]any
}

// publications stores the publications. It fails the test for each that doesn't
// match the document's RealtimePublication.
type publications struct {
	t  testing.TB
	mu sync.Mutex
	// all holds them in the order of their arrival.
	all []Publication
	// next receives them afterwards; nil for none.
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

// PublishEvent implements realtime.Publisher. The events themselves are checked when they are emitted.
func (p *publications) PublishEvent(tenantID, eventID string, envelope []byte) {
	if p.next != nil {
		p.next.PublishEvent(tenantID, eventID, envelope)
	}
}

// checkPublication checks a publication against the union and against the schema
// of its type.
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
		realtime.AuctionStarted: "RealtimeAuction", realtime.AuctionEnded: "RealtimeAuction", realtime.ShowUpdated: "RealtimeShow",
		realtime.ProductsUpdated: "RealtimeProducts",
		"session.started":        "SessionStartedData", "session.ended": "SessionEndedData", "session.updated": "SessionUpdatedData",
		"session.participant.updated": "SessionParticipantUpdatedData", "session.participant.kicked": "SessionParticipantKickedData",
		"session.participant.muted":    "SessionParticipantMutedData",
		"session.participant.promoted": "SessionParticipantPromotedData", "session.handraise.raised": "SessionHandraiseRaisedData",
		"session.handraise.lowered": "SessionHandraiseLoweredData", "session.spotlight": "SessionSpotlightData",
		"session.muted-all": "SessionMutedAllData", "session.recording.started": "SessionRecordingStartedData",
		"session.recording.stopped": "SessionRecordingStoppedData", "session.breakouts.created": "SessionBreakoutsCreatedData",
		"session.breakouts.closed": "SessionBreakoutsClosedData", "session.summary.ready": "SessionSummaryReadyData",
		realtime.SessionCaption: "Caption",
	}[name]]
	if data == nil {
		return errors.New("its type is not known here")
	}
	return errors.Join(schemas["RealtimePublication"].Value.VisitJSON(value), data.Value.VisitJSON(value["data"]), walkTimes(value))
}

// Published returns the publications so far, in order.
func (s *Server) Published() []Publication {
	s.published.mu.Lock()
	defer s.published.mu.Unlock()
	return slices.Clone(s.published.all)
}

// realtimeServer is the part of a realtime.Server that the test server uses. It is an interface,
// because each package that sees the type itself compiles the generic types of its library again.
type realtimeServer interface {
	realtime.Publisher
	handlers.Realtime
	roomgate.Follower
	show.Rooms
	Start(gate realtime.Gate) error
	Stop(ctx context.Context) error
}

// PublishUpdates publishes the states of shows that have changed, as a server does every 2 s.
func (s *Server) PublishUpdates(t testing.TB) {
	t.Helper()
	must(t, s.Shows.PublishUpdates(t.Context(), s.realtime))
}

// PublishProducts publishes the products that the catalog has changed, as a server does every 2 s.
func (s *Server) PublishProducts(t testing.TB) {
	t.Helper()
	must(t, s.Shows.PublishProducts(t.Context()))
}

// openRealtime creates the realtime channel if the test uses one.
func (s *Server) openRealtime(o Options, now func() time.Time) {
	if !o.Realtime {
		return
	}
	s.realtime = realtime.New(realtime.Config{RedisURL: o.RedisURL, Log: o.Log, Now: now, CheckEvery: 100 * time.Millisecond})
	s.published.next = s.realtime
}

// upgrades returns the handler of WebSocket connections.
func (s *Server) upgrades() handlers.Realtime { //nolint:ireturn // nil is an answer
	if s.realtime == nil {
		return nil
	}
	return s.realtime
}

// startRealtime starts the realtime channel, and returns when it receives changes.
func (s *Server) startRealtime(t testing.TB, o Options) {
	t.Helper()
	if s.realtime == nil {
		return
	}
	must(t, s.realtime.Start(roomgate.NewRealtime(s.Accounts, s.Sessions, s.Chat)))
	t.Cleanup(func() { must(t, s.realtime.Stop(context.Background())) })
	s.follow(t, o, s.realtime)
}

// follow passes changes of rooms to a follower until the test ends, and returns
// when it receives changes.
func (s *Server) follow(t testing.TB, o Options, follower roomgate.Follower) {
	t.Helper()
	changes := roomgate.NewChanges(follower)
	connected := make(chan struct{})
	signal := sync.OnceFunc(func() { close(connected) })
	listener := &postgres.Listener{
		Pool: s.Pool, Channel: session.ChangesChannel, Heard: changes.Heard, Log: o.Log,
		Connected: func(ctx context.Context) {
			changes.Missed(ctx)
			signal()
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
