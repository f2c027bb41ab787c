package sandbox_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/commerce/sandbox"
)

func TestPagesExpireByTheClock(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	made, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	r.advance(31*time.Minute - time.Second)
	require.Empty(t, r.delivered(t))
	r.advance(time.Second)
	_, err = r.Pay(made.ID, "late@example.test")
	require.Error(t, err)
	require.Equal(t, []string{"checkout.session.expired"}, r.delivered(t))
	got, err := r.api.CheckoutSessions.Get(made.ID, &stripe.CheckoutSessionParams{Params: on(account, "")})
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionStatusExpired, got.Status)
	_, err = r.api.CheckoutSessions.Expire(made.ID, &stripe.CheckoutSessionExpireParams{Params: on(account, "")})
	refused(t, err, 400, "")

	again, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	_, err = r.api.CheckoutSessions.Expire(again.ID, &stripe.CheckoutSessionExpireParams{Params: on(account, "")})
	require.NoError(t, err)
	require.Equal(t, []string{"checkout.session.expired"}, r.delivered(t))
	platforms, err := r.api.CheckoutSessions.New(withoutFee(r.page("")))
	require.NoError(t, err)
	_, err = r.Expire(platforms.ID)
	require.NoError(t, err)
	require.Equal(t, []string{"checkout.session.expired"}, r.delivered(t), "signed with the platform's secret")
}

func withoutFee(p *stripe.CheckoutSessionParams) *stripe.CheckoutSessionParams {
	p.PaymentIntentData = nil
	return p
}

func TestMoneyThatTakesItsTime(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	for ok, want := range map[bool][]string{
		true:  {"payment_intent.succeeded", "charge.succeeded", "checkout.session.async_payment_succeeded"},
		false: {"payment_intent.payment_failed", "checkout.session.async_payment_failed"},
	} {
		made, err := r.api.CheckoutSessions.New(r.page(account))
		require.NoError(t, err)
		waiting, err := r.PayLater(made.ID, "ada@example.test")
		require.NoError(t, err)
		require.Equal(t, []string{"checkout.session.completed"}, r.delivered(t))
		require.Equal(t, sandbox.Unpaid, waiting.PaymentStatus)
		_, err = r.Refund(waiting.PaymentID, 0)
		require.Error(t, err)
		settled, err := r.Settle(made.ID, ok)
		require.NoError(t, err)
		require.Equal(t, ok, settled.PaymentStatus == sandbox.Paid)
		require.Equal(t, want, r.delivered(t))
		_, err = r.Settle(made.ID, !ok)
		require.Error(t, err)
	}
}

func TestReportsAreRepeatedUntilAccepted(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	r.answer(http.StatusServiceUnavailable)
	require.NoError(t, r.SetCharges(account, false))
	require.Len(t, r.delivered(t), 1)
	require.Len(t, r.delivered(t), 1)
	r.answer(http.StatusCreated)
	require.Len(t, r.delivered(t), 1)
	require.Empty(t, r.delivered(t))
	events := r.Events()
	last := events[len(events)-1]
	require.Zero(t, last.Owed)
	require.Len(t, last.Attempts, 3)
	require.NoError(t, r.Resend(last.ID, 3))
	require.Equal(t, []string{"account.updated", "account.updated", "account.updated"}, r.delivered(t))
	require.Error(t, r.Resend("evt_none", 1))
}

func TestReportsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	made, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	require.NoError(t, r.HoldEvents())
	paid, err := r.Pay(made.ID, "ada@example.test")
	require.NoError(t, err)
	_, err = r.Refund(paid.PaymentID, 0)
	require.NoError(t, err)
	require.Empty(t, r.delivered(t))
	require.NoError(t, r.ReleaseReversed())
	require.Equal(t, []string{
		"refund.created", "charge.refunded", "checkout.session.completed", "charge.succeeded", "payment_intent.succeeded",
	}, r.delivered(t))
	require.NoError(t, r.HoldEvents())
	require.NoError(t, r.SetCharges(account, false))
	_, err = r.api.CheckoutSessions.Expire(made.ID, &stripe.CheckoutSessionExpireParams{Params: on(account, "")})
	require.Error(t, err)
	require.NoError(t, r.SetCharges(account, true))
	events := r.Events()
	require.NoError(t, r.ReleaseEvents(events[len(events)-1].ID))
	require.Len(t, r.delivered(t), 2)
}

