package order_test

import (
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
)

// sale makes a paid order of this many units for 1000 cents each.
func (r *rig) sale(t *testing.T, units int) (orderID, paymentIntentID string) {
	t.Helper()
	productID := r.product(t, -1)
	c := r.checkout(t, r.cart(productID, map[string]any{"items": []map[string]any{{"productId": productID, "quantity": units}}}))
	r.pay(t, c.SessionID)
	return c.OrderID, r.order(t, c.OrderID).ProcessorPaymentIntentID.MustGet()
}

func refundPath(orderID string) string { return "/v1/me/commerce/orders/" + orderID + "/refund" }

// refund requests a refund of this many cents, or of all that is left for 0.
func (r *rig) refund(t *testing.T, orderID string, cents int64) apitest.Response {
	t.Helper()
	if cents == 0 {
		return r.owner.Call(t, "POST", refundPath(orderID), nil)
	}
	return r.owner.Call(t, "POST", refundPath(orderID), map[string]any{"amountCents": cents})
}

// refunded requires an order's status, its refunded amount and its number of
// refund events.
func (r *rig) refunded(t *testing.T, orderID, status string, cents int64, events int) {
	t.Helper()
	o := r.row(t, orderID)
	require.Equal(t, status, o.Status)
	require.Equal(t, cents, o.RefundedCents)
	require.Len(t, r.events(t, "purchase.refunded"), events)
}

// refunds lists an order's refunds as "STATUS cents".
func (r *rig) refunds(t *testing.T, orderID string) []string {
	t.Helper()
	rows, err := db.New(r.Pool).ListRefunds(t.Context(), db.ListRefundsParams{TenantID: r.owner.TenantID, OrderIds: []string{orderID}})
	require.NoError(t, err)
	list := []string{}
	for _, row := range rows {
		require.Equal(t, row.Status == "FAILED", row.FailureReason != nil)
		require.True(t, row.Status != "SUCCEEDED" || row.ProcessorRefundID != nil)
		list = append(list, fmt.Sprint(row.Status, " ", row.AmountCents))
	}
	return list
}

// unfinished is the id of the only PENDING refund.
func (r *rig) unfinished(t *testing.T, orderID string) (refundID string) {
	t.Helper()
	require.NoError(t, r.Pool.QueryRow(t.Context(), "SELECT id FROM refunds WHERE order_id = $1 AND status = 'PENDING'", orderID).Scan(&refundID))
	return refundID
}

// finish runs a refund's job and requires that nothing remains to do.
func (r *rig) finish(t *testing.T, refundID string) {
	t.Helper()
	again, err := r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: refundID})
	require.NoError(t, err)
	require.Zero(t, again)
}

func (r *rig) apply(t *testing.T, paymentIntentID string) {
	t.Helper()
	require.NoError(t, r.Orders.ApplyRefunds(t.Context(), r.account, paymentIntentID))
}

func TestMoneyIsGivenBack(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 3)
	var o api.Order
	r.owner.Call(t, "POST", refundPath(orderID), map[string]any{"amountCents": 500, "reason": "Arrived broken"}).Into(t, http.StatusCreated, &o)
	require.Equal(t, api.OrderStatus("PARTIALLY_REFUNDED"), o.Status)
	require.Equal(t, int64(500), o.RefundedCents)
	require.NotNil(t, o.PaidAt)
	p := r.refund(t, orderID, 2501).Problem(t, http.StatusBadRequest, "refund_too_large")
	require.Contains(t, p.Message, "2500 cents")
	r.refund(t, orderID, 0).Into(t, http.StatusCreated, &o)
	require.Equal(t, api.OrderStatus("REFUNDED"), o.Status)
	require.Equal(t, o.TotalCents, o.RefundedCents)
	r.refund(t, orderID, 1).Problem(t, http.StatusConflict, "conflict")
	r.refund(t, orderID, 0).Problem(t, http.StatusConflict, "conflict")

	require.Equal(t, []string{"SUCCEEDED 500", "SUCCEEDED 2500"}, r.refunds(t, orderID))
	made := r.Sandbox.Refunds(payment)
	require.Len(t, made, 2)
	require.Equal(t, []map[string]any{
		{
			"orderId": orderID, "refundId": o.Refunds[1].ID, "processorPaymentIntentId": payment, "processorRefundId": made[1].ID, "customerEmail": "bo@buyer.example",
			"customerExternalId": "user-1", "metadata": map[string]any{}, "streamId": r.stream, "amountCents": 500., "refundedCents": 500., "totalCents": 3000.,
			"currency": "usd", "status": "PARTIALLY_REFUNDED", "reason": "Arrived broken",
		},
		{
			"orderId": orderID, "refundId": o.Refunds[0].ID, "processorPaymentIntentId": payment, "processorRefundId": made[0].ID, "customerEmail": "bo@buyer.example",
			"customerExternalId": "user-1", "metadata": map[string]any{}, "streamId": r.stream, "amountCents": 2500., "refundedCents": 3000., "totalCents": 3000.,
			"currency": "usd", "status": "REFUNDED", "reason": nil,
		},
	}, r.events(t, "purchase.refunded"))
	r.apply(t, payment) // as after the reports about them
	r.refunded(t, orderID, order.Refunded, 3000, 2)
	var audited int
	require.NoError(t, r.Pool.QueryRow(t.Context(),
		"SELECT count(*) FROM audit_entries WHERE entity_id = $1 AND action = 'order.refund' AND actor_type = 'user'", orderID).Scan(&audited))
	require.Equal(t, 2, audited)
}

