package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"showfloor/gen/db"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

func TestRefundable(t *testing.T) {
	t.Parallel()
	paid := db.Order{TotalCents: 1000, PaidAt: new(time.Now()), ProcessorAccountID: new("acct_1"), PaymentIntentID: new("pi_1")}
	given := []db.Refund{{Status: refundSucceeded, AmountCents: 300}, {Status: refundPending, AmountCents: 200}, {Status: refundFailed, AmountCents: 900}}
	for name, c := range map[string]struct {
		order   db.Order
		refunds []db.Refund
		asked   *int64
		want    int64
		code    string
	}{
		"all":          {paid, nil, nil, 1000, ""},
		"a part":       {paid, nil, new(int64(1)), 1, ""},
		"the rest":     {paid, given, nil, 500, ""},
		"what is left": {paid, given, new(int64(500)), 500, ""},
		"too much":     {paid, given, new(int64(501)), 0, "refund_too_large"},
		"nothing left": {paid, []db.Refund{{Status: refundPending, AmountCents: 1000}}, new(int64(1)), 0, "conflict"},
		"not paid":     {db.Order{TotalCents: 1000}, nil, nil, 0, "conflict"},
		"free":         {db.Order{PaidAt: paid.PaidAt}, nil, nil, 0, "conflict"},
		"no payment":   {db.Order{TotalCents: 1000, PaidAt: paid.PaidAt}, nil, nil, 0, "conflict"},
	} {
		got, err := refundable(c.order, c.refunds, c.asked)
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.code == "", err == nil, name)
		require.True(t, err == nil || problem.Is(err, c.code), name)
	}
}

// TestListsOfRefundsMayComeInAnyOrder, old ones after new ones: once all have come,
// an order is as the newest says, and each refund was told of once.
func TestListsOfRefundsMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var lists [][]processor.Refund // as the processor would answer, in time
		var now []processor.Refund
		for i := range rapid.IntRange(1, 4).Draw(t, "refunds") {
			made := processor.Refund{ID: string(rune('a' + i)), AmountCents: 100, Status: processor.RefundPending}
			now = append([]processor.Refund{made}, now...)
			lists = append(lists, append([]processor.Refund(nil), now...))
			if rapid.Bool().Draw(t, "fails") {
				now[rapid.IntRange(0, i).Draw(t, "which")].Status = processor.RefundFailed
				lists = append(lists, append([]processor.Refund(nil), now...))
			}
		}
		o, rows, told := db.Order{TotalCents: 400, Status: Paid}, []db.Refund(nil), map[string]int{}
		for _, list := range append(rapid.Permutation(lists).Draw(t, "order"), lists[len(lists)-1]) {
			for _, st := range steps(rows, list) {
				o = refunded(o, st.cents)
				if st.status == refundSucceeded {
					told[st.refund.ID]++
				}
				if st.row == nil {
					rows = append(rows, db.Refund{ID: "ours-" + st.refund.ID, AmountCents: 100, Status: st.status, ProcessorRefundID: &st.refund.ID})
				} else {
					st.row.Status = st.status
				}
			}
		}
		want := int64(0)
		for _, r := range now {
			if r.Status != processor.RefundFailed {
				want += r.AmountCents
				require.Equal(t, 1, told[r.ID])
			}
			require.LessOrEqual(t, told[r.ID], 1)
		}
		require.Equal(t, want, o.RefundedCents)
		require.Equal(t, refunded(db.Order{TotalCents: 400}, want).Status, o.Status)
	})
}

func TestWhatAnOrderIsAfterARefund(t *testing.T) {
	t.Parallel()
	handedOver := time.Now()
	for _, c := range []struct {
		before    int64
		cents     int64
		fulfilled *time.Time
		status    string
		after     int64
	}{
		{0, 1, nil, PartiallyRefunded, 1},
		{0, 1000, nil, Refunded, 1000},
		{999, 1, &handedOver, Refunded, 1000},
		{400, -400, nil, Paid, 0},
		{400, -400, &handedOver, Fulfilled, 0},
		{1000, -1, &handedOver, PartiallyRefunded, 999},
		{1000, 1, nil, Refunded, 1000},
	} {
		got := refunded(db.Order{TotalCents: 1000, RefundedCents: c.before, FulfilledAt: c.fulfilled}, c.cents)
		require.Equal(t, c.status, got.Status)
		require.Equal(t, c.after, got.RefundedCents)
	}
}

// TestAForgedMark: a seller who refunds at the processor can mark that with the id
// of a refund of ours, which must not hide it.
func TestAForgedMark(t *testing.T) {
	t.Parallel()
	rows := []db.Refund{
		{ID: "ref_done", AmountCents: 300, Status: refundSucceeded, ProcessorRefundID: new("re_1")},
		{ID: "ref_waits", AmountCents: 200, Status: refundPending},
	}
	ours := processor.Refund{ID: "re_1", RefundID: "ref_done", AmountCents: 300}
	require.Empty(t, steps(rows, []processor.Refund{ours}))
	for _, forged := range []processor.Refund{{ID: "re_2", RefundID: "ref_done", AmountCents: 300}, {ID: "re_2", RefundID: "ref_waits", AmountCents: 1}} {
		require.Equal(t, []step{{nil, forged, refundSucceeded, forged.AmountCents}}, steps(rows, []processor.Refund{forged, ours}))
	}
}
