package e2e

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/testkit/flowtest"
	"showfloor/internal/testkit/realtimetest"
)

// TestAShowReachesViewersOfAnotherServer has two servers on one database and one Redis. The encoder, the host and the tenant are at
// the first one. A viewer at the second one gets the show's state, the pin, the dropped discount, the stock, the auction and a
// changed price, and reads the same there.
func TestAShowReachesViewersOfAnotherServer(t *testing.T) {
	t.Parallel()
	box, options := openTill(t) // each server's own sandbox would know only its own sellers
	p := servePair(t, options...)
	shop := openShop(t, p.one, box)
	mug, vase, a := shop.products[0], shop.prize, shop.tenant
	stream := a.newStream(api.StreamModeLOWLATENCY, 60)
	host, guest := a.ticket(stream.ID, "ada", "Ada Okafor", api.ParticipantRoleHost), a.ticket(stream.ID, "bo", "Bo Lindqvist", api.ParticipantRoleViewer)
	viewer, _ := realtimetest.Watch(t, p.two.url, guest, stream.ID)
	two, err := client.NewClientWithResponses(p.two.url, client.WithHTTPClient(&http.Client{Transport: checked{t}}), client.WithRequestEditorFn(as(guest)))
	require.NoError(t, err)
	// sees waits until the show at the second server is as expected. An answer may be some seconds old.
	sees := func(t *testing.T, what string, wanted func(show *api.Show) bool) {
		t.Helper()
		until(t, what, func() bool {
			answer, err := two.GetShowWithResponse(t.Context(), stream.ID)
			require.NoError(t, err)
			require.True(t, answer.JSON200 != nil || answer.StatusCode() == http.StatusTooManyRequests, "%s", answer.Body)

			return answer.JSON200 != nil && wanted(answer.JSON200)
		})
	}
	encode(t, target(stream))

	flowtest.Step(t, "the state", func(t *testing.T) {
		viewer.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool {
			return e.Type == realtime.ShowUpdated && e.Data["status"] == string(api.StreamStatusLIVE)
		})
		sees(t, "the show is on air", func(show *api.Show) bool { return show.Status == api.StreamStatusLIVE })
	})
	flowtest.Step(t, "the host's acts", func(t *testing.T) {
		pin, err := a.PinShowProductWithResponse(t.Context(), stream.ID, api.ShowPinInput{ProductID: nullable.NewNullableWithValue(mug.ID)}, as(host))
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, pin.StatusCode(), "%s", pin.Body)
		require.Equal(t, mug.ID, viewer.NextType(t, realtime.ProductPin).Data["id"])
		created(a.DropShowDiscountWithResponse(t.Context(), stream.ID, api.DiscountDropInput{Code: "FLASH25", PercentOff: 25, DurationSec: 600}, as(host)))(t)
		require.Equal(t, "FLASH25", viewer.NextType(t, realtime.DiscountDrop).Data["code"])
		sees(t, "the pin and the discount", func(show *api.Show) bool {
			id, err := show.PinnedProductID.Get()

			return err == nil && id == mug.ID && len(show.Drops) == 1
		})
	})
	flowtest.Step(t, "the stock", func(t *testing.T) {
		created(a.CreateCheckoutWithResponse(t.Context(), api.CheckoutInput{
			Items: []api.CartItem{{ProductID: mug.ID, Quantity: 2}}, StreamID: nullable.NewNullableWithValue(stream.ID),
			CustomerEmail: "cleo@buyer.example", CustomerExternalID: "cleo",
			SuccessURL: "https://acme.example/thanks", CancelURL: "https://acme.example/cart",
		}))(t)
		tick := viewer.NextType(t, realtime.StockTick).Data
		require.Equal(t, mug.ID, tick["productId"])
		require.EqualValues(t, 23, tick["remaining"])
	})
	flowtest.Step(t, "an auction", func(t *testing.T) {
		auction := created(a.CreateShowAuctionWithResponse(t.Context(), stream.ID, api.ShowAuctionInput{
			ProductID: vase.ID, StartingBidCents: 1000, BidIncrementCents: 100, DurationSec: 60, AntiSnipeSec: new(2),
		}, as(host)))(t)
		require.Equal(t, auction.ID, viewer.NextType(t, realtime.AuctionStarted).Data["id"])
		created(two.PlaceShowBidWithResponse(t.Context(), stream.ID, auction.ID, api.ShowBidInput{AmountCents: 1000}))(t)
		require.EqualValues(t, 1000, viewer.NextType(t, realtime.AuctionBid).Data["amountCents"])
		sees(t, "the top bid", func(show *api.Show) bool { return len(show.Auctions) == 1 && show.Auctions[0].TopBidID.IsSpecified() })
	})
	flowtest.Step(t, "a changed price", func(t *testing.T) {
		changed := time.Now()
		created(a.UpsertProductWithResponse(t.Context(), api.ProductInput{ExternalID: "mug-0", Name: "mug-0", PriceCents: 1750, Stock: new(int64(25))}))(t)
		viewer.NextOf(t, realtimetest.Published, func(e realtimetest.Event) bool {
			products, _ := e.Data["products"].([]any)
			if e.Type != realtime.ProductsUpdated || len(products) == 0 {
				return false
			}
			product, _ := products[0].(map[string]any)

			return product["id"] == mug.ID && product["priceCents"] == 1750.0
		})
		t.Logf("published %.1f s after the request", time.Since(changed).Seconds())
		sees(t, "the new price", func(show *api.Show) bool {
			return slices.ContainsFunc(show.Products, func(one api.ShowProduct) bool { return one.ID == mug.ID && one.PriceCents == 1750 })
		})
	})
}
