package order_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/order"
	"showfloor/internal/testkit/apitest"
)

// refundWith requests a refund with an Idempotency-Key, "" for none.
func (r *rig) refundWith(t *testing.T, orderID, body, key string) apitest.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL+refundPath(orderID), strings.NewReader(body))
	require.NoError(t, err)
	req.Header.Set("Content-Type", "application/json")
	if key != "" {
		req.Header.Set("Idempotency-Key", key)
	}
	return r.owner.Do(t, req)
}

// shownRefund is a refund as the API shows it.
type shownRefund struct {
	ID, Status, Source    string
	AmountCents           int64
	Reason, FailureReason *string
	ProcessorRefundID     *string
	CreatedAt, UpdatedAt  time.Time
}

type shownOrder struct {
	Status        string
	RefundedCents int64
	Refunds       []shownRefund
}

// TestTwoClientsRefundsWhileTheProcessorIsAway: an accepted refund is a 201 with
// the status PENDING. A second client, or a retry of the first, gets a conflict
// that names the refund. No amount is given back twice.
func TestTwoClientsRefundsWhileTheProcessorIsAway(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(r *rig){
		"gone":              func(r *rig) { r.Sandbox.Refuse(true) },
		"breaks off":        func(r *rig) { r.Sandbox.Down(true) },
		"fails":             func(r *rig) { r.Sandbox.Fail(2, "/v1/refunds", http.StatusBadGateway) },
		"loses its answers": func(r *rig) { r.Sandbox.LoseAnswers(2, "/v1/refunds") },
		"has too much":      func(r *rig) { r.Sandbox.Fail(2, "/v1/refunds", http.StatusTooManyRequests) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, apitest.Options{})
			orderID, payment := r.sale(t, 3)
			away(r)
			var o shownOrder
			r.refund(t, orderID, 700).Into(t, http.StatusCreated, &o)
			require.Equal(t, "PAID", o.Status, "nothing is given back yet")
			require.Zero(t, o.RefundedCents)
			require.Len(t, o.Refunds, 1)
			first := o.Refunds[0]
			require.Equal(t, []any{"PENDING", "api", int64(700)}, []any{first.Status, first.Source, first.AmountCents})

			p := r.refund(t, orderID, 700).Problem(t, http.StatusConflict, "conflict")
			require.Contains(t, p.Message, first.ID)
			r.refundWith(t, orderID, `{"amountCents":700}`, "another").Into(t, http.StatusCreated, &o)
			require.Equal(t, "PENDING", o.Refunds[0].Status)
			require.NotEqual(t, first.ID, o.Refunds[0].ID)
			r.refund(t, orderID, 1601).Problem(t, http.StatusBadRequest, "refund_too_large")

			r.Sandbox.Refuse(false)
			r.Sandbox.Down(false)
			r.Clock.Advance(time.Minute)
			for _, refund := range o.Refunds {
				r.finish(t, refund.ID)
			}
			require.Equal(t, []string{"SUCCEEDED 700", "SUCCEEDED 700"}, r.refunds(t, orderID))
			r.refunded(t, orderID, order.PartiallyRefunded, 1400, 2)
			require.Len(t, r.Sandbox.Refunds(payment), 2)
			r.refund(t, orderID, 700).Is(t, http.StatusCreated)
		})
	}
}
