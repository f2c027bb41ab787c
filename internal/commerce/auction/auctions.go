package auction

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// View is an auction as the API shows it to the tenant.
type View struct {
	db.Auction
	// Top is the highest bid; nil if there is none.
	Top *db.Bid
}

// Input describes a new auction; the handler has checked its limits.
type Input struct {
	ProductID, StreamID string
	StartingBidCents    int64
	// ReservePriceCents is nil for no reserve price.
	ReservePriceCents *int64
	BidIncrementCents int64
	DurationSec       int
	AntiSnipeSec      int
}

// ListAuctions pages through the tenant's auctions, newest first, in all statuses
// or in one. cursor is the id after which the page starts, nil for the first page.
func (s *Service) ListAuctions(ctx context.Context, c tenancy.Caller, status, cursor *string, limit int) ([]View, error) {
	rows, err := db.New(postgres.Planned{Pool: s.config.Pool}).ListAuctions(ctx, db.ListAuctionsParams{
		TenantID: c.TenantID, Status: status, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list auctions: %w", err)
	}
	views := make([]View, len(rows))
	for i, r := range rows {
		views[i] = view(db.GetAuctionRow(r))
	}
	return views, nil
}

// ListStreamAuctions returns the auctions of a stream that are LIVE, or have ended after since, newest first.
func (s *Service) ListStreamAuctions(ctx context.Context, c tenancy.Caller, streamID string, since time.Time, limit int) ([]View, error) {
	rows, err := db.New(s.config.Pool).ListStreamAuctions(ctx, db.ListStreamAuctionsParams{
		TenantID: c.TenantID, StreamID: streamID, Since: since, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list auctions of a stream: %w", err)
	}
	views := make([]View, len(rows))
	for i, r := range rows {
		views[i] = view(db.GetAuctionRow(r))
	}
	return views, nil
}

// GetAuction returns one auction of the tenant.
func (s *Service) GetAuction(ctx context.Context, c tenancy.Caller, auctionID string) (View, error) {
	row, err := db.New(s.config.Pool).GetAuction(ctx, db.GetAuctionParams{TenantID: c.TenantID, ID: auctionID})
	if errors.Is(err, pgx.ErrNoRows) {
		return View{}, problem.Missing("auction")
	}
	if err != nil {
		return View{}, fmt.Errorf("get auction: %w", err)
	}
	return view(row), nil
}

// CreateAuction starts an auction, which holds one unit of the product, and
// enqueues the job that ends it.
func (s *Service) CreateAuction(ctx context.Context, c tenancy.Caller, in Input) (View, error) {
	var row db.Auction
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		var err error
		if err = s.config.Streams.CheckStreamTx(ctx, tx, c.TenantID, in.StreamID); err != nil {
			return err
		}
		product, err := s.holdUnit(ctx, tx, c.TenantID, in.StreamID, in.ProductID)
		if err != nil {
			return err
		}
		row, err = q.CreateAuction(ctx, db.CreateAuctionParams{
			ID: id.New(id.Auction), TenantID: c.TenantID, ProductID: in.ProductID, StreamID: in.StreamID,
			StartingBidCents: in.StartingBidCents, ReservePriceCents: in.ReservePriceCents, BidIncrementCents: in.BidIncrementCents,
			Currency: product.Currency, AntiSnipeSec: int32(in.AntiSnipeSec), DurationSec: int32(in.DurationSec),
		})
		if err != nil {
			return fmt.Errorf("create auction: %w", err)
		}
		if err := s.settleAt(ctx, tx, row); err != nil {
			return err
		}
		s.publishAuction(ctx, tx, realtime.AuctionStarted, View{Auction: row})
		return audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "auction.create", Entity: "auction", EntityID: row.ID,
			After: map[string]any{
				"productId": row.ProductID, "startingBidCents": row.StartingBidCents, "reservePriceCents": row.ReservePriceCents, "endsAt": row.EndsAt,
			},
		})
	})
	return View{Auction: row}, err
}