func TestTheFeeIsGivenBackToo(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{PlatformFee: 1000})
	orderID, payment := r.sale(t, 3)
	require.Equal(t, int64(300), r.row(t, orderID).ApplicationFeeCents)
	r.refund(t, orderID, 1000).Is(t, http.StatusCreated)
	require.Equal(t, int64(100), r.Sandbox.Refunds(payment)[0].FeeCents)
	require.Equal(t, int64(300), r.row(t, orderID).ApplicationFeeCents, "the paid amount stays recorded")
}

func TestOrdersThatCannotBeRefunded(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	c := r.checkout(t, r.cart(r.product(t, -1), nil))
	r.refund(t, c.OrderID, 0).Problem(t, http.StatusConflict, "conflict")
	r.expire(t, c.SessionID)
	r.refund(t, c.OrderID, 1).Problem(t, http.StatusConflict, "conflict")
	free := r.checkout(t, r.cart(r.productIn(t, "USD", 0, -1), nil))
	r.pay(t, free.SessionID)
	require.Contains(t, r.refund(t, free.OrderID, 0).Problem(t, http.StatusConflict, "conflict").Message, "cost nothing")
	r.refund(t, "ord_that_never_was", 0).Problem(t, http.StatusNotFound, "not_found")
	orderID, _ := r.sale(t, 1)
	for _, body := range []string{`{"amountCents":0}`, `{"amountCents":-1}`, `{"amountCents":1.5}`, `{"amountCents":"1"}`, `{"amountCents":1e15}`} {
		r.owner.Call(t, "POST", refundPath(orderID), body).Problem(t, http.StatusBadRequest, "invalid_input")
	}
	r.refunded(t, orderID, order.Paid, 0, 0)
}

func TestAFulfilledOrderStaysFulfilled(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	r.owner.Call(t, "POST", "/v1/me/commerce/orders/"+orderID+"/fulfil", nil).Is(t, http.StatusCreated)
	r.Sandbox.RefundsWait(true)
	var o api.Order
	r.refund(t, orderID, 400).Into(t, http.StatusCreated, &o)
	require.Equal(t, api.OrderStatus("FULFILLED"), o.Status, "the money is on its way")
	require.Equal(t, api.RefundStatus("PENDING"), o.Refunds[0].Status)
	require.False(t, o.Refunds[0].ProcessorRefundID.IsNull(), "the processor has it")
	r.refund(t, orderID, 601).Problem(t, http.StatusBadRequest, "refund_too_large")
	r.apply(t, payment)
	r.refunded(t, orderID, order.Fulfilled, 0, 0)

	_, err := r.Sandbox.SettleRefund(r.Sandbox.Refunds(payment)[0].ID, false)
	require.NoError(t, err)
	r.apply(t, payment)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Fulfilled, 0, 0)
	require.Equal(t, []string{"FAILED 400"}, r.refunds(t, orderID))
	failed := r.events(t, "purchase.refund_failed")
	require.Len(t, failed, 1)
	require.Equal(t, map[string]any{
		"orderId": orderID, "refundId": o.Refunds[0].ID, "processorPaymentIntentId": payment, "processorRefundId": r.Sandbox.Refunds(payment)[0].ID,
		"customerExternalId": "user-1", "metadata": map[string]any{}, "streamId": r.stream, "amountCents": 400., "refundedCents": 0., "totalCents": 1000.,
		"currency": "usd", "status": "FULFILLED", "reason": nil, "failureReason": "unknown",
	}, failed[0])

	r.Sandbox.RefundsWait(false)
	r.refund(t, orderID, 0).Is(t, http.StatusCreated)
	r.refunded(t, orderID, order.Refunded, 1000, 1)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Refunded, 1000, 1)
}

