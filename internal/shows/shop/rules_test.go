package shop

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/catalog"
)

func TestPriceOfACart(t *testing.T) {
	t.Parallel()
	products := map[string]db.Product{
		"mug":     {ID: "mug", Active: true, Stock: 5, Held: 2, PriceCents: 1000, Currency: "USD"},
		"cup":     {ID: "cup", Active: true, Stock: -1, PriceCents: 250, Currency: "USD"},
		"gone":    {ID: "gone", Stock: -1, PriceCents: 100, Currency: "USD"},
		"sold":    {ID: "sold", Active: true, Stock: 1, Held: 1, PriceCents: 100, Currency: "USD"},
		"foreign": {ID: "foreign", Active: true, Stock: -1, PriceCents: 100, Currency: "EUR"},
	}
	cart := price([]catalog.Line{{ProductID: "gone", Quantity: 1}, {ProductID: "mug", Quantity: 3}, {ProductID: "cup", Quantity: 2},
		{ProductID: "sold", Quantity: 1}, {ProductID: "foreign", Quantity: 1}}, products)
	require.Equal(t, "USD", cart.Currency)
	require.EqualValues(t, 3500, cart.SubtotalCents)
	require.EqualValues(t, 3500, cart.TotalCents)
	var problems []LineProblem
	var cents []int64
	for _, l := range cart.Lines {
		problems, cents = append(problems, l.Problem), append(cents, l.Cents)
	}
	require.Equal(t, []LineProblem{Archived, "", "", SoldOut, MixedCurrencies}, problems)
	require.Equal(t, []int64{0, 3000, 500, 0, 0}, cents)

	require.Equal(t, InsufficientStock, price([]catalog.Line{{ProductID: "mug", Quantity: 4}}, products).Lines[0].Problem)
	require.Equal(t, Cart{Lines: []CartLine{}}, price(nil, products))
}

func TestLinesOfOneProductAreAddedUp(t *testing.T) {
	t.Parallel()
	lines, err := merge([]catalog.Line{{ProductID: "mug", Quantity: 1}, {ProductID: "cup", Quantity: 2}, {ProductID: "mug", Quantity: 3}})
	require.NoError(t, err)
	require.Equal(t, []catalog.Line{{ProductID: "mug", Quantity: 4}, {ProductID: "cup", Quantity: 2}}, lines)
	_, err = merge([]catalog.Line{{ProductID: "mug", Quantity: 10_000}, {ProductID: "mug", Quantity: 1}})
	p, refused := problem.As(err)
	require.True(t, refused)
	require.Equal(t, "invalid_input", p.Code)
}
