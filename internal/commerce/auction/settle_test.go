package auction_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/dbtest"
)

// settle ends the auction through both servers, many times concurrently.
func (r *rig) settle(t *testing.T, auctionID string) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			if wait, err := r.service(i).SettleAuction(t.Context(), r.owner.TenantID, auctionID); err != nil || wait != 0 {
				t.Errorf("settled with %v, %v", wait, err)
			}
		})
	}
	wg.Wait()
}

// ended requires one result: the winner's bid and order, or the released unit, and
// one event for the end.
func (r *rig) ended(t *testing.T, a api.Auction, won bool) {
	t.Helper()
	row, events := r.row(t, a.ID), r.events(t, a.ID)
	require.Equal(t, auction.Ended, row.Status)
	bids := r.bids(t, a.ID)
	require.Len(t, events, len(bids)+1)
	last := events[len(events)-1]
	if !won {
		require.Equal(t, "auction.reserve_not_met", last.Event)
		require.Nil(t, row.WinningBidID)
		require.Nil(t, row.OrderID)
		require.Zero(t, r.orders(t, a.ID))
		require.Zero(t, r.held(t, a))
		return
	}
	require.Equal(t, "auction.won", last.Event)
	require.Equal(t, row.TopBidID, row.WinningBidID)
	require.NotNil(t, row.OrderID)
	require.Equal(t, 1, r.orders(t, a.ID))
	require.Equal(t, 1, r.held(t, a), "the hold passed to the order")
	require.Equal(t, map[string]any{
		"auctionId": a.ID, "winnerExternalId": "user-1", "amountCents": float64(bids[len(bids)-1]), "winnerName": "Bo",
	}, last.Data)
}

func TestAnAuctionEndsOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reserve any
		bids    []int64
		won     bool
	}{
		"no bid":                {nil, nil, false},
		"no bid, but a reserve": {2500, nil, false},
		"below the reserve":     {2500, []int64{1000, 2499}, false},
		"the reserve exactly":   {2500, []int64{1000, 2500}, true},
		"above the reserve":     {2500, []int64{3000}, true},
		"no reserve":            {nil, []int64{1000}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.owner.Auction(t, map[string]any{"reservePriceCents": c.reserve})
			require.Equal(t, 1, r.held(t, a))
			for _, cents := range c.bids {
				_, err := r.bid(t, 0, a.ID, cents)
				require.NoError(t, err)
			}
			wait, err := r.s.Auctions.SettleAuction(t.Context(), r.owner.TenantID, a.ID)
			require.NoError(t, err)
			require.InDelta(t, time.Hour, wait, float64(time.Minute), "it isn't over yet")
			require.Equal(t, auction.Live, r.row(t, a.ID).Status)

			r.endsIn(t, a.ID, 0)
			end := r.row(t, a.ID).EndsAt
			r.settle(t, a.ID)
			r.ended(t, a, c.won)
			if c.won {
				return
			}
			var top, reserve any
			if len(c.bids) > 0 {
				top = float64(c.bids[len(c.bids)-1])
			}
			if c.reserve != nil {
				reserve = float64(c.reserve.(int))
			}
			events := r.events(t, a.ID)
			require.Equal(t, map[string]any{
				"auctionId": a.ID, "productId": a.ProductID, "streamId": a.StreamID, "reservePriceCents": reserve,
				"topBidCents": top, "endedAt": timestamp.Format(end),
			}, events[len(events)-1].Data)
			ticks := r.ticks(a)
			require.Equal(t, []float64{0, 1}, ticks, "the unit was held and is free again")
		})
	}
}

// ticks lists the free units that both servers published to the viewers of the
// auction's stream.
func (r *rig) ticks(a api.Auction) (free []float64) {
	for _, p := range append(r.s.Published(), r.other.Published()...) {
		if p.Type == realtime.StockTick && p.Room == a.StreamID {
			free = append(free, p.Data["remaining"].(float64))
		}
	}
	return free
}

// TestBidsRaceWithTheEnd: bidders continue until they get auction_ended, while the
// auction is settled again and again.
func TestBidsRaceWithTheEnd(t *testing.T) {
	t.Parallel()
	for name, reserve := range map[string]any{"won": nil, "unsold": 99_999_999} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t)
			a := r.owner.Auction(t, map[string]any{"bidIncrementCents": 1, "reservePriceCents": reserve})
			r.endsIn(t, a.ID, 300*time.Millisecond)
			end := r.row(t, a.ID).EndsAt
			var placed, next atomic.Int64
			next.Store(1000)
			var wg sync.WaitGroup
			for i := range 8 {
				wg.Go(func() { placed.Add(r.bidToTheEnd(t, i, a.ID, &next, end)) })
			}
			for i := range 2 {
				wg.Go(func() { r.settleAtTheEnd(t, i, a.ID) })
			}
			wg.Wait()
			require.Len(t, r.bids(t, a.ID), int(placed.Load()))
			r.ended(t, a, reserve == nil)
		})
	}
}

