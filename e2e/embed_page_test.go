package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	devtools "github.com/chromedp/cdproto/target"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/flowtest"
)

// shopSite is a shop's website on another host than the server's, so that the browser treats the frame as a third party.
type shopSite struct {
	origin string
	// token issues participant tokens at /token.
	token func() string
}

// newShopSite serves a page that embeds a show at /, one with the shop's own cart at /own, and tokens at /token.
func newShopSite(t *testing.T, s *server, streamID string) *shopSite {
	t.Helper()
	site := &shopSite{}
	page := func(attributes string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `<!doctype html><html lang=en><link rel=icon href=data:,><title>Shop</title><body style="margin:0"><h1>Our shop</h1>
				<script>
					globalThis.events = [];
					for (const type of ["product.click", "cart.add", "checkout", "order", "token.expiring", "closed", "failed"]) {
						document.addEventListener("showfloor:" + type, ({ detail }) => events.push({ type, ...detail }));
					}
				</script>
				<script src="%s/assets/embed.js" data-room="%s" data-token-url="/token" %s async></script><p>Below</p></html>`, s.url, streamID, attributes)
		}
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/{$}", page(""))
	mux.HandleFunc("/own", page(`data-cart="shop" data-height="700px"`))
	mux.HandleFunc("/token", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"token":%q}`, site.token())
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	site.origin = strings.Replace(server.URL, "127.0.0.1", "localhost", 1)

	return site
}

// newShopTab opens an empty tab of a size.
func newShopTab(t *testing.T, width, height int64) *customer {
	t.Helper()
	c := &customer{watcher{t, browsertest.New(t)}}
	browsertest.Look(t, c.tab, width, height, false)

	return c
}

// attach returns the tab or frame whose address begins with a text.
func (c *customer) attach(kind, address string) *customer {
	c.t.Helper()
	var found *devtools.Info
	until(c.t, kind+" "+address, func() bool {
		targets, err := chromedp.Targets(c.tab)
		require.NoError(c.t, err)
		for _, one := range targets {
			if one.Type == kind && strings.HasPrefix(one.URL, address) {
				found = one
			}
		}

		return found != nil
	})
	ctx, cancel := chromedp.NewContext(c.tab, chromedp.WithTargetID(found.TargetID))
	c.t.Cleanup(cancel)

	return &customer{watcher{c.t, ctx}}
}

// heard waits until the shop's page has received an event that fulfils a condition on `one`.
func (c *customer) heard(condition string) {
	c.t.Helper()
	c.waits(fmt.Sprintf(`events.some((one) => %s)`, condition))
}

// TestAShopEmbedsAShow: a shop on another host shows a show in a frame with one script. Its customer pays in a window that leads back
// to the shop. Another page has the shop's own cart, and a page whose host isn't listed gets a link.
func TestAShopEmbedsAShow(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	products := sellable(t, a)
	stream := a.recordedStream(0)
	site := newShopSite(t, s, stream.ID)
	site.token = func() string { return a.ticket(stream.ID, "bo", "Bo Lindqvist", api.ParticipantRoleViewer) }
	other := newShopSite(t, s, stream.ID)
	other.token = site.token
	patched, err := a.UpdateTenantWithResponse(t.Context(), api.TenantPatch{EmbedOrigins: []string{site.origin}}, a.asOwner)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, patched.StatusCode(), "%s", patched.Body)
	encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)

	flowtest.Step(t, "buy in the frame", func(t *testing.T) {
		shop := newShopTab(t, 1280, 900)
		browsertest.Run(t, shop.tab, chromedp.Navigate(site.origin+"/"))
		frame := shop.attach("iframe", s.url)
		frame.waits(`document.querySelector("video")?.currentTime > 1 && showfloorShow.state.connection === "connected"`)
		shop.waits(`(() => { const { width, height } = document.querySelector("iframe").getBoundingClientRect(); return width === innerWidth && height > 550 && height <= innerHeight; })()`)
		frame.presses("Blue mug")
		shop.heard(`one.type === "product.click" && one.externalId === "Blue mug" && one.priceCents === 2000`)
		frame.presses("Buy now")
		shop.heard(`one.type === "cart.add" && one.quantity === 1 && one.productId === "` + products[0].ID + `"`)
		frame.enters("bo@buyer.example")
		frame.presses("Pay")
		shop.heard(`one.type === "checkout" && one.orderId.startsWith("ord_")`)
		browsertest.Screenshot(t, shop.tab, "embed-paying")
		window := shop.attach("page", s.url)
		pay := chromedp.CSS("button[name=action][value=pay]")
		browsertest.Run(t, window.tab, chromedp.WaitVisible(pay), chromedp.Click(pay))
		frame.reads("Your order is paid")
		shop.heard(`one.type === "order" && one.status === "PAID"`)
		until(t, "the payment window is closed", func() bool {
			targets, err := chromedp.Targets(shop.tab)
			require.NoError(t, err)
			pages := 0
			for _, one := range targets {
				if one.Type == "page" && strings.HasPrefix(one.URL, site.origin) {
					pages++
				}
			}

			return pages == 1
		})
		browsertest.Screenshot(t, shop.tab, "embed-paid")
		require.Empty(t, browsertest.Value[[]string](t, shop.tab, `events.filter(({ type }) => type === "failed" || type === "closed").map(({ type }) => type)`))
	})
	flowtest.Step(t, "the shop's own cart", func(t *testing.T) {
		shop := newShopTab(t, 390, 844)
		browsertest.Run(t, shop.tab, chromedp.Navigate(site.origin+"/own"))
		frame := shop.attach("iframe", s.url)
		frame.waits(`globalThis.showfloorShow?.state?.connection === "connected"`)
		shop.waits(`document.querySelector("iframe").getBoundingClientRect().height === 700`)
		frame.presses("2 products")
		frame.presses("Tall vase")
		frame.presses("One more")
		frame.presses("Add to cart")
		shop.heard(`one.type === "cart.add" && one.quantity === 2 && one.externalId === "Tall vase" && one.currency === "usd"`)
		frame.presses("Cart")
		shop.heard(`one.type === "checkout" && one.orderId === null`)
		browsertest.Screenshot(t, shop.tab, "embed-own-cart")
		require.Equal(t, 0, browsertest.Value[int](t, frame.tab, `showfloorShow.cart.units`))
	})
	flowtest.Step(t, "another website", func(t *testing.T) {
		shop := newShopTab(t, 390, 844)
		browsertest.Run(t, shop.tab, chromedp.Navigate(other.origin+"/"))
		shop.heard(`one.type === "failed" && one.reason === "frame"`)
		shop.reads("Open the show in a new window")
		require.True(t, browsertest.Value[bool](t, shop.tab, `document.querySelector("iframe") === null`))
	})
}
