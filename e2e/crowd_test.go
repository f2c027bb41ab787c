package e2e

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/commerce/sandbox"
)

// crowd simulates the clients of a shop whose server is killed repeatedly:
// buyers, bidders and the seller, each of which handles errors like a careful
// client, and a payment processor with faults. It records what the server
// acknowledged.
type crowd struct {
	t    testing.TB
	shop *shop
	seed uint64
	stop chan struct{}
	halt func()
	busy sync.WaitGroup

	mu sync.Mutex
	// orders, auctions and bids are those that the server acknowledged.
	orders, auctions map[string]bool
	bids             map[string]api.Bid
	live             []api.Auction
	counts           map[string]int
}

const (
	buyers      = 8
	bidders     = 3
	auctioneers = 2
)

// gather starts all clients. They stop when stop is closed.
func gather(t testing.TB, sh *shop, seed uint64) *crowd {
	t.Helper()
	c := newCrowd(t, sh, seed)
	for i := range buyers {
		c.run(uint64(100+i), func(r *rand.Rand, n int) { c.buy(r, fmt.Sprintf("buyer-%d-%d", i, n)) })
	}
	for i := range bidders {
		c.run(uint64(200+i), func(r *rand.Rand, n int) { c.bid(r, fmt.Sprintf("bidder-%d", i), n) })
	}
	for i := range auctioneers {
		c.run(uint64(300+i), func(r *rand.Rand, n int) { c.auction(r, fmt.Sprintf("auction-%d-%d", i, n)) })
	}
	c.run(400, func(r *rand.Rand, _ int) { c.tend(r) })
	c.run(500, func(r *rand.Rand, _ int) { c.upset(r) })
	return c
}

// newCrowd returns a crowd without clients.
func newCrowd(t testing.TB, sh *shop, seed uint64) *crowd {
	t.Helper()
	c := &crowd{
		t: t, shop: sh, seed: seed, stop: make(chan struct{}),
		orders: map[string]bool{}, auctions: map[string]bool{}, bids: map[string]api.Bid{}, counts: map[string]int{},
	}
	c.halt = sync.OnceFunc(func() { close(c.stop) })
	return c
}

// run repeats f until stop.
func (c *crowd) run(id uint64, f func(r *rand.Rand, n int)) {
	r := rand.New(rand.NewPCG(c.seed, id))
	c.busy.Go(func() {
		for n := 0; !c.over(); n++ {
			f(r, n)
		}
	})
}

func (c *crowd) over() bool {
	select {
	case <-c.stop:
		return true
	default:
		return false
	}
}

// rest waits for d, or less if the test is over.
func (c *crowd) rest(d time.Duration) {
	select {
	case <-c.stop:
	case <-time.After(d):
	}
}

func (c *crowd) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.counts[what]++
}

// hasTraded reports whether the crowd has paid 20 pages, placed 10 bids and requested 3 refunds.
func (c *crowd) hasTraded() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.counts["page paid"] >= 20 && c.counts["bid"] >= 10 && c.counts["refund"]+c.counts["refund at the processor"] >= 3
}

// reply is the type of the client's answers.
type reply interface {
	GetBody() []byte
	StatusCode() int
	GetApplicationProblemJSONDefault() *api.ProblemResponse
}

// outcome returns the code of the problem in an answer, "" for a success, and
// lost if there was no answer. A code that isn't expected fails the test.
func (c *crowd) outcome(what string, answer reply, err error, expected ...string) string {
	if err != nil {
		c.count(what + " " + lost)
		return lost
	}
	code := ""
	if p := answer.GetApplicationProblemJSONDefault(); p != nil {
		code = p.Code
	}
	if code == "" && answer.StatusCode() >= http.StatusBadRequest || code != "" && !slices.Contains(expected, code) {
		c.t.Errorf("%s was answered with %d: %s", what, answer.StatusCode(), answer.GetBody())
	}
	c.count(strings.TrimSpace(what + " " + code))
	return code
}

