package catalog_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
)

const pricesPath = "/v1/prices"

func TestAPriceIsMadeOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.owner.Product(t, map[string]any{"currency": "eur"})
	args := catalog.CachePriceArgs{TenantID: r.owner.TenantID, ProductID: p.ID, AccountID: r.owner.Seller(t)}
	for range 2 {
		require.NoError(t, r.Catalog.CachePrice(t.Context(), args))
	}
	require.NotNil(t, r.row(t, p).ProcessorPriceID)
	require.Regexp(t, "^price_", *r.row(t, p).ProcessorPriceID)
	require.Equal(t, 1, r.Sandbox.Count("POST", pricesPath))

	foreign := args
	foreign.TenantID = r.Register(t).TenantID
	require.True(t, problem.Is(r.Catalog.CachePrice(t.Context(), foreign), "not_found"))
}

// TestAPriceOfAChangedProductIsNotStored changes the product while the processor
// creates its price.
func TestAPriceOfAChangedProductIsNotStored(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	account := r.owner.Seller(t)
	for field, c := range map[string]struct {
		value any
		keeps bool
	}{"name": {"Cup", false}, "priceCents": {1, false}, "currency": {"eur", false}, "stock": {1, true}} {
		p := r.owner.Product(t, nil)
		arrived, resume := r.Sandbox.Block(pricesPath)
		done := make(chan error, 1)
		go func() {
			done <- r.Catalog.CachePrice(t.Context(), catalog.CachePriceArgs{TenantID: r.owner.TenantID, ProductID: p.ID, AccountID: account})
		}()
		<-arrived
		r.owner.Product(t, map[string]any{"externalId": p.ExternalID, field: c.value})
		resume()
		require.NoError(t, <-done)
		require.Equal(t, c.keeps, r.row(t, p).ProcessorPriceID != nil, field)
	}
}

func TestARefusedPriceIsNotRetried(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	p := r.owner.Product(t, nil)
	args := catalog.CachePriceArgs{TenantID: r.owner.TenantID, ProductID: p.ID, AccountID: r.owner.Seller(t)}
	unknown := args
	unknown.AccountID = "acct_unknown"
	require.True(t, problem.Is(r.Catalog.CachePrice(t.Context(), unknown), "conflict"))
	r.Sandbox.Down(true)
	require.True(t, problem.Is(r.Catalog.CachePrice(t.Context(), args), "processor_unavailable"), "that is tried again")
	r.Sandbox.Down(false)
	require.NoError(t, r.Catalog.CachePrice(t.Context(), args))
	require.NotNil(t, r.row(t, p).ProcessorPriceID)
}
