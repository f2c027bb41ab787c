package walk_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

// chooses takes an option of the select with a label.
func (c *console) chooses(label, option string) {
	c.t.Helper()
	browsertest.WaitFor(c.t, c.tab, `!!`+labelled(label))
	c.evaluates(labelled(label) + `.click()`)
	c.takes(option)
}

func TestSellerSellsInYen(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)

	c.signsIn(owner, "/catalog")
	c.clicks("New product")
	c.types("name", "Tea bowl")
	c.types("externalId", "BOWL")
	c.types("currency", "JPY")
	c.types("priceCents", "500.5")
	c.types("lowStockAt", "-1")
	c.clicks("submit")
	c.sees("Enter an amount such as 1999")
	c.sees("Enter a whole number from 0")
	c.looks("catalog-yen")
	c.types("priceCents", "500")
	c.types("lowStockAt", "2")
	c.clicks("submit")
	apitest.Until(t, "the product is created", func() bool { return productsBySKU(t, owner)["BOWL"].PriceCents == 500 })
	c.fills("Price: Tea bowl", "650")
	apitest.Until(t, "the price is changed", func() bool { return productsBySKU(t, owner)["BOWL"].PriceCents == 650 })

	order := owner.Sale(t, "", productsBySKU(t, owner)["BOWL"].ID)
	c.opens("/console/orders/" + order.ID)
	c.sees("JP¥650")
	c.clicks("Refund")
	c.types("amount", "0.5")
	c.sees("Enter an amount from 1 to JP¥650")
	c.types("amount", "200")
	c.clicks("confirm")
	c.sees("Refund of JP¥200: done")
	require.EqualValues(t, 200, get[api.Order](t, owner, "/v1/me/commerce/orders/"+order.ID).RefundedCents)
	c.looks("order-yen")
	c.complains(refusedFirst)
}

func TestSellerEditsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Product(t, map[string]any{"externalId": "MUG", "stock": 40})

	c.signsIn(owner, "/catalog")
	c.clicks("Edit")
	c.types("description", "Stoneware")
	owner.Product(t, map[string]any{"externalId": "MUG", "stock": 3, "lowStockAt": 9})
	c.clicks("submit")
	apitest.Until(t, "the description is saved", func() bool { return productsBySKU(t, owner)["MUG"].Description == "Stoneware" })
	require.EqualValues(t, 3, productsBySKU(t, owner)["MUG"].Stock)
	require.EqualValues(t, 9, productsBySKU(t, owner)["MUG"].LowStockAt)
	c.complains(refusedFirst)
}

func TestSellerImportsFilesOfSpreadsheets(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	const name = "Mug;=1+1"
	owner.Product(t, map[string]any{"externalId": "MUG", "name": name, "currency": "jpy", "priceCents": 800})

	c.signsIn(owner, "/catalog")
	c.sees(name)
	browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](
		`URL.createObjectURL = (blob) => { void blob.text().then((text) => { window.exported = text; }); return "#"; }; undefined`))
	c.clicks("Export CSV")
	browsertest.WaitFor(t, c.tab, `!!window.exported`)
	exported := browsertest.Value[string](t, c.tab, `window.exported`)
	require.Contains(t, exported, `"Mug;'=1+1",MUG,800,JPY`)
	c.clicks("Import CSV")
	c.uploads("input[type=file]", "products.csv", exported)
	c.clicks("import")
	c.sees("1 imported, 0 refused")
	require.Equal(t, name, productsBySKU(t, owner)["MUG"].Name)

	// In windows-1252 0xfc is ü. The known product has no currency here, and keeps its yen.
	c.uploads("input[type=file]", "products.csv", "SKU;Name;Price;Description;Low stock from\r\n\r\n"+
		"GREEN;Gr\xfcn;9,50;\"two\r\nlines\";2\r\nBAD;Bad;1;;-1\r\nMUG;Mug;900;;\r\n")
	c.sees("Enter a whole number from 0")
	cells := browsertest.Value[string](t, c.tab,
		`[...document.querySelectorAll("[role=dialog] tbody tr")].map((r) => r.innerText.replace(/\s+/g, " ")).join("|")`)
	require.Equal(t, "5 BAD Enter a whole number from 0|3 GREEN –|6 MUG –", cells)
	c.clicks("import")
	c.sees("2 imported, 1 refused")
	products := productsBySKU(t, owner)
	require.Equal(t, "Grün", products["GREEN"].Name)
	require.EqualValues(t, 900, products["MUG"].PriceCents)
	require.Equal(t, "jpy", products["MUG"].Currency)
	c.complains(refusedFirst)
}

func TestSellerStopsAnImport(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	var file strings.Builder
	file.WriteString("SKU,Name,Price,Currency\n")
	for n := range 500 {
		fmt.Fprintf(&file, "SKU-%d,Mug %d,5,USD\n", n, n)
	}

	c.signsIn(owner, "/catalog")
	c.clicks("Import CSV")
	c.uploads("input[type=file]", "products.csv", file.String())
	c.sees("Import 500 rows")
	browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](`{
		const send = window.fetch;
		const held = new Promise((release) => { window.release = release; });
		window.fetch = async (request) => {
			if (request.url.endsWith("/catalog/sync")) { window.held = (window.held ?? 0) + 1; await held; }
			return send(request);
		};
	} undefined`))
	c.clicks("import")
	browsertest.WaitFor(t, c.tab, `window.held === 1`)
	c.clicks("Close")
	browsertest.WaitFor(t, c.tab, `!document.querySelector("[role=dialog]")`)
	browsertest.Run(t, c.tab, chromedp.Evaluate[chromedp.Void](`window.release(); undefined`))
	c.sees("The import is stopped: 200 of 500 rows are imported")
	require.Equal(t, 1, browsertest.Value[int](t, c.tab, `window.held`))
	c.complains(refusedFirst)
}

// TestDaysAreThoseOfTheServer looks at days from New York, where a day that begins at midnight UTC begins on the evening before.
func TestDaysAreThoseOfTheServer(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner, admin := c.s.Register(t), c.s.Admin(t, platform.SuperAdmin)
	_, err := chromedp.Call(c.tab, emulation.SetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: "America/New_York"})
	require.NoError(t, err)
	room := map[string]any{"name": "Stand-up", "type": "conference", "hostId": "ada"}
	owner.Call(t, "POST", "/v1/me/sessions", room).Is(t, http.StatusCreated)

	var report api.TenantGrowthReport
	admin.Call(t, "GET", "/v1/admin/reports/tenant-growth?days=7", nil).Into(t, http.StatusOK, &report)
	last := report.Days[len(report.Days)-1].StartsAt
	require.Zero(t, last.UTC().Hour())
	row := `document.querySelector(".mantine-datatable tbody tr td")?.innerText === ` + quoted(last.UTC().Format("2 Jan 2006"))
	c.enters("/reports?days=7", admin)
	browsertest.WaitFor(t, c.tab, row)
	c.looks("admin-reports-days")

	c.signsIn(owner, "/analytics?range=30")
	c.sees("Most viewers at one time")
	browsertest.WaitFor(t, c.tab, `/^\d+ \w+ \d{4}$/.test(document.querySelector(".mantine-datatable tbody tr td")?.innerText)`)
	shown := browsertest.Value[string](t, c.tab, `document.querySelector(".mantine-datatable tbody tr td").innerText`)
	require.Contains(t, []string{last.UTC().Format("2 Jan 2006"), time.Now().UTC().Format("2 Jan 2006")}, shown)
	c.looks("analytics-days")
	c.complains(refusedFirst)
}