func TestReportsGoOutByThemselves(t *testing.T) {
	t.Parallel()
	came := make(chan struct{}, 10)
	r := start(t, func(c *sandbox.Config) { c.Automatic = true })
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { came <- struct{}{} }))
	t.Cleanup(receiver.Close)
	r.SendTo(receiver.URL)
	a, err := r.api.Accounts.New(&stripe.AccountParams{})
	require.NoError(t, err)
	require.NoError(t, r.Onboard(a.ID))
	<-came
	require.NoError(t, r.SetCharges(a.ID, false))
	<-came
}

func TestRefundsThatWait(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	made, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	paid, err := r.Pay(made.ID, "ada@example.test")
	require.NoError(t, err)
	r.delivered(t)
	r.RefundsWait(true)
	ask := &stripe.RefundParams{Params: on(account, ""), PaymentIntent: new(paid.PaymentID), RefundApplicationFee: new(true)}
	waiting, err := r.api.Refunds.New(ask)
	require.NoError(t, err)
	require.Equal(t, stripe.RefundStatusPending, waiting.Status)
	_, err = r.api.Refunds.New(ask)
	refused(t, err, 400, "charge_already_refunded")
	_, err = r.SettleRefund(waiting.ID, false)
	require.NoError(t, err)
	require.Equal(t, []string{"charge.refunded", "refund.created", "charge.refund.updated", "refund.updated", "refund.failed"}, r.delivered(t))
	r.RefundsWait(false)
	done, err := r.api.Refunds.New(ask)
	require.NoError(t, err)
	require.Equal(t, stripe.RefundStatusSucceeded, done.Status)
	p, _ := r.Payment(paid.PaymentID)
	require.Equal(t, int64(300), p.FeeRefundedCents)
	r.delivered(t)

	_, err = r.SettleRefund(done.ID, false) // the bank returns the money
	require.NoError(t, err)
	require.Equal(t, []string{"charge.refund.updated", "refund.updated", "refund.failed"}, r.delivered(t))
	p, _ = r.Payment(paid.PaymentID)
	require.Zero(t, p.RefundedCents)
	require.Zero(t, p.FeeRefundedCents)
	back, err := r.api.Refunds.Get(done.ID, &stripe.RefundParams{Params: on(account, "")})
	require.NoError(t, err)
	require.Equal(t, stripe.RefundFailureReasonUnknown, back.FailureReason)
	_, err = r.SettleRefund(done.ID, true)
	require.Error(t, err)
}

func TestFaultsOnDemand(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	create := func(key string) (*stripe.CheckoutSession, error) {
		page := r.page(account)
		page.SetIdempotencyKey(key)
		return r.api.CheckoutSessions.New(page)
	}
	r.Down(true)
	_, err := create("a")
	require.Error(t, err)
	r.Down(false)
	require.Empty(t, r.Sessions(account))

	r.LoseAnswers(1, "/v1/checkout")
	_, err = create("b")
	require.Error(t, err)
	require.Len(t, r.Sessions(account), 1, "the work is done")
	found, err := create("b")
	require.NoError(t, err)
	require.Equal(t, r.Sessions(account)[0].ID, found.ID)

	r.Fail(1, "/v1/checkout", http.StatusServiceUnavailable)
	_, err = create("c")
	require.Error(t, err)
	require.Len(t, r.Sessions(account), 1)

	arrived, resume := r.Block("/v1/checkout")
	done := make(chan error, 1)
	go func() {
		_, err := create("d")
		done <- err
	}()
	<-arrived
	require.Len(t, r.Sessions(account), 1)
	resume()
	require.NoError(t, <-done)
	require.Len(t, r.Sessions(account), 2)
	requests := r.Requests()
	require.Equal(t, "d", requests[len(requests)-1].Key)
	require.Equal(t, account, requests[len(requests)-1].Account)
}
