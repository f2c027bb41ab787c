package apitest_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestEveryServerHasAProcessor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	account := s.Register(t).Seller(t)
	require.Empty(t, s.Sandbox.Deliver(t), "no event is pending")
	page, err := s.Sandbox.Client.CreatePage(t.Context(), processor.NewPaymentPage{
		AccountID: account, OrderID: "ord_1", TenantID: "ten_1", Currency: "usd",
		Lines:         []processor.Line{{Name: "Mug", UnitCents: 1500, Quantity: 2}},
		DiscountCents: 500, DiscountName: "LAUNCH", FeeCents: 250,
		SuccessURL: "https://shop.example/thanks", CancelURL: "https://shop.example/cart", ExpiresAt: s.Clock.Now().Add(31 * time.Minute),
	})
	require.NoError(t, err)
	_, err = s.Sandbox.Pay(page.ID, "ada@example.test")
	require.NoError(t, err)
	require.Len(t, s.Sandbox.Deliver(t), 3)
	paid, err := s.Sandbox.Client.GetPage(t.Context(), account, page.ID)
	require.NoError(t, err)
	require.True(t, paid.Paid)
	require.Equal(t, int64(2500), paid.TotalCents)
	refund, err := s.Sandbox.Client.CreateRefund(t.Context(), processor.NewRefund{
		AccountID: account, RefundID: "rf_1", PaymentIntentID: paid.PaymentIntentID, AmountCents: 1000, WithFee: true,
	})
	require.NoError(t, err)
	refunds, err := s.Sandbox.Client.ListRefunds(t.Context(), account, paid.PaymentIntentID)
	require.NoError(t, err)
	require.Equal(t, []processor.Refund{refund}, refunds)
}
