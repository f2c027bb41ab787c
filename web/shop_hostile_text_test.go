package web_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// hostileTexts are names and messages as some users write them. rtl overrides the direction of all that follows without an end mark.
func hostileTexts() map[string]string {
	return map[string]string{
		"script": `<img src=x onerror="globalThis.ran=1"><script>globalThis.ran=1</script>{{7*7}}`,
		"rtl":    "\u202eسيراميك evil\u2067 txt",
		"emoji":  strings.Repeat("👩‍👩‍👧‍👦🏺", 30),
		"word":   strings.Repeat("W", 500),
	}
}

// hostileShow is a show all of whose texts are one of hostileTexts.
func hostileShow(t *testing.T, text string) *shopScript {
	t.Helper()
	s := newShopScript(t)
	s.show["name"], s.show["brand"].(message)["name"] = text, text
	for _, product := range s.show["products"].([]message) {
		product["name"], product["description"] = text, text
	}
	auction := anAuction(time.Hour)
	auction["topBidderName"] = text
	s.show["auctions"] = []message{auction}
	for i := range 3 {
		said := written(fmt.Sprintf("msg_%d", i), "bo", text)
		said["authorName"] = text
		s.chat = append(s.chat, said)
	}
	s.sales = []message{{
		"orderId": "ord_1", "status": "PAID", "buyerName": text, "totalCents": 4800, "currency": "eur", "createdAt": instant(0),
		"items": []message{
			{"productId": "prod_mug", "nameSnapshot": text, "quantity": 2, "priceCents": 2400},
			{"productId": "prod_vase", "nameSnapshot": text, "quantity": 1, "priceCents": 0},
		},
	}}

	return s
}

// turned lists the shown text nodes in which a mark of direction could change the order of other text: those that aren't alone in an
// isolated element.
const turned = `(() => {
	const found = [];
	const nodes = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (nodes.nextNode()) {
		const { data, parentElement: parent } = nodes.currentNode;
		if (!data.includes("\u202e") || !parent.checkVisibility() || parent.closest(".spoken, [aria-live], script")) continue;
		const isolated = parent.tagName === "BDI" || getComputedStyle(parent).unicodeBidi.includes("isolate") && parent.childNodes.length === 1;
		const marked = /\u2068[^\u2069]*\u202e/.test(data);
		if (!isolated && !marked || isolated && !marked && data.indexOf("\u202e") > 0) found.push(parent.outerHTML.slice(0, 200));
	}
	return found.join("\n");
})()`

// withstands checks what is shown now on a phone and a desk.
func (p *shopper) withstands(name string) {
	p.t.Helper()
	for _, size := range [][2]int64{{phoneWidth, phoneHeight}, {shopDeskWidth, shopDeskHeight}} {
		browsertest.Look(p.t, p.tab, size[0], size[1], true)
		p.waits(`document.getAnimations().every((one) => one.effect.getTiming().iterations === Infinity)`)
		where := fmt.Sprintf("hostile-%s-%d", name, size[0])
		browsertest.Screenshot(p.t, p.tab, where)
		p.waits(`document.documentElement.scrollWidth <= innerWidth`)
		require.Empty(p.t, browsertest.Value[string](p.t, p.tab, turned), where)
		require.Empty(p.t, browsertest.Value[string](p.t, p.tab, `[...document.querySelectorAll("dialog, .panel, .studio-panel, .sheet-body")]
			.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.className).join()`), "%s: scrolls sideways", where)
		require.False(p.t, browsertest.Value[bool](p.t, p.tab, `"ran" in globalThis`), where)
	}
	browsertest.Look(p.t, p.tab, phoneWidth, phoneHeight, true)
}

// TestShopWithstandsHostileTexts: names, messages and descriptions with scripts, marks of direction, emoji and long words run no script,
// make no page wider than its screen and turn no text beside them around.
func TestShopWithstandsHostileTexts(t *testing.T) {
	t.Parallel()
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newShopper(t, hostileShow(t, text), "")
			p.opens(message{"name": text})
			p.waits(`document.querySelectorAll(".messages bdi.body").length === 3`)
			p.publishes("auction-bid", message{"auctionId": "auc_1", "bidId": "bid_x", "amountCents": 5000, "bidderName": text, "endsAt": instant(time.Hour)})
			p.publishes("stock-tick", message{"productId": "prod_mug", "remaining": 1})
			p.reads("€50.00")
			p.withstands(name + "-live")
			p.waits(`(([author, body]) => author.left <= body.left)(
				[...document.querySelectorAll(".messages li:last-child bdi")].map((one) => one.getBoundingClientRect()))`)
			p.clicks("3 products")
			p.waits(`document.querySelectorAll("dialog[open] .shelf li").length === 3`)
			p.withstands(name + "-shelf")
			p.presses(kb.Escape)
			p.waits(noSheet)
			p.does(`showfloorShow.cart.add(showfloorShow.state.show.products[0], 1)`)
			p.waits(`showfloorShow.cart.units === 1 && !showfloorShow.cart.view.saving`)
			p.clicks("Cart, 1 item")
			p.waits(`document.querySelector("dialog[open] .line-sum") !== null`)
			p.withstands(name + "-cart")
			p.presses(kb.Escape)
			p.waits(noSheet)
			p.clicks("Another amount")
			p.waits(`document.querySelector("dialog[open] #bid") !== null`)
			p.withstands(name + "-bid")
		})
	}
}

// TestStudioWithstandsHostileTexts: the same in the studio, with its sales and its dialogs.
func TestStudioWithstandsHostileTexts(t *testing.T) {
	t.Parallel()
	for name, text := range hostileTexts() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newShopper(t, hostileShow(t, text), "")
			p.opensStudio()
			p.waits(`document.querySelectorAll(".studio-chat bdi.author").length === 3`)
			p.reads("1 paid order")
			p.withstands(name + "-studio")
			p.waits(`((left) => left(".studio-chat .author") <= left(".studio-chat .author + bdi"))(
				(name) => document.querySelector(name).getBoundingClientRect().left)`)
			require.NotContains(t, browsertest.Value[string](t, p.tab, `
				[...document.querySelectorAll("h1, .of-sales li p, .studio-chat p")].map((one) => one.textContent).join()`), "\u202e")
			p.clicks("Auction")
			p.waits(`document.querySelector("dialog[open] .studio-form") !== null`)
			p.withstands(name + "-studio-auction")
			p.presses(kb.Escape)
			p.waits(noSheet)
			p.does(`document.querySelector(".studio-chat button").click()`)
			p.waits(`document.querySelector("dialog[open] .danger") !== null`)
			p.withstands(name + "-studio-moderate")
		})
	}
}
