package catalog

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/queue"
	"showfloor/internal/commerce/processor"
)

// CachePriceArgs is the job that creates the processor's price for a product after
// its first sale, on the seller's account.
type CachePriceArgs struct {
	TenantID  string `json:"tenantId"`
	ProductID string `json:"productId"`
	AccountID string `json:"accountId"`
}

// Kind is the job's name.
func (CachePriceArgs) Kind() string { return "catalog_cache_price" }

// InsertOpts prevents several unfinished jobs for a product that sells fast.
// Finished jobs don't count, because the product may have changed since.
func (CachePriceArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: processor.Queue, UniqueOpts: queue.Unfinished()}
}

// CachePrice creates the processor's price for a product that has none, and stores
// its id. If the product changes meanwhile, the id isn't stored, and the next sale
// requests another price. The call to the processor is outside of any transaction;
// the row is changed after it.
func (s *Service) CachePrice(ctx context.Context, a CachePriceArgs) error {
	q := db.New(s.config.Pool)
	p, err := getProduct(ctx, q, a.TenantID, a.ProductID)
	if err != nil || p.ProcessorPriceID != nil {
		return err
	}
	priceID, err := s.config.Processor.CreatePrice(ctx, processor.NewPrice{
		AccountID: a.AccountID, ProductID: p.ID, TenantID: p.TenantID, Name: p.Name,
		UnitCents: p.PriceCents, Currency: strings.ToLower(p.Currency),
	})
	if refusal, refused := errors.AsType[*processor.Refusal](err); refused {
		// Sales work without the price.
		return problem.Conflicting("no price for %s: %s", p.ID, refusal.Error())
	}
	if err != nil {
		return err
	}
	err = q.SetProcessorPrice(ctx, db.SetProcessorPriceParams{
		TenantID: p.TenantID, ID: p.ID, Name: p.Name, PriceCents: p.PriceCents, Currency: p.Currency,
		ProcessorPriceID: priceID, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("store price: %w", err)
	}
	return nil
}

// ForgetPrices deletes the stored processor prices of products. The next sale of
// each creates another one.
func (s *Service) ForgetPrices(ctx context.Context, tenantID string, productIDs []string) error {
	if err := db.New(s.config.Pool).ForgetPrices(ctx, db.ForgetPricesParams{TenantID: tenantID, Ids: productIDs}); err != nil {
		return fmt.Errorf("forget prices: %w", err)
	}
	return nil
}