// CancelAuction cancels an auction without a bid and releases its unit. It has no
// effect on a cancelled auction.
func (s *Service) CancelAuction(ctx context.Context, c tenancy.Caller, auctionID string) (View, error) {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		a, err := lock(ctx, tx, auctionKey{c.TenantID, auctionID})
		if err != nil || a.Status == Cancelled {
			return err
		}
		if err := checkCancel(a); err != nil {
			return err
		}
		if err := s.releaseUnit(ctx, tx, a); err != nil {
			return err
		}
		if err := s.closeAs(ctx, tx, a, ending{status: Cancelled}); err != nil {
			return err
		}
		return audit.WriteTx(ctx, db.New(tx), s.config.Now(), audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "auction.cancel", Entity: "auction", EntityID: a.ID,
			Before: map[string]any{"status": a.Status}, After: map[string]any{"status": Cancelled},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetAuction(ctx, c, auctionID)
}

// settleAt adds the job that ends the auction.
func (s *Service) settleAt(ctx context.Context, tx pgx.Tx, a db.Auction) error {
	job := river.InsertManyParams{Args: SettleArgs{TenantID: a.TenantID, AuctionID: a.ID}}
	if a.EndsAt.Sub(a.CreatedAt) > queue.SchedulerInterval {
		job.InsertOpts = &river.InsertOpts{ScheduledAt: a.EndsAt}
	}
	if _, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{job}); err != nil {
		return fmt.Errorf("insert settling job: %w", err)
	}
	return nil
}

// holdUnit holds one unit of a product that is for sale, and returns the product
// afterwards. The stream's viewers receive the number of free units.
func (s *Service) holdUnit(ctx context.Context, tx pgx.Tx, tenantID, streamID, productID string) (db.Product, error) {
	products, err := catalog.LockTx(ctx, tx, tenantID, []string{productID})
	if err != nil {
		return db.Product{}, err
	}
	p := products[productID]
	if !p.Active {
		return p, problem.Conflicting("the product is archived")
	}
	if err := catalog.CheckFree(p, 1); err != nil {
		return p, err
	}
	p.Held++
	s.publishStock(ctx, tx, streamID, p)
	return p, catalog.HoldTx(ctx, tx, tenantID, unit(productID))
}

// releaseUnit releases the unit that the auction held. The stream's viewers receive
// the number of free units.
func (s *Service) releaseUnit(ctx context.Context, tx pgx.Tx, a state) error {
	products, err := catalog.LockTx(ctx, tx, a.TenantID, []string{a.ProductID})
	if err != nil {
		return err
	}
	p := products[a.ProductID]
	p.Held--
	s.publishStock(ctx, tx, a.StreamID, p)
	return catalog.ReleaseTx(ctx, tx, a.TenantID, unit(a.ProductID))
}

func unit(productID string) []catalog.Line {
	return []catalog.Line{{ProductID: productID, Quantity: 1}}
}

// lock locks an auction of the tenant until the transaction ends.
func lock(ctx context.Context, tx pgx.Tx, l auctionKey) (state, error) {
	a, err := db.New(tx).LockAuction(ctx, db.LockAuctionParams{TenantID: l.tenantID, ID: l.auctionID})
	if errors.Is(err, pgx.ErrNoRows) {
		return a, problem.Missing("auction")
	}
	if err != nil {
		return a, fmt.Errorf("lock auction: %w", err)
	}
	return a, nil
}

// ending is how an auction ends.
type ending struct {
	status string
	// top is the top bid; nil if there is none.
	top *db.Bid
	// orderID is the order of the winner, whose bid is top; nil without a winner.
	orderID *string
}

// closeAs ends a locked auction. The stream's viewers receive its end.
func (s *Service) closeAs(ctx context.Context, tx pgx.Tx, a state, e ending) error {
	p := db.CloseAuctionParams{TenantID: a.TenantID, ID: a.ID, Status: e.status, OrderID: e.orderID, Now: a.Now}
	if e.orderID != nil {
		p.WinningBidID = &e.top.ID
	}
	if err := db.New(tx).CloseAuction(ctx, p); err != nil {
		return fmt.Errorf("close auction: %w", err)
	}
	s.publishAuction(ctx, tx, realtime.AuctionEnded, viewOf(a, e))
	return nil
}

func view(r db.GetAuctionRow) View {
	v := View{Auction: r.Auction}
	if r.BidAt != nil {
		v.Top = &db.Bid{
			ID: *r.Auction.TopBidID, TenantID: r.Auction.TenantID, AuctionID: r.Auction.ID, AmountCents: *r.Auction.TopBidCents,
			BidderExternalID: *r.BidderExternalID, BidderName: *r.BidderName, CreatedAt: *r.BidAt,
		}
	}
	return v
}
