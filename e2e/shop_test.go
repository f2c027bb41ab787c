package e2e

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"testing"

	"github.com/oapi-codegen/nullable"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/commerce/sandbox"
)

// Secrets of the tests' payment processor.
const (
	tillKey           = "sk_test_e2e"
	tillSecret        = "whsec_e2e_platform"
	tillConnectSecret = "whsec_e2e_connect"
)

// openTill returns a payment processor in the test's own process, so that it
// outlives every killed server, and the options that make a server use it.
func openTill(t testing.TB) (*sandbox.Server, []option) {
	t.Helper()
	return openTillAs(t, tillKey)
}

// openTillAs does the same with a key of the processor.
func openTillAs(t testing.TB, key string) (*sandbox.Server, []option) {
	t.Helper()
	listener := httptest.NewUnstartedServer(nil)
	url := "http://" + listener.Listener.Addr().String()
	box, err := sandbox.Open(sandbox.Config{URL: url, Key: key, Secret: tillSecret, ConnectSecret: tillConnectSecret, Automatic: true})
	require.NoError(t, err)
	listener.Config.Handler = box
	listener.Start()
	t.Cleanup(func() {
		require.NoError(t, box.Close())
		listener.Close()
	})
	return box, []option{
		set("PROCESSOR_KEY", key), set("PROCESSOR_URL", sandbox.APIURL(url)),
		set("PROCESSOR_WEBHOOK_SECRET", tillSecret), set("PROCESSOR_CONNECT_SECRET", tillConnectSecret),
	}
}

// scarce is how many of a shop's products may sell out.
const scarce = 2

// shop is a tenant with products.
type shop struct {
	*tenant

	box *sandbox.Server
	// account is the tenant's account at the processor.
	account string
	stream  string
	// products are for carts, the scarce ones first; prize is for auctions.
	products []api.Product
	prize    api.Product
	codes    []string
}

// openShop registers a tenant, onboards it at the processor, and creates
// products that sell out, that never do and that aren't counted, and a discount
// code of each kind.
func openShop(t testing.TB, s *server, box *sandbox.Server) *shop {
	t.Helper()
	box.SendTo(s.url + "/v1/billing/webhook")
	a := signUp(t, s)
	sh := &shop{tenant: a, box: box, stream: a.newStream(api.StreamModeLOWLATENCY, 0).ID}
	created(a.CreateOnboardingLinkWithResponse(t.Context(), api.OnboardingLinkInput{
		ReturnURL: "https://shop.example/selling", RefreshURL: "https://shop.example/again",
	}, a.asOwner))(t)
	require.Len(t, box.Accounts(), 1)
	sh.account = box.Accounts()[0].ID
	require.NoError(t, box.Onboard(sh.account))
	until(t, "the seller may charge", func() bool {
		answer, err := a.GetConnectStatusWithResponse(t.Context())
		require.NoError(t, err)
		require.NotNil(t, answer.JSON200, "%s", answer.Body)
		return answer.JSON200.ChargesEnabled
	})
	for i, stock := range []int64{25, 60, 100_000, 100_000, -1} {
		sh.products = append(sh.products, sh.shelve(fmt.Sprint("mug-", i), int64(1000+100*i), stock))
	}
	sh.prize = sh.shelve("prize", 5000, 100_000)
	for _, in := range []api.DiscountInput{
		{Code: "Launch20", PercentOff: nullable.NewNullableWithValue(20)},
		{Code: "First30", AmountOffCents: nullable.NewNullableWithValue[int64](150), MaxRedemptions: nullable.NewNullableWithValue(30), MaxPerCustomer: nullable.NewNullableWithValue(1)},
		{Code: "Gift", PercentOff: nullable.NewNullableWithValue(100), MaxRedemptions: nullable.NewNullableWithValue(100)},
	} {
		sh.codes = append(sh.codes, created(a.CreateDiscountWithResponse(t.Context(), in))(t).Code)
	}
	return sh
}

// allRedeemed reports whether each code was used for a paid order; false if the server doesn't answer.
func (s *shop) allRedeemed() bool {
	answer, err := s.ListDiscountsWithResponse(context.Background(), &api.ListDiscountsParams{})
	if err != nil || answer.JSON200 == nil {
		return false
	}
	return !slices.ContainsFunc(*answer.JSON200, func(d api.Discount) bool { return d.Redemptions == 0 })
}

func (s *shop) shelve(sku string, priceCents, stock int64) api.Product {
	s.t.Helper()
	return created(s.UpsertProductWithResponse(s.t.Context(), api.ProductInput{
		ExternalID: sku, Name: sku, PriceCents: priceCents, Stock: &stock,
	}))(s.t)
}
