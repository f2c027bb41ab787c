package jobs

import (
	"context"

	"github.com/riverqueue/river"

	"showfloor/internal/commerce/catalog"
)

// cachePrice creates the processor's price for a product.
type cachePrice struct {
	river.WorkerDefaults[catalog.CachePriceArgs]
	products *catalog.Service
}

// Work creates the price and stores its id.
func (w *cachePrice) Work(ctx context.Context, job *river.Job[catalog.CachePriceArgs]) error {
	return outcome(w.products.CachePrice(ctx, job.Args))
}
