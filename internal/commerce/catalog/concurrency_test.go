package catalog_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/catalog"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// TestSyncsAndSalesDontMeetInADeadlock: eight goroutines sync the same products
// and new ones, each in its own order, while eight others sell. No unit is lost,
// and no transaction has to be repeated.
func TestSyncsAndSalesDontMeetInADeadlock(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	r := &rig{s, owner, tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}}
	owner.Webhook(t, "http://127.0.0.1:1/")
	const products, stock, rounds = 12, 10_000, 12
	ids := make([]string, products)
	for i := range ids {
		ids[i] = owner.Product(t, map[string]any{"externalId": fmt.Sprintf("SKU-%02d", i), "stock": stock}).ID
	}
	deadlocks := deadlocksOf(t, r)

	var wg sync.WaitGroup
	var mu sync.Mutex
	sold := map[string]int64{}
	errs := make(chan error, 16*rounds)
	for n := range 8 {
		wg.Go(func() {
			for round := range rounds {
				errs <- r.syncShuffled(t.Context(), n, round, products)
			}
		})
		wg.Go(func() {
			for range rounds {
				lines, err := r.sell(t.Context(), ids)
				errs <- err
				mu.Lock()
				for _, l := range lines {
					sold[l.ProductID] += l.Quantity
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		require.NoError(t, err)
	}
	require.Equal(t, deadlocks, deadlocksOf(t, r))
	rows, err := r.Catalog.ListProducts(t.Context(), r.caller, catalog.Filter{Query: "SKU-"}, nil, 500)
	require.NoError(t, err)
	require.Len(t, rows, products)
	for _, p := range rows {
		require.Zero(t, p.Held, p.ExternalID)
		require.Equal(t, stock-sold[p.ID], p.Stock, p.ExternalID)
	}
	fresh, err := r.Catalog.ListProducts(t.Context(), r.caller, catalog.Filter{Query: "NEW-"}, nil, 500)
	require.NoError(t, err)
	require.Len(t, fresh, rounds*products, "each new SKU once")
}

// syncShuffled writes all products, and some new ones of this round, in random
// order. It doesn't set the stock.
func (r *rig) syncShuffled(ctx context.Context, n, round, products int) error {
	var items []catalog.Input
	for i := range products {
		items = append(items,
			catalog.Input{ExternalID: fmt.Sprintf("SKU-%02d", i), Name: fmt.Sprintf("by %d in %d", n, round), PriceCents: int64(n)},
			catalog.Input{ExternalID: fmt.Sprintf("NEW-%02d-%02d", round, i), Name: "new", PriceCents: 1})
	}
	rand.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	upserted, err := r.Catalog.SyncCatalog(ctx, r.caller, items)
	if err == nil && upserted != len(items) {
		err = fmt.Errorf("%d products of %d", upserted, len(items))
	}
	return err
}

// sell holds some units, then sells or releases them.
func (r *rig) sell(ctx context.Context, ids []string) (sold []catalog.Line, err error) {
	some := rand.Perm(len(ids))[:3]
	var lines []catalog.Line
	var wanted []string
	for _, i := range some {
		lines, wanted = append(lines, catalog.Line{ProductID: ids[i], Quantity: rand.Int64N(3) + 1}), append(wanted, ids[i])
	}
	locked := func(f func(tx pgx.Tx) error) error {
		tx, err := r.Pool.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
		if _, err := catalog.LockTx(ctx, tx, r.caller.TenantID, wanted); err != nil {
			return err
		}
		if err := f(tx); err != nil {
			return err
		}
		return tx.Commit(ctx)
	}
	err = locked(func(tx pgx.Tx) error { return catalog.HoldTx(ctx, tx, r.caller.TenantID, lines) })
	if err != nil {
		return nil, err
	}
	if rand.N(4) == 0 {
		return nil, locked(func(tx pgx.Tx) error { return catalog.ReleaseTx(ctx, tx, r.caller.TenantID, lines) })
	}
	return lines, locked(func(tx pgx.Tx) error { return r.Catalog.TakeTx(ctx, tx, r.caller.TenantID, "ord_1", lines, true) })
}

// deadlocksOf counts the deadlocks that the server has resolved in this test's own
// database: repeated transactions would hide them.
func deadlocksOf(t *testing.T, r *rig) (n int) {
	t.Helper()
	_, err := r.Pool.Exec(t.Context(), "SELECT pg_stat_force_next_flush()")
	require.NoError(t, err)
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()").Scan(&n))
	return n
}

// TestANewSKUIsOneProduct: concurrent requests with one new SKU create one
// product.
func TestANewSKUIsOneProduct(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	var wg sync.WaitGroup
	ids := make(chan string, 16)
	for n := range cap(ids) {
		wg.Go(func() {
			p, err := r.Catalog.UpsertProduct(t.Context(), r.caller, catalog.Input{ExternalID: "MUG", Name: fmt.Sprintf("Mug %d", n), PriceCents: 1})
			if err != nil {
				t.Error(err)
			}
			ids <- p.ID
		})
	}
	wg.Wait()
	close(ids)
	first := <-ids
	for id := range ids {
		require.Equal(t, first, id)
	}
	rows, err := r.Catalog.ListProducts(t.Context(), r.caller, catalog.Filter{}, nil, 500)
	require.NoError(t, err)
	require.Len(t, rows, 1)
}
