package walk_test

import (
	"encoding/base64"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// fills replaces the text of the field with a label, and leaves the field.
func (c *console) fills(label, text string) {
	c.t.Helper()
	field := `document.querySelector(` + quoted(`[aria-label="`+label+`"]`) + `)`
	browsertest.WaitFor(c.t, c.tab, `!!`+field)
	c.replaces(field, text)
	c.evaluates(`document.activeElement.blur()`)
}

// uploads gives a file input a file with these bytes.
func (c *console) uploads(selector, name, text string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!!document.querySelector(`+quoted(selector)+`)`)
	c.evaluates(`{
		const files = new DataTransfer();
		const bytes = Uint8Array.from(atob(` + quoted(base64.StdEncoding.EncodeToString([]byte(text))) + `), (byte) => byte.charCodeAt(0));
		files.items.add(new File([bytes], ` + quoted(name) + `, { type: "text/csv" }));
		const input = document.querySelector(` + quoted(selector) + `);
		input.files = files.files;
		input.dispatchEvent(new Event("change", { bubbles: true }));
	}`)
}

func get[T any](t *testing.T, caller *apitest.Caller, path string) T {
	t.Helper()
	var v T
	caller.Call(t, "GET", path, nil).Into(t, http.StatusOK, &v)

	return v
}

func productsBySKU(t *testing.T, caller *apitest.Caller) map[string]api.Product {
	t.Helper()
	products := map[string]api.Product{}
	for _, p := range get[[]api.Product](t, caller, "/v1/me/catalog/products") {
		products[p.ExternalID] = p
	}

	return products
}

func TestSellerKeepsTheCatalog(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)

	c.signsIn(owner, "/catalog")
	c.sees("No product is listed")
	c.looks("catalog-empty")
	c.clicks("New product")
	c.types("name", "Blue mug <i>")
	c.types("externalId", "MUG-BLUE")
	c.types("priceCents", "19.999")
	c.clicks("submit")
	c.sees("Enter an amount such as 19.99")
	c.types("priceCents", "19.99")
	c.types("stock", "40")
	c.looks("catalog-new")
	c.clicks("submit")
	c.sees("Blue mug <i>")
	require.EqualValues(t, 1999, productsBySKU(t, owner)["MUG-BLUE"].PriceCents)

	c.fills("Price: Blue mug <i>", "24,50")
	apitest.Until(t, "the price is changed", func() bool { return productsBySKU(t, owner)["MUG-BLUE"].PriceCents == 2450 })
	c.fills("Stock: Blue mug <i>", "many")
	c.sees("Enter a whole number, or -1")
	c.fills("Stock: Blue mug <i>", "7")
	apitest.Until(t, "the stock is changed", func() bool { return productsBySKU(t, owner)["MUG-BLUE"].Stock == 7 })

	c.clicks("Import CSV")
	c.uploads("input[type=file]", "products.csv", "SKU;Name;Price;Stock;Currency\r\nMUG-RED;\"Red; mug\";9,50;3;EUR\r\n"+
		"VASE;Vase;cheap;1;EUR\r\nSCARF;Scarf;30;2;XXQ\r\nMUG-BLUE;Blue mug <i>;25;8;USD\r\n")
	c.sees("Enter an amount such as 19.99")
	c.clicks("import")
	c.sees("2 imported, 2 refused")
	c.looks("catalog-import")
	products := productsBySKU(t, owner)
	require.Len(t, products, 2)
	require.Equal(t, "Red; mug", products["MUG-RED"].Name)
	require.EqualValues(t, 950, products["MUG-RED"].PriceCents)
	require.EqualValues(t, 2500, products["MUG-BLUE"].PriceCents)
	c.clicks("Close")

	c.clicks("Archive")
	c.clicks("confirm")
	c.sees("Put on sale again")
	c.looks("catalog")
	c.complains(refusedFirst, "400")
}

func TestSellerRefundsAnOrder(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	stream := owner.Stream(t, nil)
	order := owner.Sale(t, stream.ID, owner.Product(t, nil).ID)
	owner.Checkout(t, "", owner.Product(t, map[string]any{"name": "Red mug", "priceCents": 1250}).ID)

	c.signsIn(owner, "/orders")
	c.sees("bo@buyer.example")
	c.looks("orders")
	c.opens("/console/orders?status=PAID")
	c.sees("1–1 of 1")
	c.clicks("bo@buyer.example")
	c.sees("Timeline")
	c.clicks("Mark as handed over")
	c.clicks("confirm")
	c.sees("Handed over")
	apitest.Until(t, "the order is fulfilled", func() bool {
		return get[api.Order](t, owner, "/v1/me/commerce/orders/"+order.ID).Status == api.OrderStatusFULFILLED
	})
	c.clicks("Refund")
	c.types("amount", "20")
	c.sees("Enter an amount from 0.01 to US$19.99")
	c.types("amount", "5.00")
	c.types("reason", "Arrived broken")
	c.sees("Refund US$5.00")
	c.looks("order-refund")
	c.clicks("confirm")
	c.sees("Refund of US$5.00: done")
	c.sees("Partly refunded")
	c.looks("order")
	refunded := get[api.Order](t, owner, "/v1/me/commerce/orders/"+order.ID)
	require.EqualValues(t, 500, refunded.RefundedCents)
	require.Len(t, refunded.Refunds, 1)
	c.clicks("Refund")
	c.sees("Refund US$14.99")
	c.clicks("confirm")
	c.sees("Refund of US$14.99: done")
	require.Equal(t, api.OrderStatusREFUNDED, get[api.Order](t, owner, "/v1/me/commerce/orders/"+order.ID).Status)
	c.complains(refusedFirst)
}

func TestSellerCreatesADiscount(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)

	c.signsIn(owner, "/discounts")
	c.sees("Es gibt noch keine Rabattcodes")
	c.clicks("Neuer Rabatt")
	c.types("code", "LAUNCH20")
	c.types("off", "20")
	c.types("maxRedemptions", "100")
	c.looks("discount-new")
	c.clicks("submit")
	c.sees("LAUNCH20")
	c.looks("discounts")
	made := get[[]api.Discount](t, owner, "/v1/me/commerce/discounts")
	require.Len(t, made, 1)
	require.Equal(t, 20, made[0].PercentOff.MustGet())
	c.complains(refusedFirst)
}
