package walk_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/browsertest"
)

const auctionsPath = "/v1/me/commerce/auctions"

// searches types into the searchable select with a label and takes the option with a text.
func (c *console) searches(label, search, option string) {
	c.t.Helper()
	c.evaluates(labelled(label) + `.focus(); document.activeElement.select(); document.execCommand("insertText", false, ` + quoted(search) + `)`)
	c.takes(option)
}

// endAuction moves an auction's end to now and processes it, as the job does.
func endAuction(t *testing.T, c *console, owner *apitest.Caller, auctionID string) {
	t.Helper()
	_, err := c.s.Pool.Exec(t.Context(), "UPDATE auctions SET ends_at = clock_timestamp() WHERE id = $1", auctionID)
	require.NoError(t, err)
	_, err = c.s.Auctions.SettleAuction(t.Context(), owner.TenantID, auctionID)
	require.NoError(t, err)
}

func TestSellerStartsAnAuction(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	stream := owner.Stream(t, map[string]any{"name": "Evening show"})
	mug := owner.Product(t, map[string]any{"externalId": "MUG", "name": "Signed mug <b>", "stock": 1, "currency": "eur"})
	owner.Product(t, map[string]any{"externalId": "VASE", "name": "Vase", "stock": 0})

	c.signsIn(owner, "/auctions")
	c.sees("No auction is listed")
	c.misses("Buyers can’t pay")
	c.looks("auctions-empty")
	c.clicks("new-auction")
	browsertest.WaitFor(t, c.tab, labelled("Stream")+`?.value === "Evening show"`)
	c.searches("Product", "vase", "Vase (VASE)")
	c.types("startingBidCents", "ten")
	c.types("bidIncrementCents", "0")
	c.types("durationSec", "0")
	c.types("antiSnipeSec", "4000")
	c.clicks("submit")
	c.sees("Enter an amount such as 19.99")
	c.sees("Enter an amount of at least 0.01")
	c.sees("The longest duration is 7 days")
	c.sees("Enter a whole number from 0 to 3600")
	c.looks("auction-new-faults")
	c.types("startingBidCents", "10")
	c.types("bidIncrementCents", "0,50")
	c.types("reservePriceCents", "25")
	c.types("durationSec", "2")
	c.types("antiSnipeSec", "30")
	c.clicks("submit")
	browsertest.WaitFor(t, c.tab, `document.querySelector(".mantine-Select-error")?.textContent.includes("remaining")`)
	require.Equal(t, "0,50", browsertest.Value[string](t, c.tab, `document.querySelector("[name=bidIncrementCents]").value`))
	c.searches("Product", "mug", "Signed mug <b> (MUG)")
	c.sees("Price €19.99")
	c.chooses("Unit", "Hours")
	c.sees("The auction starts at once and ends on")
	c.looks("auction-new")
	c.clicks("submit")
	c.sees("Next bid from")

	made := get[[]api.Auction](t, owner, auctionsPath)
	require.Len(t, made, 1)
	require.Equal(t, []string{mug.ID, stream.ID, "eur"}, []string{made[0].ProductID, made[0].StreamID, made[0].Currency})
	require.Equal(t, []int64{1000, 50, 2500}, []int64{made[0].StartingBidCents, made[0].BidIncrementCents, *made[0].ReservePriceCents})
	require.Equal(t, 30, made[0].AntiSnipeSec)
	require.InDelta(t, 7200, made[0].EndsAt.Sub(made[0].CreatedAt.Time).Seconds(), 1)
	c.complains(refusedFirst, "400")
}

func TestSellerWatchesAnAuction(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "en-GB")
	owner := c.s.Register(t)
	owner.Seller(t)
	product := owner.Product(t, map[string]any{"externalId": "MUG", "name": "Signed mug", "stock": 2}).ID
	auction := owner.Auction(t, map[string]any{"productId": product, "reservePriceCents": 1500, "antiSnipeSec": 10})

	c.signsIn(owner, "/auctions/"+auction.ID)
	c.sees("There are no bids.")
	c.sees("Call off the auction")
	owner.Bid(t, auction.ID, 1000).Is(t, http.StatusCreated)
	c.sees("US$11.00")
	c.sees("Reserve price not reached yet")
	c.sees("An auction with a bid can’t be called off.")
	owner.Bid(t, auction.ID, 1600).Is(t, http.StatusCreated)
	c.sees("US$17.00")
	c.sees("Reserve price reached")
	browsertest.WaitFor(t, c.tab, `document.querySelectorAll("table[aria-label=Bids] tbody tr").length === 2`)
	c.looks("auction")
	endAuction(t, c, owner, auction.ID)
	c.sees("Won, not paid")
	c.sees("To be paid until")
	c.looks("auction-won")

	other := owner.Auction(t, map[string]any{"productId": product})
	c.opens("/console/auctions/" + other.ID)
	c.clicks("Call off the auction")
	c.looks("auction-call-off")
	c.clicks("confirm")
	c.sees("The auction is called off")
	c.sees("Not sold")
	require.Equal(t, api.AuctionStatusCANCELLED, get[api.Auction](t, owner, auctionsPath+"/"+other.ID).Status)

	unsold := owner.Auction(t, map[string]any{"productId": product})
	endAuction(t, c, owner, unsold.ID)
	running := owner.Auction(t, nil)
	c.opens("/console/auctions")
	c.sees("1–4 of 4")
	c.sees("Not sold: no bid")
	c.looks("auctions")
	c.chooses("Status", "Running")
	c.sees("1–1 of 1")
	browsertest.WaitFor(t, c.tab, `location.search === "?status=LIVE" &&
		!!document.querySelector("a[href='/console/auctions/`+running.ID+`']")`)
	c.complains(refusedFirst)
}

func TestViewerReadsAuctions(t *testing.T) {
	t.Parallel()
	c := openConsole(t, "de-DE")
	owner := c.s.Register(t)
	auction := owner.Auction(t, nil)
	stream := auction.StreamID

	c.signsIn(owner.Colleague(t, tenancy.Viewer), "/auctions")
	c.sees("Läuft")
	c.sees("Käufer können noch nicht bezahlen")
	c.misses("Neue Auktion")
	c.looks("auctions-viewer")
	c.opens("/console/auctions/" + auction.ID)
	c.sees("Nächstes Gebot ab")
	c.misses("Auktion absagen")
	c.opens("/console/payments")
	c.sees("Das richtet ein Inhaber oder Admin Ihrer Organisation ein.")
	require.False(t, browsertest.Value[bool](t, c.tab, `!!document.querySelector("[data-testid=onboard]")`))
	c.opens("/console/shopping?stream=" + stream)
	c.sees("Ihre Rolle kann kein Zuschauer-Token ausstellen")
	c.sees("Ihre Rolle darf diese Seite lesen")
	require.False(t, browsertest.Value[bool](t, c.tab,
		`!!document.querySelector("[data-testid=test-link], [data-testid=show-preview], [data-testid=save-brand]")`))
	c.looks("shopping-viewer")
	c.complains(refusedFirst)
}
