package billing_test

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/testkit/apitest"
)

// TestReportsComeInAnyOrder: the reports on one purchase have the same result in any
// order, also if each arrives twenty times.
func TestReportsComeInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(6) {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			s := newShop(t, apitest.Options{})
			require.NoError(t, s.Sandbox.HoldEvents())
			c := s.checkout(t, 3)
			page, err := s.Sandbox.PayLater(c.SessionID, "")
			require.NoError(t, err)
			_, err = s.Sandbox.Settle(page.ID, true)
			require.NoError(t, err)
			payment := s.Sandbox.Payments(s.account)[0].ID
			_, err = s.Sandbox.Refund(payment, 500)
			require.NoError(t, err)
			_, err = s.Sandbox.Refund(payment, 1000)
			require.NoError(t, err)
			dispute, err := s.Sandbox.Dispute(payment, "needs_response", "fraudulent")
			require.NoError(t, err)
			require.NoError(t, s.Sandbox.SetDispute(dispute.ID, "under_review"))
			require.NoError(t, s.Sandbox.SetDispute(dispute.ID, "lost"))
			var ids []string
			for _, e := range s.Sandbox.Events() {
				if e.Owed > 0 {
					ids = append(ids, e.ID)
					require.NoError(t, s.Sandbox.Resend(e.ID, 20))
				}
			}
			rand.New(rand.NewPCG(seed, 0)).Shuffle(len(ids), func(i, j int) { ids[i], ids[j] = ids[j], ids[i] })
			require.NoError(t, s.Sandbox.ReleaseEvents(ids...))
			s.deliver(t)
			s.Clock.Advance(time.Minute)
			s.work(t)
			require.Empty(t, s.waiting(t))
			s.is(t, c.OrderID, "PARTIALLY_REFUNDED", 1500)
			require.Equal(t, 1, s.emitted(t, "purchase.completed"))
			require.Equal(t, 2, s.emitted(t, "purchase.refunded"))
			require.Equal(t, []int{1, 1}, []int{s.emitted(t, "purchase.disputed"), s.emitted(t, "purchase.dispute_closed")})
			require.Equal(t, api.DisputeStatus("LOST"), s.order(t, c.OrderID).Disputes[0].Status)
		})
	}
}

func TestAnExpiredPageGivesItsUnitsBack(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	c := s.checkout(t, 100)
	_, err := s.Sandbox.Expire(c.SessionID)
	require.NoError(t, err)
	s.deliver(t)
	s.is(t, c.OrderID, "EXPIRED", 0)
	s.checkout(t, 100)
}

func TestAFailedPaymentExpires(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	c := s.checkout(t, 1)
	_, err := s.Sandbox.PayLater(c.SessionID, "")
	require.NoError(t, err)
	s.deliver(t)
	s.is(t, c.OrderID, "PENDING", 0)
	_, err = s.Sandbox.Settle(c.SessionID, false)
	require.NoError(t, err)
	s.deliver(t)
	require.NotEqual(t, api.OrderStatus("PAID"), s.order(t, c.OrderID).Status)
	require.Empty(t, s.waiting(t))
}

// TestARefundWaitsForItsOrder: a report of a refund waits until its order is known to be paid.
func TestARefundWaitsForItsOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	require.NoError(t, s.Sandbox.HoldEvents())
	c := s.checkout(t, 1)
	_, err := s.Sandbox.Pay(c.SessionID, "")
	require.NoError(t, err)
	_, err = s.Sandbox.Refund(s.Sandbox.Payments(s.account)[0].ID, 400)
	require.NoError(t, err)
	var refunds []string
	for _, e := range s.Sandbox.Events() {
		if e.Type == "charge.refunded" {
			refunds = append(refunds, e.ID)
		}
	}
	require.Len(t, refunds, 1)
	require.NoError(t, s.Sandbox.ReleaseEvents(refunds...))
	require.NoError(t, s.Sandbox.Resend(refunds[0], 0))
	for _, status := range s.Sandbox.Deliver(t) {
		require.Equal(t, http.StatusCreated, status)
	}
	again, err := s.Billing.HandleProcessorEvent(t.Context(), refunds[0])
	require.NoError(t, err)
	require.Equal(t, s.Clock.Now().Add(5*time.Second), again)
	s.work(t) // the payment among others
	s.Clock.Advance(5 * time.Second)
	again, err = s.Billing.HandleProcessorEvent(t.Context(), refunds[0])
	require.NoError(t, err)
	require.Zero(t, again)
	s.is(t, c.OrderID, "PARTIALLY_REFUNDED", 400)
}

// TestARefundOfSomethingElseIsIgnored: sellers may be paid in other ways too.
func TestARefundOfSomethingElseIsIgnored(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	eventID, body := s.event("charge.refunded", `{"id":"ch_1","payment_intent":"pi_of_theirs"}`)
	s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
	looks := 0
	for {
		again, err := s.Billing.HandleProcessorEvent(t.Context(), eventID)
		require.NoError(t, err)
		looks++
		if again.IsZero() {
			break
		}
		s.Clock.Advance(again.Sub(s.Clock.Now()))
	}
	require.Less(t, looks, 50)
	require.Empty(t, s.waiting(t))
	eventID, body = s.event("charge.refunded", `{"id":"ch_1","payment_intent":null}`)
	s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
	again, err := s.Billing.HandleProcessorEvent(t.Context(), eventID)
	require.NoError(t, err)
	require.Zero(t, again)
}

