package auction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/account"
	"showfloor/internal/event"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
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

// mostBids is the maximum number of bids per transaction.
const mostBids = 100

// lane identifies an auction.
type lane struct{ tenantID, auctionID string }

// offer is a bid that waits for a decision.
type offer struct {
	in BidInput
	// hook belongs to the request that made the bid; nil for none.
	hook postgres.Hook
	// bidID is assigned when the bid is first accepted.
	bidID string
	// unsure: a transaction that accepted the bid failed, perhaps at its commit, so
	// the bid may be stored anyway.
	unsure bool
}

// verdict is the result of an offer: a bid, or the problem with it.
type verdict struct {
	placed  PlacedBid
	problem error
}

// PlaceBid places a bid. A bid that is too low or too late is a problem. Bids for
// one auction are decided in the order of their arrival; those that arrive during
// a transaction share the next one.
func (s *Service) PlaceBid(ctx context.Context, c account.Caller, auctionID string, in BidInput) (PlacedBid, error) {
	// Without cancellation: if the caller disconnects, the bid is placed all the same,
	// and the Idempotency-Key must not be released meanwhile.
	v, err := s.lanes.Do(context.WithoutCancel(ctx), lane{c.TenantID, auctionID}, &offer{in: in, hook: postgres.HookFrom(ctx)})
	if err != nil {
		return PlacedBid{}, err
	}
	return v.placed, v.problem
}

// errNothing rolls back a round that accepted no bid.
var errNothing = errors.New("no bid was taken")

// round holds one transaction's decisions. It is also the hook of the requests
// whose bids it accepts.
type round struct {
	postgres.Hooks

	auction  state
	verdicts []verdict
	taken    []*offer
	bids     []PlacedBid
}

// decide accepts or refuses each offer, in their order. An error applies to all
// offers.
func (s *Service) decide(ctx context.Context, key lane, offers []*offer) ([]verdict, error) {
	var r round
	err := postgres.InTx(postgres.WithHook(ctx, &r), s.config.Pool, func(tx pgx.Tx) error {
		r = round{verdicts: make([]verdict, len(offers))}
		return s.take(ctx, tx, key, offers, &r)
	})
	if err != nil && !errors.Is(err, errNothing) {
		for _, o := range r.taken {
			o.unsure = true
		}
		return nil, err
	}
	for _, p := range r.bids {
		s.showBid(ctx, r.auction.StreamID, p)
	}
	return r.verdicts, nil
}

// take decides the offers under the auction's lock.
func (s *Service) take(ctx context.Context, tx pgx.Tx, key lane, offers []*offer, r *round) error {
	a, err := lock(ctx, tx, key)
	if missing, ok := problem.As(err); ok {
		for i := range r.verdicts {
			r.verdicts[i].problem = missing
		}
		return errNothing
	}
	if err != nil {
		return err
	}
	for i, o := range offers {
		v, fresh, err := judge(ctx, tx, a, o)
		if err != nil {
			return err
		}
		r.verdicts[i] = v
		if fresh {
			a = raised(a, o.bidID, o.in.AmountCents)
			r.verdicts[i].placed.EndsAt = a.EndsAt
			r.Add(o.hook)
			r.taken, r.bids = append(r.taken, o), append(r.bids, r.verdicts[i].placed)
		}
	}
	r.auction = a
	if len(r.bids) == 0 {
		return errNothing
	}
	return s.write(ctx, tx, r)
}

// judge checks one offer. fresh reports that it becomes the top bid now.
func judge(ctx context.Context, tx pgx.Tx, a state, o *offer) (v verdict, fresh bool, err error) {
	if o.unsure {
		b, err := db.New(tx).GetBid(ctx, db.GetBidParams{TenantID: a.TenantID, ID: o.bidID})
		if err == nil {
			return verdict{placed: PlacedBid{b, a.EndsAt}}, false, nil
		}
		if !errors.Is(err, pgx.ErrNoRows) {
			return v, false, fmt.Errorf("get bid: %w", err)
		}
	}
	if v.problem = checkBid(a, o.in.AmountCents); v.problem != nil {
		return v, false, nil //nolint:nilerr // the verdict holds it
	}
	if o.bidID == "" {
		o.bidID = id.New(id.Bid)
	}
	return verdict{placed: PlacedBid{Bid: db.Bid{
		ID: o.bidID, TenantID: a.TenantID, AuctionID: a.ID, AmountCents: o.in.AmountCents,
		BidderExternalID: o.in.BidderExternalID, BidderName: o.in.BidderName, CreatedAt: a.Now,
	}}}, true, nil
}

// write stores a round's bids, the resulting change of the auction, and the
// events.
func (s *Service) write(ctx context.Context, tx pgx.Tx, r *round) error {
	a := r.auction
	p := db.PlaceBidsParams{
		TenantID: a.TenantID, AuctionID: a.ID, TopBidID: a.TopBidID, TopBidCents: a.TopBidCents, EndsAt: a.EndsAt, Now: a.Now,
	}
	events := make([]event.Event, len(r.bids))
	for i, b := range r.bids {
		events[i] = placed(a, b)
		p.Ids, p.Amounts = append(p.Ids, b.Bid.ID), append(p.Amounts, b.Bid.AmountCents)
		p.BidderExternalIds, p.BidderNames = append(p.BidderExternalIds, b.Bid.BidderExternalID), append(p.BidderNames, b.Bid.BidderName)
	}
	if err := db.New(tx).PlaceBids(ctx, p); err != nil {
		return fmt.Errorf("place bids: %w", err)
	}
	return s.config.Events.EmitMany(ctx, tx, events)
}
