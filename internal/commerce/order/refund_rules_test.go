package order

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

func TestRefundable(t *testing.T) {
	t.Parallel()
	paid := db.Order{TotalCents: 1000, PaidAt: new(time.Now()), ProcessorAccountID: new("acct_1"), PaymentIntentID: new("pi_1")}
	review := paid
	review.PaidAt, review.PaidCents, review.PaidCurrency = nil, new(int64(600)), new("USD")
	given := []db.Refund{
		{ID: "ref_1", Status: refundSucceeded, AmountCents: 300},
		{ID: "ref_2", Status: refundPending, AmountCents: 200, IdempotencyKey: new("key-2")},
		{ID: "ref_3", Status: refundFailed, AmountCents: 900},
	}
	whole := []db.Refund{{ID: "ref_1", Status: refundPending, AmountCents: 1000}}
	for name, c := range map[string]struct {
		order   db.Order
		refunds []db.Refund
		asked   *int64
		key     string
		want    int64
		code    string
		names   string
	}{
		"all":                           {paid, nil, nil, "", 1000, "", ""},
		"a part":                        {paid, nil, new(int64(1)), "", 1, "", ""},
		"the rest":                      {paid, given, nil, "", 500, "", ""},
		"the remaining amount":          {paid, given, new(int64(500)), "", 500, "", ""},
		"too much":                      {paid, given, new(int64(501)), "", 0, "refund_too_large", "only 500 cents"},
		"nothing left":                  {paid, whole, new(int64(1)), "", 0, "conflict", "ref_1"},
		"nothing left, all":             {paid, whole, nil, "other", 0, "conflict", "ref_1"},
		"given in full":                 {paid, []db.Refund{{Status: refundSucceeded, AmountCents: 1000}}, nil, "", 0, "conflict", "in full"},
		"a repetition":                  {paid, given, new(int64(200)), "", 0, "conflict", "ref_2"},
		"a repetition, of all":          {paid, whole, new(int64(1000)), "", 0, "conflict", "ref_1"},
		"a repetition, by its key":      {paid, given, new(int64(200)), "key-2", 0, "conflict", "ref_2"},
		"the same again":                {paid, given, new(int64(200)), "key-3", 200, "", ""},
		"the same as one that is given": {paid, given, new(int64(300)), "", 300, "", ""},
		"the same as one that failed":   {paid, given[2:], new(int64(900)), "", 900, "", ""},
		"under review":                  {review, nil, nil, "", 600, "", ""},
		"under review, too much":        {review, nil, new(int64(601)), "", 0, "refund_too_large", "only 600 cents"},
		"not paid":                      {db.Order{TotalCents: 1000}, nil, nil, "", 0, "conflict", ""},
		"free":                          {db.Order{PaidAt: paid.PaidAt}, nil, nil, "", 0, "conflict", ""},
		"no payment":                    {db.Order{TotalCents: 1000, PaidAt: paid.PaidAt}, nil, nil, "", 0, "conflict", ""},
	} {
		got, err := refundable(c.order, c.refunds, NewRefund{AmountCents: c.asked, Key: c.key})
		require.Equal(t, c.want, got, name)
		require.Equal(t, c.code == "", err == nil, name)
		if err != nil {
			require.True(t, problem.Is(err, c.code), name)
			require.ErrorContains(t, err, c.names, name)
		}
	}
}

// history generates how a payment's refunds may develop: the processor's lists
// over time. The last list is the final state.
func history(t *rapid.T) (lists [][]processor.Refund) {
	var now []processor.Refund
	note := func() { lists = append(lists, slices.Clone(now)) }
	for i := range rapid.IntRange(1, 4).Draw(t, "refunds") {
		made := processor.Refund{ID: string(rune('a' + i)), AmountCents: 100, Status: processor.RefundPending}
		now = append([]processor.Refund{made}, now...)
		note()
		for range rapid.IntRange(0, 2).Draw(t, "steps") {
			r := &now[rapid.IntRange(0, i).Draw(t, "which")]
			if r.Status == processor.RefundPending && rapid.Bool().Draw(t, "succeeds") {
				r.Status = processor.RefundSucceeded
			} else {
				r.Status = processor.RefundFailed
			}
			note()
		}
	}
	return lists
}

