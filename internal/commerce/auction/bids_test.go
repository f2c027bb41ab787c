package auction_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
)

func TestOfEqualBidsOneIsAccepted(t *testing.T) {
	t.Parallel()
	const n = 50
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	var placed atomic.Int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			_, err := r.bid(t, i, a.ID, 1500)
			if err == nil {
				placed.Add(1)
			} else if p, ok := problem.As(err); !ok || p.Code != "bid_too_low" || p.Message != "min bid is 1600 cents" {
				t.Errorf("refused with %v", err)
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(1), placed.Load())
	require.Equal(t, []int64{1500}, r.bids(t, a.ID))
	require.Len(t, r.events(t, a.ID), 1)
}

func TestBidsRiseByTheIncrement(t *testing.T) {
	t.Parallel()
	const n, increment = 200, 100
	r := newRig(t)
	a := r.owner.Auction(t, map[string]any{"bidIncrementCents": increment})
	var mu sync.Mutex
	var placed []int64
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			cents := rand.Int64N(100_000)
			p, err := r.bid(t, i, a.ID, cents)
			if err != nil {
				if !problem.Is(err, "bid_too_low") {
					t.Errorf("refused with %v", err)
				}
				return
			}
			mu.Lock()
			defer mu.Unlock()
			placed = append(placed, p.Bid.AmountCents)
		})
	}
	wg.Wait()
	bids := r.bids(t, a.ID)
	for i := 1; i < len(bids); i++ {
		require.GreaterOrEqual(t, bids[i]-bids[i-1], int64(increment), "%v", bids)
	}
	require.GreaterOrEqual(t, bids[0], int64(1000))
	slices.Sort(placed)
	require.Equal(t, bids, placed, "a bid is stored if and only if its bidder got a success")
	require.Equal(t, bids[len(bids)-1], *r.row(t, a.ID).TopBidCents)
	var amounts []int64
	for _, e := range r.events(t, a.ID) {
		require.Equal(t, "auction.bid", e.Event)
		amounts = append(amounts, int64(e.Data["bid"].(map[string]any)["amountCents"].(float64)))
	}
	require.Equal(t, bids, amounts, "one event for each, in order")
}

func TestWatchersSeeBidsInTheirOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	var wg sync.WaitGroup
	for range 100 {
		wg.Go(func() { _, _ = r.bid(t, 0, a.ID, rand.Int64N(100_000)) })
	}
	wg.Wait()
	var seen []int64
	for _, p := range r.s.Published() {
		if p.Type != realtime.AuctionBid {
			continue
		}
		require.Equal(t, a.StreamID, p.Room)
		require.Equal(t, a.ID, p.Data["auctionId"])
		require.Equal(t, "Bo", p.Data["bidderName"])
		require.Equal(t, timestamp.Format(a.EndsAt.Time), p.Data["endsAt"])
		seen = append(seen, int64(p.Data["amountCents"].(float64)))
	}
	require.Equal(t, r.bids(t, a.ID), seen)
}

// TestABidThatWaitedBeyondTheEndIsTooLate: the bid arrived in time, but got the
// row's lock after the end.
func TestABidThatWaitedBeyondTheEndIsTooLate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	r.endsIn(t, a.ID, 300*time.Millisecond)
	tx, release := r.stop(t, a.ID)
	results := make(chan error)
	go func() {
		_, err := r.bid(t, 0, a.ID, 1000)
		results <- err
	}()
	r.waiters(t, tx, 1)
	r.pass(t, a.ID)
	release()
	refused(t, <-results, "auction_ended")
	require.Empty(t, r.bids(t, a.ID))
}

// TestABidThatWaitedSeesAnEndThatWasMoved: the previous holder of the lock has
// moved the end and raised the price.
func TestABidThatWaitedSeesAnEndThatWasMoved(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, map[string]any{"antiSnipeSec": 60})
	r.endsIn(t, a.ID, 300*time.Millisecond)
	tx, release := r.stop(t, a.ID)
	results := make(chan error)
	for i, cents := range []int64{1000, 5000} { // on different servers
		go func() {
			_, err := r.bid(t, i, a.ID, cents)
			results <- err
		}()
	}
	r.waiters(t, tx, 2)
	r.pass(t, a.ID)
	_, err := tx.Exec(t.Context(), "UPDATE auctions SET ends_at = ends_at + interval '1 hour', top_bid_cents = 4000 WHERE id = $1", a.ID)
	require.NoError(t, err)
	release()
	err = errors.Join(<-results, <-results)
	refused(t, err, "bid_too_low")
	require.Contains(t, err.Error(), "min bid is ")
	require.Equal(t, []int64{5000}, r.bids(t, a.ID))
}