// TestAPendingRefundIsAskedAbout: with growing pauses, in case its report is lost.
func TestAPendingRefundIsAskedAbout(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	r.Sandbox.RefundsWait(true)
	var o api.Order
	r.refund(t, orderID, 400).Into(t, http.StatusCreated, &o)
	theirs, err := r.Sandbox.Refund(payment, 300)
	require.NoError(t, err)
	r.apply(t, payment)
	require.Equal(t, []string{"PENDING 400", "PENDING 300"}, r.refunds(t, orderID))
	made := r.order(t, orderID).Refunds
	require.Equal(t, api.RefundSource("processor"), made[0].Source)
	for _, refund := range made {
		require.Equal(t, 1, r.jobs(t, "order_finish_refund", refund.ID))
	}
	r.refund(t, orderID, 300).Problem(t, http.StatusConflict, "conflict") // the seller made the same refund at the processor
	for _, pause := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute, 6 * time.Hour} {
		again, err := r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: made[0].ID})
		require.NoError(t, err)
		if pause == 6*time.Hour {
			break
		}
		require.Equal(t, r.Clock.Now().Add(max(time.Minute, r.Clock.Now().Sub(made[0].CreatedAt.Time))), again)
		r.Clock.Advance(pause)
	}
	r.Clock.Advance(48 * time.Hour)
	again, err := r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: made[0].ID})
	require.NoError(t, err)
	require.Equal(t, r.Clock.Now().Add(6*time.Hour), again)
	_, err = r.Sandbox.SettleRefund(theirs.ID, true)
	require.NoError(t, err)
	r.finish(t, made[0].ID)
	r.refunded(t, orderID, order.PartiallyRefunded, 300, 1)
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/refunds"), "a refund that the seller made isn't repeated")
}

func TestRefundsMadeAtTheProcessorAreStored(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	theirs, err := r.Sandbox.Refund(payment, 300)
	require.NoError(t, err)
	var work sync.WaitGroup
	for range 20 {
		work.Go(func() { r.apply(t, payment) })
	}
	work.Wait()
	r.refunded(t, orderID, order.PartiallyRefunded, 300, 1)
	require.Nil(t, r.events(t, "purchase.refunded")[0]["reason"])
	require.Equal(t, api.RefundSource("processor"), r.order(t, orderID).Refunds[0].Source)
	r.refund(t, orderID, 701).Problem(t, http.StatusBadRequest, "refund_too_large")
	_, err = r.Sandbox.SettleRefund(theirs.ID, false) // the bank returns the money
	require.NoError(t, err)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Paid, 0, 1)
	require.Len(t, r.events(t, "purchase.refund_failed"), 1)
	_, err = r.Sandbox.Refund(payment, 0)
	require.NoError(t, err)
	// This refund was not reported yet, so the processor refuses ours.
	p := r.refund(t, orderID, 1000).Problem(t, http.StatusConflict, "conflict")
	require.Contains(t, p.Message, "already")
	require.Equal(t, []string{"FAILED 300", "FAILED 1000"}, r.refunds(t, orderID))
	require.Equal(t, "charge_already_refunded", r.order(t, orderID).Refunds[0].FailureReason.MustGet())
	require.Len(t, r.events(t, "purchase.refund_failed"), 2)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Refunded, 1000, 2)

	err = r.Orders.ApplyRefunds(t.Context(), r.account, "pi_of_nobody")
	require.True(t, problem.Is(err, "not_found"))
	err = r.Orders.ApplyRefunds(t.Context(), "acct_of_somebody_else", payment)
	require.True(t, problem.Is(err, "not_found"))
}

func TestARefusalFreesTheAmount(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	_, err := r.Sandbox.Refund(payment, 600)
	require.NoError(t, err)
	r.refund(t, orderID, 500).Problem(t, http.StatusConflict, "conflict")
	require.Equal(t, []string{"FAILED 500"}, r.refunds(t, orderID))
	r.refund(t, orderID, 400).Is(t, http.StatusCreated)
	r.refunded(t, orderID, order.PartiallyRefunded, 400, 1)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Refunded, 1000, 2)
}