// TestListsOfRefundsMayComeInAnyOrder: old lists may follow new ones. After all
// lists the order matches the newest one, and each refund caused one event for its
// end.
func TestListsOfRefundsMayComeInAnyOrder(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		lists := history(t)
		now := lists[len(lists)-1]
		paid := db.Order{TotalCents: 400, PaidAt: new(time.Now()), Status: Paid}
		o, rows, eventCount := paid, []db.Refund(nil), map[string]int{}
		for _, list := range append(rapid.Permutation(lists).Draw(t, "order"), now) {
			for _, st := range steps(rows, list) {
				eventCount[st.refund.ID+st.status]++
				if st.row == nil {
					rows = append(rows, db.Refund{ID: "ours-" + st.refund.ID, AmountCents: 100, Status: st.status, ProcessorRefundID: &st.refund.ID})
				} else { // by its id: appending rows moves them
					rows[slices.IndexFunc(rows, func(r db.Refund) bool { return r.ID == st.row.ID })].Status = st.status
				}
			}
			o = withRefunded(o, sumRefunds(rows))
		}
		want := int64(0)
		for _, r := range now {
			if r.Status == processor.RefundSucceeded {
				want += r.AmountCents
				require.Equal(t, 1, eventCount[r.ID+refundSucceeded])
			}
			require.LessOrEqual(t, eventCount[r.ID+refundSucceeded], 1)
			require.Equal(t, r.Status == processor.RefundFailed, eventCount[r.ID+refundFailed] == 1)
			require.LessOrEqual(t, eventCount[r.ID+refundFailed], 1)
		}
		require.Equal(t, want, o.RefundedCents)
		require.Equal(t, withRefunded(paid, want).Status, o.Status)
	})
}

// TestStepsOfARefund: from our row and the processor's status.
func TestStepsOfARefund(t *testing.T) {
	t.Parallel()
	ours := func(status string, processorID *string) *db.Refund {
		return &db.Refund{ID: "ref_1", AmountCents: 300, Status: status, ProcessorRefundID: processorID}
	}
	known := new("re_1")
	const pending, succeeded, failed = processor.RefundPending, processor.RefundSucceeded, processor.RefundFailed
	for name, c := range map[string]struct {
		row      *db.Refund
		reported string
		status   string // empty: nothing changes
		cents    int64
	}{
		"made there, on its way":      {nil, pending, refundPending, 0},
		"made there":                  {nil, succeeded, refundSucceeded, 300},
		"made there, failed":          {nil, failed, refundFailed, 0},
		"taken":                       {ours(refundPending, nil), pending, refundPending, 0},
		"taken, made":                 {ours(refundPending, nil), succeeded, refundSucceeded, 300},
		"taken, failed":               {ours(refundPending, nil), failed, refundFailed, 0},
		"still on its way":            {ours(refundPending, known), pending, "", 0},
		"arrived":                     {ours(refundPending, known), succeeded, refundSucceeded, 300},
		"sent back before it arrived": {ours(refundPending, known), failed, refundFailed, 0},
		"an old list":                 {ours(refundSucceeded, known), pending, "", 0},
		"as before":                   {ours(refundSucceeded, known), succeeded, "", 0},
		"sent back":                   {ours(refundSucceeded, known), failed, refundFailed, -300},
		"an old list, pending":        {ours(refundFailed, known), pending, "", 0},
		"an old list, succeeded":      {ours(refundFailed, known), succeeded, "", 0},
		"refused, but on its way":     {ours(refundFailed, nil), pending, refundPending, 0},
		"refused, but made":           {ours(refundFailed, nil), succeeded, refundSucceeded, 300},
		"refused, and failed":         {ours(refundFailed, nil), failed, "", 0},
	} {
		r := processor.Refund{ID: "re_1", RefundID: "ref_1", AmountCents: 300, Status: c.reported, FailureReason: "why"}
		st, changes := stepOf(c.row, r)
		require.Equal(t, c.status != "", changes, name)
		if changes {
			require.Equal(t, c.status, st.status, name)
			require.Equal(t, c.cents, st.cents, name)
			require.Equal(t, c.status == refundFailed, st.reason == "why", name)
		}
	}
}

func TestTheStatusOfAnOrderAfterARefund(t *testing.T) {
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
		got := withRefunded(db.Order{TotalCents: 1000, PaidAt: &handedOver, RefundedCents: c.before, FulfilledAt: c.fulfilled}, c.before+c.cents)
		require.Equal(t, c.status, got.Status)
		require.Equal(t, c.after, got.RefundedCents)
	}
	review := db.Order{TotalCents: 1000, PaidCents: new(int64(600)), PaidCurrency: new("EUR"), Status: Review}
	for cents, status := range map[int64]string{0: Review, 599: Review, 600: Refunded, 1000: Refunded} {
		require.Equal(t, status, withRefunded(review, cents).Status, cents)
	}
}

// TestAForgedMark: a seller can put the id of a refund of ours on a refund made at
// the processor. That must not hide it.
func TestAForgedMark(t *testing.T) {
	t.Parallel()
	rows := []db.Refund{
		{ID: "ref_done", AmountCents: 300, Status: refundSucceeded, ProcessorRefundID: new("re_1")},
		{ID: "ref_waits", AmountCents: 200, Status: refundPending},
	}
	ours := processor.Refund{ID: "re_1", RefundID: "ref_done", AmountCents: 300, Status: processor.RefundSucceeded}
	require.Empty(t, steps(rows, []processor.Refund{ours}))
	for _, forged := range []processor.Refund{{ID: "re_2", RefundID: "ref_done", AmountCents: 300}, {ID: "re_2", RefundID: "ref_waits", AmountCents: 1}} {
		forged.Status = processor.RefundSucceeded
		require.Equal(t, []step{{refund: forged, status: refundSucceeded, cents: forged.AmountCents}}, steps(rows, []processor.Refund{forged, ours}))
	}
}
