package auction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/event"
	"showfloor/internal/tenancy"
)

// BidInput is a bid to place; the handler has checked its limits.
type BidInput struct {
	AmountCents                  int64
	BidderExternalID, BidderName string
}

// PlacedBid is an accepted bid with the auction's new end.
type PlacedBid struct {
	Bid    db.Bid
	EndsAt time.Time
}

// maxBids is the maximum number of bids per transaction.
const maxBids = 100

// auctionKey identifies an auction.
type auctionKey struct{ tenantID, auctionID string }

// bidRequest is a bid that waits for a decision.
type bidRequest struct {
	in BidInput
	// hook belongs to the request that made the bid; nil for none.
	hook postgres.Hook
	// bidID is assigned when the bid is first accepted.
	bidID string
	// unsure: a transaction that accepted the bid failed, perhaps at its commit, so
	// the bid may be stored anyway.
	unsure bool
}

// bidResult is the result of a request: a bid, or the problem with it.
type bidResult struct {
	placed  PlacedBid
	problem error
}

// PlaceBid places a bid. A bid that is too low or too late is a problem. Bids for
// one auction are decided in the order of their arrival; those that arrive during
// a transaction share the next one.
func (s *Service) PlaceBid(ctx context.Context, c tenancy.Caller, auctionID string, in BidInput) (PlacedBid, error) {
	// Without cancellation: if the caller disconnects, the bid is placed all the same,
	// and the Idempotency-Key must not be released meanwhile.
	v, err := s.bids.Do(context.WithoutCancel(ctx), auctionKey{c.TenantID, auctionID}, &bidRequest{in: in, hook: postgres.HookFrom(ctx)})
	if err != nil {
		return PlacedBid{}, err
	}
	return v.placed, v.problem
}

// errNothing rolls back a batch that accepted no bid.
var errNothing = errors.New("no bid was accepted")

// bidBatch holds one transaction's decisions. It is also the hook of the requests
// whose bids it accepts.
type bidBatch struct {
	postgres.Hooks

	auction  state
	results  []bidResult
	accepted []*bidRequest
	bids     []PlacedBid
}

// decideBids accepts or refuses each bid, in their order. An error applies to all.
func (s *Service) decideBids(ctx context.Context, key auctionKey, requests []*bidRequest) ([]bidResult, error) {
	var r bidBatch
	err := postgres.InTx(postgres.WithHook(ctx, &r), s.config.Pool, func(tx pgx.Tx) error {
		r = bidBatch{results: make([]bidResult, len(requests))}
		return s.decideLocked(ctx, tx, key, requests, &r)
	})
	if err != nil && !errors.Is(err, errNothing) {
		for _, o := range r.accepted {
			o.unsure = true
		}
		return nil, err
	}
	return r.results, nil
}

// decideLocked decides the bids under the auction's lock.
func (s *Service) decideLocked(ctx context.Context, tx pgx.Tx, key auctionKey, requests []*bidRequest, r *bidBatch) error {
	a, err := lock(ctx, tx, key)
	if missing, ok := problem.As(err); ok {
		for i := range r.results {
			r.results[i].problem = missing
		}
		return errNothing
	}
	if err != nil {
		return err
	}
	for i, o := range requests {
		v, fresh, err := judge(ctx, tx, a, o)
		if err != nil {
			return err
		}
		r.results[i] = v
		if fresh {
			a = withTopBid(a, o.bidID, o.in.AmountCents)
			r.results[i].placed.EndsAt = a.EndsAt
			r.Add(o.hook)
			r.accepted, r.bids = append(r.accepted, o), append(r.bids, r.results[i].placed)
		}
	}
	r.auction = a
	if len(r.bids) == 0 {
		return errNothing
	}
	return s.write(ctx, tx, r)
}

// judge checks one bid. fresh reports that it becomes the top bid now.
func judge(ctx context.Context, tx pgx.Tx, a state, o *bidRequest) (v bidResult, fresh bool, err error) {
	if o.unsure {
		b, err := db.New(tx).GetBid(ctx, db.GetBidParams{TenantID: a.TenantID, ID: o.bidID})
		if err == nil {
			return bidResult{placed: PlacedBid{b, a.EndsAt}}, false, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return v, false, fmt.Errorf("get bid: %w", err)
		}
	}
	if v.problem = checkBid(a, o.in.AmountCents); v.problem != nil {
		return v, false, nil //nolint:nilerr // the result holds it
	}
	if o.bidID == "" {
		o.bidID = id.New(id.Bid)
	}
	return bidResult{placed: PlacedBid{Bid: db.Bid{
		ID: o.bidID, TenantID: a.TenantID, AuctionID: a.ID, AmountCents: o.in.AmountCents,
		BidderExternalID: o.in.BidderExternalID, BidderName: o.in.BidderName, CreatedAt: a.Now,
	}}}, true, nil
}

// write stores a batch's bids, the resulting change of the auction, and the
// events, and has the bids published.
func (s *Service) write(ctx context.Context, tx pgx.Tx, r *bidBatch) error {
	a := r.auction
	p := db.PlaceBidsParams{
		TenantID: a.TenantID, AuctionID: a.ID, TopBidID: a.TopBidID, TopBidCents: a.TopBidCents, EndsAt: a.EndsAt, Now: a.Now,
	}
	events := make([]event.Event, len(r.bids))
	for i, b := range r.bids {
		events[i] = bidEvent(a, b)
		s.publishBid(ctx, tx, a.StreamID, b)
		p.Ids, p.Amounts = append(p.Ids, b.Bid.ID), append(p.Amounts, b.Bid.AmountCents)
		p.BidderExternalIds, p.BidderNames = append(p.BidderExternalIds, b.Bid.BidderExternalID), append(p.BidderNames, b.Bid.BidderName)
	}
	if err := db.New(tx).PlaceBids(ctx, p); err != nil {
		return fmt.Errorf("place bids: %w", err)
	}
	return s.config.Events.EmitManyTx(ctx, tx, events)
}
