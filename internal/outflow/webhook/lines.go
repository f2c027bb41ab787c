package webhook

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
)

// The deliveries to one endpoint about one subject are a line: each waits for the first attempt of
// the one before it.

// lineDelivery is a delivery in its line.
type lineDelivery struct {
	id, tenantID, endpointID, eventID, subject string
	// sequence is the number of the event within its subject.
	sequence int64
	// nextID is the delivery that waits for this one; empty for none.
	nextID string
}

// linkLines makes each delivery of the list wait for the one before it in its line. It returns the
// first delivery of each line.
func linkLines(list []lineDelivery) (heads []lineDelivery) {
	type line struct{ endpointID, subject string }
	last := map[line]int{}
	var first []int
	for i, d := range list {
		l := line{d.endpointID, d.subject}
		if before, waits := last[l]; waits {
			list[before].nextID = d.id
		} else {
			first = append(first, i)
		}
		last[l] = i
	}
	for _, i := range first {
		heads = append(heads, list[i])
	}
	return heads
}

// joinLines makes each head wait for the first attempt of the last older delivery of its line, if that
// attempt is still pending. The record of that attempt adds the job. joinLines returns the heads that
// wait for none and need a job.
func joinLines(ctx context.Context, q *db.Queries, heads []lineDelivery) (start []string, err error) {
	if len(heads) == 0 {
		return nil, nil
	}
	var p db.JoinLinesParams
	for _, h := range heads {
		p.TenantIds, p.EndpointIds = append(p.TenantIds, h.tenantID), append(p.EndpointIds, h.endpointID)
		p.Subjects, p.NextIds = append(p.Subjects, h.subject), append(p.NextIds, h.id)
	}
	waiting, err := q.JoinLines(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("join lines of deliveries: %w", err)
	}
	waits := make(map[string]bool, len(waiting))
	for _, deliveryID := range waiting {
		waits[deliveryID] = true
	}
	for _, h := range heads {
		if !waits[h.id] {
			start = append(start, h.id)
		}
	}
	return start, nil
}

// newDeliveries returns the parameters that write deliveries whose first attempt is due now.
func newDeliveries(list []lineDelivery, now time.Time) db.CreateWebhookDeliveriesParams {
	p := db.CreateWebhookDeliveriesParams{Now: now}
	for _, d := range list {
		p.Ids, p.TenantIds = append(p.Ids, d.id), append(p.TenantIds, d.tenantID)
		p.EndpointIds, p.EventIds = append(p.EndpointIds, d.endpointID), append(p.EventIds, d.eventID)
		p.Subjects, p.Sequences = append(p.Subjects, d.subject), append(p.Sequences, d.sequence)
		p.NextIds = append(p.NextIds, d.nextID)
	}
	return p
}