func TestBidsAroundTheEnd(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for _, c := range []struct {
		in   time.Duration
		code string
	}{{-time.Hour, "auction_ended"}, {-time.Millisecond, "auction_ended"}, {0, "auction_ended"}, {time.Minute, ""}} {
		a := r.owner.Auction(t, nil)
		r.endsIn(t, a.ID, c.in)
		_, err := r.bid(t, 0, a.ID, 1000)
		if c.code == "" {
			require.NoError(t, err)
			continue
		}
		refused(t, err, c.code)
		require.Equal(t, auction.Live, r.row(t, a.ID).Status, "it is not settled yet")
	}
}

// hook is the hook of a request with an Idempotency-Key.
type hook struct {
	refuse                error
	committing, committed atomic.Int64
}

func (h *hook) BeforeCommit(context.Context, pgx.Tx) error {
	h.committing.Add(1)
	return h.refuse
}

func (h *hook) AfterCommit() { h.committed.Add(1) }

// TestEachRequestsHookIsPartOfItsBid: a transaction of several bids runs the hooks
// of all their requests. If a hook refuses, only its own bid is not placed.
func TestEachRequestsHookIsPartOfItsBid(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, map[string]any{"bidIncrementCents": 1})
	tx, release := r.stop(t, a.ID)
	var wg sync.WaitGroup
	bid := func(h *hook, cents int64) {
		wg.Go(func() {
			_, err := r.s.Auctions.PlaceBid(postgres.WithHook(t.Context(), h), r.caller, a.ID,
				auction.BidInput{AmountCents: cents, BidderExternalID: "user-1", BidderName: "Bo"})
			switch {
			case h.refuse != nil:
				if h.committed.Load() != 0 || !errors.Is(err, h.refuse) && !problem.Is(err, "bid_too_low") {
					t.Errorf("%d has a hook that refuses: %v", cents, err)
				}
			case err == nil && (h.committing.Load() == 0 || h.committed.Load() != 1):
				t.Errorf("%d was placed without its hook", cents)
			case err != nil && (!problem.Is(err, "bid_too_low") || h.committed.Load() != 0):
				t.Errorf("%d: %v", cents, err)
			}
		})
	}
	bid(&hook{}, 1000)
	r.waiters(t, tx, 1)
	refusal := errors.New("the key is lost")
	for i := range int64(20) {
		h := &hook{}
		if i%5 == 4 {
			h.refuse = refusal
		}
		bid(h, 2000+i)
	}
	release()
	wg.Wait()
	require.NotContains(t, r.bids(t, a.ID), int64(2019), "the highest one's hook refuses")
	bids := r.bids(t, a.ID)
	require.True(t, slices.IsSorted(bids))
	require.Len(t, r.events(t, a.ID), len(bids))
}

func TestBidsOnAMissingAuction(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	_, err := r.bid(t, 0, "auc_nobody", 1000)
	refused(t, err, "not_found")
	_, err = r.s.Auctions.PlaceBid(t.Context(), tenancy.Caller{TenantID: r.s.Register(t).TenantID}, a.ID, auction.BidInput{AmountCents: 1000})
	refused(t, err, "not_found")
	require.Empty(t, r.bids(t, a.ID))
}

// TestABidOfADisconnectedCallerIsPlaced: the bid is placed and published all the same.
func TestABidOfADisconnectedCallerIsPlaced(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a := r.owner.Auction(t, nil)
	tx, release := r.stop(t, a.ID)
	ctx, hangUp := context.WithCancel(t.Context())
	results := make(chan error)
	go func() {
		_, err := r.s.Auctions.PlaceBid(ctx, r.caller, a.ID, auction.BidInput{AmountCents: 1000, BidderExternalID: "user-1", BidderName: "Bo"})
		results <- err
	}()
	r.waiters(t, tx, 1)
	hangUp()
	release()
	require.NoError(t, <-results)
	require.Equal(t, []int64{1000}, r.bids(t, a.ID))
}
