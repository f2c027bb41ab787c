package order_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
)

func (r *rig) applyDisputes(t *testing.T, paymentIntentID string) {
	t.Helper()
	require.NoError(t, r.Orders.ApplyDisputes(t.Context(), r.account, paymentIntentID))
}

// disputeEvents lists the statuses in the order's dispute events.
func (r *rig) disputeEvents(t *testing.T) (opened, closed []any) {
	t.Helper()
	for _, data := range r.events(t, "purchase.disputed") {
		opened = append(opened, data["status"])
	}
	for _, data := range r.events(t, "purchase.dispute_closed") {
		closed = append(closed, data["status"])
	}
	return opened, closed
}

// TestADispute follows a dispute from the inquiry to its end. Every report comes
// twice.
func TestADispute(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	require.Empty(t, r.order(t, orderID).Disputes)
	at := r.Clock.Now()
	made, err := r.Sandbox.Dispute(payment, "warning_needs_response", "product_not_received")
	require.NoError(t, err)
	r.applyDisputes(t, payment)
	r.applyDisputes(t, payment)
	o := r.order(t, orderID)
	require.Len(t, o.Disputes, 1)
	d := o.Disputes[0]
	require.Equal(t, []any{made.ID, api.DisputeStatus("WARNING_NEEDS_RESPONSE"), "product_not_received", int64(1000), "usd"},
		[]any{d.ProcessorDisputeID, d.Status, d.Reason, d.AmountCents, d.Currency})
	require.Equal(t, at.Unix(), d.OpenedAt.Unix())
	require.Equal(t, made.DueBy, d.EvidenceDueAt.MustGet().Unix())
	require.True(t, d.ClosedAt.IsNull())

	r.Clock.Advance(time.Minute)
	for _, status := range []string{"needs_response", "under_review", "lost"} {
		require.NoError(t, r.Sandbox.SetDispute(made.ID, status))
		r.applyDisputes(t, payment)
		r.applyDisputes(t, payment)
	}
	o = r.order(t, orderID)
	require.Equal(t, api.DisputeStatus("LOST"), o.Disputes[0].Status)
	require.Equal(t, r.Clock.Now(), o.Disputes[0].ClosedAt.MustGet().Time)
	require.True(t, o.Disputes[0].EvidenceDueAt.IsNull())
	require.Equal(t, r.Clock.Now(), o.UpdatedAt.Time)
	require.Equal(t, []any{api.OrderStatus("PAID"), int64(0)}, []any{o.Status, o.RefundedCents})
	opened, closed := r.disputeEvents(t)
	require.Equal(t, []any{"WARNING_NEEDS_RESPONSE", "NEEDS_RESPONSE"}, opened)
	require.Equal(t, []any{"LOST"}, closed)
}

// TestDisputesOfOneOrder: they are listed newest first. A dispute that is closed
// before its first report causes both events.
func TestDisputesOfOneOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	first, err := r.Sandbox.Dispute(payment, "needs_response", "fraudulent")
	require.NoError(t, err)
	require.NoError(t, r.Sandbox.SetDispute(first.ID, "won"))
	r.Clock.Advance(time.Hour)
	second, err := r.Sandbox.Dispute(payment, "needs_response", "general")
	require.NoError(t, err)
	r.applyDisputes(t, payment)
	o := r.order(t, orderID)
	require.Len(t, o.Disputes, 2)
	require.Equal(t, []string{second.ID, first.ID}, []string{o.Disputes[0].ProcessorDisputeID, o.Disputes[1].ProcessorDisputeID})
	opened, closed := r.disputeEvents(t)
	require.Equal(t, []any{"WON", "NEEDS_RESPONSE"}, opened)
	require.Equal(t, []any{"WON"}, closed)
}

// TestADisputeOfNoOrder: the problem is not_found, also with another seller's
// account.
func TestADisputeOfNoOrder(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	_, err := r.Sandbox.Dispute(payment, "needs_response", "fraudulent")
	require.NoError(t, err)
	other := r.Register(t).Seller(t)
	require.True(t, problem.Is(r.Orders.ApplyDisputes(t.Context(), other, payment), "not_found"))
	require.True(t, problem.Is(r.Orders.ApplyDisputes(t.Context(), r.account, "pi_none"), "not_found"))
	require.Empty(t, r.order(t, orderID).Disputes)
	require.Equal(t, order.Paid, r.row(t, orderID).Status)
}

// TestAnEarlierAnswerAboutDisputes: a late answer doesn't reopen a closed dispute.
func TestAnEarlierAnswerAboutDisputes(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	orderID, payment := r.sale(t, 1)
	made, err := r.Sandbox.Dispute(payment, "won", "fraudulent")
	require.NoError(t, err)
	r.applyDisputes(t, payment)
	_, err = r.Pool.Exec(t.Context(), "UPDATE orders SET payment_answered = payment_answered + 2 WHERE id = $1", orderID)
	require.NoError(t, err)
	require.NoError(t, r.Sandbox.SetDispute(made.ID, "under_review"))
	for _, want := range []api.DisputeStatus{"WON", "WON", "UNDER_REVIEW"} {
		r.applyDisputes(t, payment)
		require.Equal(t, want, r.order(t, orderID).Disputes[0].Status)
	}
}
