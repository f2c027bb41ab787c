package auction_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/auction"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// rig is a tenant on two servers that share only a database.
type rig struct {
	s, other *apitest.Server
	owner    *apitest.Caller
	caller   tenancy.Caller
}

func newRig(t *testing.T) *rig {
	t.Helper()
	return newRigOn(t, dbtest.Shared(t))
}

func newRigOn(t *testing.T, pool *pgxpool.Pool) *rig {
	t.Helper()
	r := &rig{s: apitest.New(t, apitest.Options{Pool: pool}), other: apitest.New(t, apitest.Options{Pool: pool})}
	r.owner = r.s.Register(t)
	r.caller = tenancy.Caller{TenantID: r.owner.TenantID, UserID: r.owner.UserID}
	return r
}

// service is the service of one of the two servers.
func (r *rig) service(n int) *auction.Service {
	if n%2 == 0 {
		return r.s.Auctions
	}
	return r.other.Auctions
}

// bid places a bid through server n modulo 2.
func (r *rig) bid(t *testing.T, n int, auctionID string, cents int64) (auction.PlacedBid, error) {
	t.Helper()
	return r.service(n).PlaceBid(t.Context(), r.caller, auctionID, auction.BidInput{AmountCents: cents, BidderExternalID: "user-1", BidderName: "Bo"})
}

// refused requires a problem with this code.
func refused(t *testing.T, err error, code string) {
	t.Helper()
	require.True(t, problem.Is(err, code), "%v", err)
}

// endsIn sets the auction's end to d from now, by the database's clock.
func (r *rig) endsIn(t *testing.T, auctionID string, d time.Duration) {
	t.Helper()
	_, err := r.s.Pool.Exec(t.Context(), "UPDATE auctions SET ends_at = clock_timestamp() + $2::interval WHERE id = $1", auctionID, d)
	require.NoError(t, err)
}

// row is the auction's row in the database.
func (r *rig) row(t *testing.T, auctionID string) db.Auction {
	t.Helper()
	row, err := db.New(r.s.Pool).GetAuction(t.Context(), db.GetAuctionParams{TenantID: r.owner.TenantID, ID: auctionID})
	require.NoError(t, err)
	return row.Auction
}

// held is the number of held units of the auction's product.
func (r *rig) held(t *testing.T, a api.Auction) (n int) {
	t.Helper()
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT held FROM products WHERE id = $1", a.ProductID).Scan(&n))
	return n
}

// bids lists the amounts of the auction's bids in cents, in the order of their
// commits. Their ids may have another order: a bid keeps its id when its shared
// transaction fails and it is tried again by itself.
func (r *rig) bids(t *testing.T, auctionID string) (cents []int64) {
	t.Helper()
	rows, err := r.s.Pool.Query(t.Context(), "SELECT amount_cents FROM bids WHERE auction_id = $1 ORDER BY created_at, id", auctionID)
	require.NoError(t, err)
	cents, err = pgx.CollectRows(rows, pgx.RowTo[int64])
	require.NoError(t, err)
	return cents
}

// happened is an event of an auction.
type happened struct {
	Event string
	Data  map[string]any
}

// events returns the auction's events, in order.
func (r *rig) events(t *testing.T, auctionID string) (list []happened) {
	t.Helper()
	all, err := db.New(r.s.Pool).ListEvents(t.Context(), r.owner.TenantID)
	require.NoError(t, err)
	for _, e := range all {
		if e.Subject == auctionID {
			var h happened
			require.NoError(t, json.Unmarshal(e.Payload, &h))
			list = append(list, h)
		}
	}
	return list
}

// orders is the number of the auction's orders.
func (r *rig) orders(t *testing.T, auctionID string) (n int) {
	t.Helper()
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM orders WHERE auction_id = $1", auctionID).Scan(&n))
	return n
}

// stop locks the auction's row until release is called. tx holds the lock and may
// change the row.
func (r *rig) stop(t *testing.T, auctionID string) (tx pgx.Tx, release func()) { //nolint:ireturn // as pgx has it
	t.Helper()
	tx, err := r.s.Pool.Begin(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) })
	_, err = tx.Exec(t.Context(), "SELECT FROM auctions WHERE id = $1 FOR UPDATE", auctionID)
	require.NoError(t, err)
	return tx, func() { require.NoError(t, tx.Commit(t.Context())) }
}

// waiters returns once n transactions wait for the auction's row, which tx has
// locked.
func (r *rig) waiters(t *testing.T, tx pgx.Tx, n int) {
	t.Helper()
	apitest.Until(t, "transactions at the lock", func() bool {
		var waiting int
		err := r.s.Pool.QueryRow(t.Context(), `WITH RECURSIVE behind AS (
			SELECT pid FROM pg_stat_activity WHERE $1 = ANY (pg_blocking_pids(pid))
			UNION SELECT s.pid FROM pg_stat_activity s, behind b WHERE b.pid = ANY (pg_blocking_pids(s.pid)))
			SELECT count(*) FROM behind`, tx.Conn().PgConn().PID()).Scan(&waiting)
		require.NoError(t, err)
		return waiting >= n
	})
}

// pass returns once the auction's end has passed by the database's clock, ignoring
// uncommitted changes.
func (r *rig) pass(t *testing.T, auctionID string) {
	t.Helper()
	apitest.Until(t, "the end", func() (past bool) {
		require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT clock_timestamp() >= ends_at FROM auctions WHERE id = $1", auctionID).Scan(&past))
		return past
	})
}