func TestAccountsAreAskedFor(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	charges := func() bool {
		var enabled bool
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT charges_enabled FROM tenants WHERE id = $1", s.owner.TenantID).Scan(&enabled))
		return enabled
	}
	require.NoError(t, s.Sandbox.HoldEvents())
	for _, enabled := range []bool{false, true, false} {
		require.NoError(t, s.Sandbox.SetCharges(s.account, enabled))
	}
	require.NoError(t, s.Sandbox.ReleaseReversed()) // the oldest comes last
	s.deliver(t)
	require.False(t, charges())
	require.NoError(t, s.Sandbox.SetCharges(s.account, true))
	s.deliver(t)
	require.True(t, charges())
}

func TestAnOutageIsWaitedOut(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	c := s.checkout(t, 1)
	_, err := s.Sandbox.Expire(c.SessionID)
	require.NoError(t, err)
	s.Sandbox.Down(true)
	s.Sandbox.Deliver(t)
	waiting := s.waiting(t)
	require.Len(t, waiting, 1)
	_, err = s.Billing.HandleProcessorEvent(t.Context(), waiting[0])
	p, known := problem.As(err)
	require.True(t, known)
	require.Equal(t, problem.Unavailable, p.Kind, "so that the job goes on")
	s.is(t, c.OrderID, "PENDING", 0)
	s.Sandbox.Down(false)
	s.work(t)
	s.is(t, c.OrderID, "EXPIRED", 0)
}

func TestPermanentFailuresAreNotRetried(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	for kind, object := range map[string]string{
		"checkout.session.completed": `{"object":"charge","id":"ch_1"}`,
		"checkout.session.expired":   `{"object":"checkout.session","id":"cs_nobodys","status":"expired"}`,
		"charge.refunded":            `"text"`,
	} {
		eventID, body := s.event(kind, object)
		s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
		_, err := s.Billing.HandleProcessorEvent(t.Context(), eventID)
		p, known := problem.As(err)
		require.True(t, known, "%s: %v", kind, err)
		require.NotEqual(t, problem.Unavailable, p.Kind, kind)
	}
}

func TestReportsOfOtherAccountsAreIgnored(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	s.account = "acct_" + s.stream // belongs to no seller
	for _, kind := range []string{"checkout.session.expired", "charge.refunded", "account.updated"} {
		_, body := s.event(kind, `{"object":"checkout.session","id":"cs_1"}`)
		s.report(t, body, connectSecret, time.Now()).Is(t, http.StatusCreated)
	}
	asked := len(s.Sandbox.Requests())
	s.work(t)
	require.Empty(t, s.waiting(t))
	require.Len(t, s.Sandbox.Requests(), asked, "the processor was not queried")
	again, err := s.Billing.HandleProcessorEvent(t.Context(), "evt_that_never_was")
	require.NoError(t, err)
	require.Zero(t, again)
}

func TestAnEventMayRunManyTimesAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{})
	c := s.checkout(t, 2)
	_, err := s.Sandbox.Pay(c.SessionID, "")
	require.NoError(t, err)
	_, err = s.Sandbox.Refund(s.Sandbox.Payments(s.account)[0].ID, 700)
	require.NoError(t, err)
	s.Sandbox.Deliver(t)
	for range 2 { // the refund may have to wait for the payment
		var work sync.WaitGroup
		for _, eventID := range s.waiting(t) {
			for range 10 {
				work.Go(func() {
					_, err := s.Billing.HandleProcessorEvent(t.Context(), eventID)
					assert.NoError(t, err)
				})
			}
		}
		work.Wait()
	}
	require.Empty(t, s.waiting(t))
	s.is(t, c.OrderID, "PARTIALLY_REFUNDED", 700)
	require.Equal(t, 1, s.emitted(t, "purchase.completed"))
	require.Equal(t, 1, s.emitted(t, "purchase.refunded"))
}

// TestTheQueueWorksReportsThrough from the buyer's payment to the tenant's refund.
func TestTheQueueWorksReportsThrough(t *testing.T) {
	t.Parallel()
	s := newShop(t, apitest.Options{Jobs: true})
	c := s.checkout(t, 2)
	_, err := s.Sandbox.Pay(c.SessionID, "")
	require.NoError(t, err)
	apitest.Until(t, "the order is paid", func() bool { return s.order(t, c.OrderID).Status == "PAID" })
	s.owner.Call(t, "POST", "/v1/me/commerce/orders/"+c.OrderID+"/refund", map[string]any{"amountCents": 500}).Is(t, http.StatusCreated)
	_, err = s.Sandbox.Refund(s.Sandbox.Payments(s.account)[0].ID, 0)
	require.NoError(t, err)
	apitest.Until(t, "all is given back", func() bool { return s.order(t, c.OrderID).Status == "REFUNDED" })
	apitest.Until(t, "all reports are worked through", func() bool { return len(s.waiting(t)) == 0 })
	require.Equal(t, 2, s.emitted(t, "purchase.refunded"))
}