// Outcomes that clients must handle.
const (
	lost        = "(no answer)"
	unavailable = "processor_unavailable"
	inProgress  = "idempotency_in_progress"
	keyLost     = "idempotency_lost"
)

// keyed sends an Idempotency-Key, or none if key is empty.
func keyed(key string) client.RequestEditorFn {
	return func(_ context.Context, r *http.Request) error {
		if key != "" {
			r.Header.Set("Idempotency-Key", key)
		}
		return nil
	}
}

// oneIn returns true once in n times.
func oneIn(r *rand.Rand, n int) bool { return r.IntN(n) == 0 }

func pick[T any](r *rand.Rand, from []T) T { return from[r.IntN(len(from))] }

// upset makes the processor lose answers and fail, and send its webhooks late,
// twice or in reverse order.
func (c *crowd) upset(r *rand.Rand) {
	box := c.shop.box
	path := pick(r, []string{"", "/v1/checkout/sessions", "/v1/checkout/sessions", "/v1/coupons", "/v1/refunds", "/v1/prices"})
	switch r.IntN(4) {
	case 0:
		box.LoseAnswers(1, path)
	case 1:
		box.Fail(1, path, http.StatusInternalServerError)
	case 2:
		c.must(box.HoldEvents())
		c.rest(time.Duration(r.IntN(600)) * time.Millisecond)
		c.must(box.ReleaseReversed())
	case 3:
		if events := box.Events(); len(events) > 0 {
			c.must(box.Resend(events[max(0, len(events)-1-r.IntN(20))].ID, 1+r.IntN(2)))
		}
	}
	c.rest(time.Duration(50+r.IntN(300)) * time.Millisecond)
}

// must fails the test without ending it, because it runs in another goroutine.
func (c *crowd) must(err error) {
	if err != nil {
		c.t.Errorf("the processor: %v", err)
	}
}

// tend simulates the seller, who changes everything about the products except
// their stock, and fulfils paid orders.
func (c *crowd) tend(r *rand.Rand) {
	p := pick(r, c.shop.products)
	in := api.ProductInput{ExternalID: p.ExternalID, Name: p.Name, PriceCents: p.PriceCents, Description: new(fmt.Sprint("in ", r.IntN(100), " colors"))}
	if oneIn(r, 3) {
		in.PriceCents += int64(r.IntN(50))
	}
	changed, err := c.shop.UpsertProductWithResponse(context.Background(), in)
	c.outcome("upsert", changed, err)
	c.rest(time.Duration(r.IntN(100)) * time.Millisecond)
	if orderID, ok := c.someOrder(r); ok && oneIn(r, 2) {
		handed, err := c.shop.FulfilOrderWithResponse(context.Background(), orderID)
		c.outcome("fulfil", handed, err, "conflict")
	}
	c.rest(time.Duration(r.IntN(100)) * time.Millisecond)
}

func (c *crowd) someOrder(r *rand.Rand) (string, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.orders) == 0 {
		return "", false
	}
	return pick(r, slices.Sorted(maps.Keys(c.orders))), true
}

// endPage simulates a buyer on a payment page: it pays, pays by a method that
// takes a while, cancels, or leaves.
func (c *crowd) endPage(r *rand.Rand, sessionID string) (paid bool) {
	box := c.shop.box
	var err error
	switch r.IntN(10) {
	case 0:
		c.count("page left open")
		return false
	case 1:
		_, err = box.Expire(sessionID)
		c.count("page closed")
	case 2:
		var x sandbox.Session
		if x, err = box.PayLater(sessionID, "bo@buyer.example"); err == nil && x.PaymentStatus == sandbox.Unpaid {
			c.rest(time.Duration(r.IntN(500)) * time.Millisecond)
			if paid = oneIn(r, 2); paid || oneIn(r, 2) {
				_, err = box.Settle(sessionID, paid)
			}
			c.count(fmt.Sprint("page paid later: ", paid))
		}
	default:
		_, err = box.Pay(sessionID, "bo@buyer.example")
		paid = true
		c.count("page paid")
	}
	c.must(err)
	return paid
}
