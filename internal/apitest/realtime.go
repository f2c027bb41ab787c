package apitest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"

	"showfloor/internal/realtime"
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
}

// Publish implements realtime.Publisher.
func (p *publications) Publish(_ context.Context, message realtime.Publication) {
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
		realtime.StockTick: "RealtimeStockTick", realtime.DiscountDrop: "RealtimeDiscountDrop", realtime.AuctionBid: "RealtimeAuctionBid",
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
