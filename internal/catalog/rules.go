package catalog

import (
	"showfloor/gen/db"
	"showfloor/internal/problem"
)

// Free is how many units can still be bought: what is in stock and held by
// nobody, never below 0. It isn't counted when stock is -1.
func Free(p db.Product) (n int64, counted bool) {
	if p.Stock < 0 {
		return 0, false
	}
	return max(p.Stock-p.Held, 0), true
}

// CheckFree refuses more units than are free: insufficient_stock, "only N of X
// remaining", where X were asked for.
func CheckFree(p db.Product, quantity int64) error {
	if n, counted := Free(p); counted && quantity > n {
		return problem.New(problem.Invalid, "insufficient_stock", "only %d of %d remaining", n, quantity)
	}
	return nil
}

// crossed tells which marks the stock passed on its way from before to p's. A
// number that wasn't counted is above every mark, and a product that is new has
// no number before (nil): what it starts with is above none.
func crossed(before *int64, p db.Product) (low, depleted bool) {
	if before == nil || p.Stock < 0 {
		return false, false
	}
	was := func(mark int64) bool { return *before < 0 || *before > mark }
	return p.Stock <= p.LowStockAt && was(p.LowStockAt), p.Stock == 0 && was(0)
}
