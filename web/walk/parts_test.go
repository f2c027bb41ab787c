package walk_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

func TestPreviewGoesOnDuringAChat(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	stream := owner.Stream(t, map[string]any{"name": "Morning show"})
	publishes(t, c.s, stream)

	c.signsIn(owner, "/streams/"+stream.ID)
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("iframe.preview")`)
	c.evaluates(`window.preview = document.querySelector("iframe.preview"); window.played = window.preview.src;
		window.loads = 0; window.preview.addEventListener("load", () => { window.loads++ })`)
	c.waits(staleAfter)
	owner.Call(t, "POST", "/v1/me/streams/"+stream.ID+"/chat", map[string]any{"authorId": "grace", "authorName": "Grace", "body": "Buy my bags"}).
		Is(t, http.StatusCreated)
	c.sees("Buy my bags")
	c.types("chat", "Welcome, all!")
	c.clicks("send-chat")
	c.sees("Welcome, all!")
	c.comesBack()
	c.waits(staleAfter)
	require.True(t, browsertest.Value[bool](t, c.tab,
		`window.preview === document.querySelector("iframe.preview") && window.preview.isConnected && window.preview.src === window.played`))
	// The player complains: the stream has no media.
	require.LessOrEqual(t, browsertest.Value[int](t, c.tab, `window.loads`), 1)
}

// TestSellersEditOneRow edits a product's fields in the list while its saves are held, and while another user changes it.
func TestSellersEditOneRow(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Product(t, map[string]any{"externalId": "MUG", "name": "Mug", "priceCents": 1000, "stock": 40})

	c.signsIn(owner, "/catalog")
	c.sees("Catalog")
	browsertest.WaitFor(t, c.tab, `!!document.querySelector("[aria-label='Stock: Mug']")`)
	c.evaluates(`{
		const send = window.fetch;
		const held = new Promise((release) => { window.release = release; });
		window.saves = 0;
		window.fetch = async (request) => {
			if (request.method === "POST" && request.url.endsWith("/catalog/products")) { window.saves++; await held; }
			else if (request.url.includes("/catalog/products?") || request.url.includes("/v1/me/events")) await held;
			return send(request);
		};
	}`)
	owner.Product(t, map[string]any{"externalId": "MUG", "name": "Blue mug", "priceCents": 1100})
	c.fills("Price: Mug", "24.50")
	c.fills("Stock: Mug", "7")
	browsertest.WaitFor(t, c.tab, `window.saves === 1`)
	c.evaluates(`window.release()`)
	apitest.Until(t, "both fields are saved", func() bool {
		mug := productsBySKU(t, owner)["MUG"]

		return mug.PriceCents == 2450 && mug.Stock == 7 && mug.Name == "Blue mug"
	})
	c.sees("Blue mug")
	c.complains(refusedFirst)
}
