package catalog_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
)

func TestLockIsTheTenantsOwn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.owner.Product(t, nil), r.owner.Product(t, nil)
	foreign := r.Register(t).Product(t, nil)
	lock := func(ids ...string) (n int, err error) {
		err = r.tx(t, func(tx pgx.Tx) error {
			found, err := catalog.LockTx(t.Context(), tx, r.owner.TenantID, ids)
			n = len(found)
			return err
		})
		return n, err
	}
	n, err := lock(b.ID, a.ID, b.ID)
	require.NoError(t, err)
	require.Equal(t, 2, n)
	for _, id := range []string{foreign.ID, "prod_01m18qg1mhf2bsz1fk6m8v4jxe", ""} {
		_, err := lock(a.ID, id)
		require.True(t, problem.Is(err, "not_found"))
		require.EqualError(t, err, "product not found")
	}
}

func TestUnitsAreHeldReleasedAndTaken(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	a, b := r.owner.Product(t, map[string]any{"stock": 9, "lowStockAt": 5}), r.owner.Product(t, map[string]any{"stock": -1})
	lines := func(na, nb int64) []catalog.Line {
		return []catalog.Line{{ProductID: b.ID, Quantity: nb}, {ProductID: a.ID, Quantity: na}}
	}
	is := func(stockA, heldA, stockB, heldB int64) {
		t.Helper()
		rowA, rowB := r.row(t, a), r.row(t, b)
		require.Equal(t, []int64{stockA, heldA, stockB, heldB}, []int64{rowA.Stock, rowA.Held, rowB.Stock, rowB.Held})
	}
	step := func(f func(tx pgx.Tx) error) {
		t.Helper()
		require.NoError(t, r.tx(t, func(tx pgx.Tx) error {
			if _, err := catalog.LockTx(t.Context(), tx, r.owner.TenantID, []string{b.ID, a.ID}); err != nil {
				return err
			}
			return f(tx)
		}))
	}
	step(func(tx pgx.Tx) error { return catalog.HoldTx(t.Context(), tx, r.owner.TenantID, lines(4, 2)) })
	is(9, 4, -1, 2)
	step(func(tx pgx.Tx) error { return catalog.ReleaseTx(t.Context(), tx, r.owner.TenantID, lines(1, 1)) })
	is(9, 3, -1, 1)
	step(func(tx pgx.Tx) error {
		return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_1", lines(3, 1), true)
	})
	is(6, 0, -1, 0)
	require.Empty(t, r.inventoryEvents(t, a))
	step(func(tx pgx.Tx) error {
		return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_2", lines(1, 1), false)
	})
	is(5, 0, -1, 0)
	require.Equal(t, []inventoryEvent{{"inventory.low", 5, "ord_2"}}, r.inventoryEvents(t, a))
	step(func(tx pgx.Tx) error {
		return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_3", lines(8, 1), false)
	})
	is(0, 0, -1, 0)
	require.Equal(t, []inventoryEvent{{"inventory.low", 5, "ord_2"}, {"inventory.depleted", 0, "ord_3"}}, r.inventoryEvents(t, a))
	step(func(tx pgx.Tx) error {
		return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_4", lines(1, 1), false)
	})
	require.Len(t, r.inventoryEvents(t, a), 2, "it was empty already")
	require.Empty(t, r.inventoryEvents(t, b), "an uncounted stock never runs out")

	both := r.owner.Product(t, map[string]any{"stock": 6, "lowStockAt": 5})
	require.NoError(t, r.tx(t, func(tx pgx.Tx) error {
		return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_5", []catalog.Line{{ProductID: both.ID, Quantity: 6}}, false)
	}))
	require.Equal(t, []inventoryEvent{{"inventory.low", 0, "ord_5"}, {"inventory.depleted", 0, "ord_5"}}, r.inventoryEvents(t, both))
}

func TestAnotherTenantsProductsCannotBeHeld(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	foreign := r.Register(t).Product(t, nil)
	lines := []catalog.Line{{ProductID: foreign.ID, Quantity: 1}}
	for _, f := range []func(tx pgx.Tx) error{
		func(tx pgx.Tx) error { return catalog.HoldTx(t.Context(), tx, r.owner.TenantID, lines) },
		func(tx pgx.Tx) error { return catalog.ReleaseTx(t.Context(), tx, r.owner.TenantID, lines) },
		func(tx pgx.Tx) error {
			return r.Catalog.TakeTx(t.Context(), tx, r.owner.TenantID, "ord_1", lines, false)
		},
	} {
		require.Error(t, r.tx(t, f))
	}
	require.NoError(t, r.tx(t, func(tx pgx.Tx) error { return catalog.HoldTx(t.Context(), tx, r.owner.TenantID, nil) }))
}
