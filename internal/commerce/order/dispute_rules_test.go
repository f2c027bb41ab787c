package order

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/outflow/event"
)

func TestStepsOfADispute(t *testing.T) {
	t.Parallel()
	const opened, closed = event.PurchaseDisputed, event.PurchaseDisputeClosed
	due := time.Now()
	for name, c := range map[string]struct {
		before, after string // before is empty for a new dispute
		changes       bool
		events        []string
	}{
		"a new inquiry":         {"", processor.InquiryNeedsResponse, true, []string{opened}},
		"a new chargeback":      {"", processor.DisputeNeedsResponse, true, []string{opened}},
		"new, and lost":         {"", processor.DisputeLost, true, []string{opened, closed}},
		"the same":              {processor.DisputeNeedsResponse, processor.DisputeNeedsResponse, false, nil},
		"answered":              {processor.DisputeNeedsResponse, processor.DisputeUnderReview, true, nil},
		"an inquiry escalates":  {processor.InquiryUnderReview, processor.DisputeNeedsResponse, true, []string{opened}},
		"an inquiry ends":       {processor.InquiryUnderReview, processor.InquiryClosed, true, []string{closed}},
		"won":                   {processor.DisputeUnderReview, processor.DisputeWon, true, []string{closed}},
		"won, again":            {processor.DisputeWon, processor.DisputeWon, false, nil},
		"lost after it was won": {processor.DisputeWon, processor.DisputeLost, true, []string{closed}},
		"opened again":          {processor.InquiryClosed, processor.DisputeNeedsResponse, true, []string{opened}},
	} {
		var rows []db.Dispute
		if c.before != "" {
			rows = []db.Dispute{{ProcessorDisputeID: "dp_0"}, {ProcessorDisputeID: "dp_1", Status: c.before, AmountCents: 5, EvidenceDueAt: &due}}
		}
		d := processor.Dispute{ID: "dp_1", Status: c.after, AmountCents: 5, EvidenceDueAt: &due}
		st, changes := disputeStepOf(rows, d)
		require.Equal(t, c.changes, changes, name)
		require.Equal(t, c.events, st.events, name)
		require.Equal(t, c.before == "", st.row == nil, name)
		if c.before != "" && !c.changes {
			d.AmountCents++
			_, changes = disputeStepOf(rows, d)
			require.True(t, changes, "%s, with another amount", name)
		}
	}
}