// TestARevivedRefundHasOneJob: a refund that we know as refused exists at the
// processor.
func TestARevivedRefundHasOneJob(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	r.Sandbox.RefundsWait(true)
	r.refund(t, orderID, 400).Is(t, http.StatusCreated)
	refundID := r.unfinished(t, orderID)
	_, err := r.Pool.Exec(t.Context(), "UPDATE refunds SET status = 'FAILED', failure_reason = 'unknown', processor_refund_id = NULL WHERE id = $1", refundID)
	require.NoError(t, err)
	for range 3 {
		r.apply(t, payment)
	}
	require.Equal(t, []string{"PENDING 400"}, r.refunds(t, orderID))
	require.Equal(t, 2, r.jobs(t, "order_finish_refund", refundID), "the first one, which is due in a minute, and its own")
	require.Equal(t, 1, r.jobs(t, "order_finish_refund", `"revived": true`))

	asked := r.Sandbox.Count("GET", "/v1/refunds")
	r.finish(t, refundID) // the first job ends
	require.Equal(t, asked, r.Sandbox.Count("GET", "/v1/refunds"))
	job := order.FinishRefundArgs{RefundID: refundID, Revived: true}
	again, err := r.Orders.FinishRefund(t.Context(), job)
	require.NoError(t, err)
	require.Equal(t, r.Clock.Now().Add(time.Minute), again)
	_, err = r.Sandbox.SettleRefund(r.Sandbox.Refunds(payment)[0].ID, true)
	require.NoError(t, err)
	again, err = r.Orders.FinishRefund(t.Context(), job)
	require.NoError(t, err)
	require.Zero(t, again)
	r.refunded(t, orderID, order.PartiallyRefunded, 400, 1)
	require.Len(t, r.Sandbox.Refunds(payment), 1)
}

// TestRefundsOfAnOrderAreBounded: failed ones count too. Refunds made at the
// processor are added even above the limit.
func TestRefundsOfAnOrderAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	_, err := r.Pool.Exec(t.Context(), `INSERT INTO refunds (id, tenant_id, order_id, amount_cents, status, failure_reason, created_at, updated_at)
		SELECT 'ref_' || $2 || n, $1, $2, 10, 'FAILED', 'unknown', $3, $3 FROM generate_series(1, 99) n`, r.owner.TenantID, orderID, r.Clock.Now())
	require.NoError(t, err)
	r.refund(t, orderID, 10).Is(t, http.StatusCreated)
	p := r.refund(t, orderID, 10).Problem(t, http.StatusConflict, "conflict")
	require.Contains(t, p.Message, "has 100 refunds")
	require.Contains(t, p.Message, "processor's dashboard")
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/refunds"))
	_, err = r.Sandbox.Refund(payment, 0)
	require.NoError(t, err)
	r.apply(t, payment)
	r.refunded(t, orderID, order.Refunded, 1000, 2)
	require.Len(t, r.refunds(t, orderID), 101)
}

// TestManyRefundsAtOnceGiveNoMoreThanWasPaid: concurrent refunds can't exceed the
// payment.
func TestManyRefundsAtOnceGiveNoMoreThanWasPaid(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 3)
	statuses := make([]int, 20)
	var work sync.WaitGroup
	for i := range statuses {
		work.Go(func() {
			statuses[i] = r.refundWith(t, orderID, `{"amountCents":1000}`, fmt.Sprint("refund-", i)).Status
		})
		work.Go(func() { r.apply(t, payment) })
	}
	work.Wait()
	done := 0
	for _, status := range statuses {
		if status == http.StatusCreated {
			done++
			continue
		}
		require.Equal(t, http.StatusConflict, status)
	}
	require.Equal(t, 3, done)
	r.refunded(t, orderID, order.Refunded, 3000, 3)
	require.Len(t, r.Sandbox.Refunds(payment), 3)
}