// bidToTheEnd bids through one server until it gets auction_ended, and counts its
// bids.
func (r *rig) bidToTheEnd(t *testing.T, n int, auctionID string, next *atomic.Int64, end time.Time) (placed int64) {
	t.Helper()
	for {
		p, err := r.bid(t, n, auctionID, next.Add(1))
		switch {
		case err == nil && p.Bid.CreatedAt.Before(end):
			placed++
		case problem.Is(err, "auction_ended"):
			return placed
		case !problem.Is(err, "bid_too_low"):
			t.Errorf("%v, %v", p, err)
			return placed
		}
	}
}

// settleAtTheEnd calls SettleAuction on one server until the auction is over.
func (r *rig) settleAtTheEnd(t *testing.T, n int, auctionID string) {
	t.Helper()
	for {
		wait, err := r.service(n).SettleAuction(t.Context(), r.owner.TenantID, auctionID)
		if err != nil {
			t.Error(err)
		}
		if wait == 0 {
			return
		}
	}
}

// TestBidsRaceWithACancellation: either a bid is placed or the auction is
// cancelled.
func TestBidsRaceWithACancellation(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	product, st := r.owner.Product(t, map[string]any{"stock": 10}).ID, r.owner.Stream(t, nil)
	for range 10 {
		a := r.owner.Auction(t, map[string]any{"productId": product, "streamId": st.ID})
		before := r.held(t, a)
		var bid, cancelled error
		var wg sync.WaitGroup
		wg.Go(func() { _, bid = r.bid(t, 0, a.ID, 1000) })
		wg.Go(func() { _, cancelled = r.other.Auctions.CancelAuction(t.Context(), r.caller, a.ID) })
		wg.Wait()
		row := r.row(t, a.ID)
		switch row.Status {
		case auction.Live:
			require.NoError(t, bid)
			refused(t, cancelled, "conflict")
			require.Equal(t, before, r.held(t, a))
		case auction.Cancelled:
			require.NoError(t, cancelled)
			refused(t, bid, "auction_ended")
			require.Empty(t, r.bids(t, a.ID))
			require.Equal(t, before-1, r.held(t, a))
		default:
			t.Fatal(row.Status)
		}
	}
}

// TestACancellationRacesWithTheEnd: the unit is released once.
func TestACancellationRacesWithTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	r.endsIn(t, a.ID, 100*time.Millisecond)
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for r.row(t, a.ID).Status == auction.Live {
				_, err := r.service(i).SettleAuction(t.Context(), r.owner.TenantID, a.ID)
				if err != nil {
					t.Error(err)
				}
			}
		})
		wg.Go(func() {
			r.pass(t, a.ID)
			_, err := r.service(i).CancelAuction(t.Context(), r.caller, a.ID)
			if !problem.Is(err, "conflict") {
				t.Errorf("cancelled with %v", err)
			}
		})
	}
	wg.Wait()
	r.ended(t, a, false)
}

func TestOverdueAuctionsAreEnded(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, dbtest.New(t)) // SettleOverdue ends auctions of all tenants
	var late []api.Auction
	for range 3 {
		a := r.owner.Auction(t, nil)
		r.endsIn(t, a.ID, -time.Minute)
		late = append(late, a)
	}
	running, off := r.owner.Auction(t, nil), r.owner.Auction(t, nil)
	_, err := r.s.Auctions.CancelAuction(t.Context(), r.caller, off.ID)
	require.NoError(t, err)
	r.endsIn(t, off.ID, -time.Minute)
	var wg sync.WaitGroup
	for i := range 2 {
		wg.Go(func() {
			if err := r.service(i).SettleOverdue(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, a := range late {
		r.ended(t, a, false)
	}
	require.Equal(t, auction.Live, r.row(t, running.ID).Status)
	require.Equal(t, auction.Cancelled, r.row(t, off.ID).Status)
	require.Empty(t, r.events(t, off.ID))
}

func TestAnAuctionThatIsGoneNeedsNoEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	for _, tenantID := range []string{r.owner.TenantID, r.s.Register(t).TenantID} {
		wait, err := r.s.Auctions.SettleAuction(t.Context(), tenantID, "auc_nobody")
		require.NoError(t, err)
		require.Zero(t, wait)
	}
	require.Equal(t, auction.Live, r.row(t, a.ID).Status)
}
