package shop

import (
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
	"showfloor/internal/commerce/discount"
	"showfloor/internal/tenancy"
)

// LineProblem is why a line of a cart can't be bought now, as in the API; empty if it can.
type LineProblem string

// The problems, in the order in which they are checked.
const (
	Archived          LineProblem = "archived"
	SoldOut           LineProblem = "sold_out"
	InsufficientStock LineProblem = "insufficient_stock"
	MixedCurrencies   LineProblem = "mixed_currencies"
)

const (
	// maxUnpaid is the number of unpaid orders that a participant may have in a show at the same time. Each holds its units.
	maxUnpaid = 3
	// maxGuestQuantity is the number of units of one product that a guest of a replay may buy at once.
	maxGuestQuantity = 10
)

// maxQuantity is the maximum number of units of one line, as in the API.
const maxQuantity = 10_000

// merge sums the lines of each product and keeps the order of their first lines.
func merge(lines []catalog.Line) ([]catalog.Line, error) {
	at := make(map[string]int, len(lines))
	merged := make([]catalog.Line, 0, len(lines))
	for _, l := range lines {
		i, known := at[l.ProductID]
		if !known {
			at[l.ProductID] = len(merged)
			merged = append(merged, l)
			continue
		}
		if merged[i].Quantity += l.Quantity; merged[i].Quantity > maxQuantity {
			return nil, problem.BadField("items", "at most 10000 units of one product")
		}
	}
	return merged, nil
}

// checkKnown refuses a line whose product isn't the tenant's.
func checkKnown(lines []catalog.Line, products map[string]db.Product) error {
	for _, l := range lines {
		if _, known := products[l.ProductID]; !known {
			return problem.Missing("product")
		}
	}
	return nil
}

// price computes the lines and sums of a cart; products has all of its products. The currency is that of the first line that
// is on sale.
func price(lines []catalog.Line, products map[string]db.Product) Cart {
	cart := Cart{Lines: make([]CartLine, len(lines))}
	for i, l := range lines {
		p := products[l.ProductID]
		line := CartLine{Product: p, Quantity: l.Quantity}
		if line.Problem = lineProblem(p, l.Quantity, cart.Currency); line.Problem == "" {
			cart.Currency, line.Cents = p.Currency, p.PriceCents*l.Quantity
			cart.SubtotalCents += line.Cents
		}
		cart.Lines[i] = line
	}
	if cart.Currency == "" && len(lines) > 0 {
		cart.Currency = products[lines[0].ProductID].Currency
	}
	cart.TotalCents = cart.SubtotalCents
	return cart
}

// lineProblem checks a line; currency is that of the lines before, "" without one.
func lineProblem(p db.Product, quantity int64, currency string) LineProblem {
	free, counted := catalog.Free(p)
	switch {
	case !p.Active:
		return Archived
	case counted && free == 0:
		return SoldOut
	case counted && free < quantity:
		return InsufficientStock
	case currency != "" && p.Currency != currency:
		return MixedCurrencies
	}
	return ""
}

// checkGuest refuses a large order of a guest of a replay: anyone can be one, and an unpaid order keeps its units from others.
func checkGuest(c tenancy.Caller, lines []catalog.Line) error {
	if !id.Recording.Matches(c.Participant.RoomID) {
		return nil
	}
	merged, err := merge(lines)
	if err != nil {
		return err
	}
	for _, l := range merged {
		if l.Quantity > maxGuestQuantity {
			return problem.BadField("items", "at most 10 units of one product with a guest's token")
		}
	}
	return nil
}

// shownRefusal is a refusal as participants see it. It doesn't tell them which codes exist that they can't use yet, or elsewhere.
func shownRefusal(r discount.Refusal) discount.Refusal {
	switch r {
	case discount.Inactive, discount.NotStarted, discount.OtherStream:
		return discount.Unknown
	default:
		return r
	}
}