// TestAnInterruptedRefundIsCompleted: a refund is completed after any interruption.
func TestAnInterruptedRefundIsCompleted(t *testing.T) {
	t.Parallel()
	for name, interrupt := range map[string]func(r *rig){
		"before the request reached the processor": func(r *rig) { r.Sandbox.Down(true) },
		"before its answer came":                   func(r *rig) { r.Sandbox.LoseAnswers(1, "/v1/refunds") },
		"by a failure of the processor's":          func(r *rig) { r.Sandbox.Fail(1, "/v1/refunds", http.StatusBadGateway) },
	} {
		for later, pause := range map[string]time.Duration{"soon": time.Minute, "much later": 50 * time.Hour} {
			t.Run(name+", "+later, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, apitest.Options{})
				orderID, payment := r.sale(t, 1)
				interrupt(r)
				r.refund(t, orderID, 700).Is(t, http.StatusCreated)
				r.refunded(t, orderID, order.Paid, 0, 0)
				r.refund(t, orderID, 301).Problem(t, http.StatusBadRequest, "refund_too_large")
				refundID := r.unfinished(t, orderID)
				require.Equal(t, 1, r.jobs(t, "order_finish_refund", refundID))

				r.Sandbox.Down(true)
				_, err := r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: refundID})
				known, _ := problem.As(err)
				require.Equal(t, problem.Unavailable, known.Kind, "so that the job goes on")
				r.Sandbox.Down(false)
				r.Clock.Advance(pause)
				r.Sandbox.LoseAnswers(1, "/v1/refunds") // the answer with the list
				_, err = r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: refundID})
				require.Error(t, err)
				var work sync.WaitGroup
				for range 5 {
					// For concurrent requests the processor may ask one of them to retry.
					work.Go(func() { _, _ = r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: refundID}) })
				}
				work.Wait()
				r.finish(t, refundID)
				r.apply(t, payment)
				r.refunded(t, orderID, order.PartiallyRefunded, 700, 1)
				require.Len(t, r.Sandbox.Refunds(payment), 1)
			})
		}
	}
}

// TestAReportMayBeFasterThanTheAnswer: the report of a refund may arrive before
// the answer that made it.
func TestAReportMayBeFasterThanTheAnswer(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	r.Sandbox.LoseAnswers(1, "/v1/refunds")
	r.refund(t, orderID, 700).Is(t, http.StatusCreated)
	refundID := r.unfinished(t, orderID)
	r.apply(t, payment)
	r.refunded(t, orderID, order.PartiallyRefunded, 700, 1)
	require.Equal(t, []string{"SUCCEEDED 700"}, r.refunds(t, orderID))
	r.finish(t, refundID)
	r.finish(t, "ref_that_never_was")
	r.refunded(t, orderID, order.PartiallyRefunded, 700, 1)
	require.Equal(t, 1, r.Sandbox.Count("POST", "/v1/refunds"))
}

// TestARefundThatIsRefusedLaterEnds: its job ends too.
func TestARefundThatIsRefusedLaterEnds(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	r.Sandbox.Down(true)
	r.refund(t, orderID, 700).Is(t, http.StatusCreated)
	_, err := r.Sandbox.Refund(payment, 0)
	require.NoError(t, err)
	r.Sandbox.Down(false)
	r.finish(t, r.unfinished(t, orderID))
	require.Equal(t, []string{"FAILED 700"}, r.refunds(t, orderID))
	r.apply(t, payment)
	r.refunded(t, orderID, order.Refunded, 1000, 1)
}

// TestARefundWithAnUnknownOutcome: without an answer it doesn't count as not
// made, or its amount could be given back twice.
func TestARefundWithAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	connect := func(accountID string) {
		_, err := r.Pool.Exec(t.Context(), "UPDATE orders SET processor_account_id = $1 WHERE id = $2", accountID, orderID)
		require.NoError(t, err)
	}
	r.Sandbox.LoseAnswers(1, "/v1/refunds")
	r.refund(t, orderID, 400).Is(t, http.StatusCreated)
	refundID := r.unfinished(t, orderID)
	connect("acct_gone")
	_, err := r.Orders.FinishRefund(t.Context(), order.FinishRefundArgs{RefundID: refundID})
	require.Error(t, err)
	require.Equal(t, refundID, r.unfinished(t, orderID))
	r.refund(t, orderID, 601).Problem(t, http.StatusBadRequest, "refund_too_large")
	connect(r.account)
	r.finish(t, refundID)
	r.refunded(t, orderID, order.PartiallyRefunded, 400, 1)
	require.Len(t, r.Sandbox.Refunds(payment), 1)
}

func TestARepeatedRequestIsOneRefund(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	send := func() apitest.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+refundPath(orderID), http.NoBody)
		require.NoError(t, err)
		req.Header.Set("Idempotency-Key", "refund-1")
		return r.owner.Do(t, req)
	}
	first := send().Is(t, http.StatusCreated)
	require.Equal(t, first.Body, send().Is(t, http.StatusCreated).Body)
	require.Len(t, r.Sandbox.Refunds(payment), 1)
}
