package catalog

import (
	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Free is the number of units that can be bought: stock minus held units, at least
// 0. counted is false if stock is -1.
func Free(p db.Product) (n int64, counted bool) {
	if p.Stock < 0 {
		return 0, false
	}
	return max(p.Stock-p.Held, 0), true
}

// CheckFree refuses a quantity above the free units: insufficient_stock, "only N
// of X remaining", where X is the quantity.
func CheckFree(p db.Product, quantity int64) error {
	if n, counted := Free(p); counted && quantity > n {
		return problem.New(problem.Invalid, "insufficient_stock", "only %d of %d remaining", n, quantity)
	}
	return nil
}

// crossed reports which thresholds the stock reached or passed on its way from
// before to p's. A stock of -1 before (not counted) is above every threshold. For
// a new product (before is nil) both are false.
func crossed(before *int64, p db.Product) (low, depleted bool) {
	if before == nil || p.Stock < 0 {
		return false, false
	}
	was := func(mark int64) bool { return *before < 0 || *before > mark }
	return p.Stock <= p.LowStockAt && was(p.LowStockAt), p.Stock == 0 && was(0)
}
