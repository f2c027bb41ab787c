package overage

import (
	"time"

	"showfloor/internal/tenancy/usage"
)

// Times of the work on a period.
const (
	// lookEvery is how often a running period is added up, and so how often a meter is reported at most.
	lookEvery = time.Hour
	// settleEvery is how often a period is looked at whose charges are not in the processor's sums yet.
	settleEvery = 10 * time.Minute
	// flushTime is how long after the end of a period its usage is written.
	flushTime = 2 * time.Minute
	// lateEvery is how often a period that has ended is added up, for usage that is reported late, and keepOpen for how long.
	lateEvery = 24 * time.Hour
	keepOpen  = 35 * 24 * time.Hour
	// draftTime is how long after the end of a billing period reports are still sent for its invoice. The processor finalizes the draft
	// after about an hour, and needs some minutes to add a report to its sums.
	draftTime = 20 * time.Minute
	// sendTime is how long a report is sent again without an answer: much less than the 24 hours for which its identifier is unique at
	// the processor.
	sendTime = 12 * time.Hour
	// lostTime is when a report is lost that isn't in the processor's sums: long enough after sendTime for the processor to add up.
	lostTime = 23 * time.Hour
	// backMinutes is how many minutes before the end of a period can have reports that are dated back.
	backMinutes = 10
)

// headroom is the amount that the spend cap leaves to charge in a period.
type headroom struct{ left int64 }

// newHeadroom returns the headroom beside the charges that are stored already. capCents is nil for no cap.
func newHeadroom(capCents *int64, charges map[usage.Meter]int64) *headroom {
	r := &headroom{left: usage.MaxOverageCents}
	if capCents != nil {
		r.left = min(r.left, *capCents)
	}
	for _, cents := range charges {
		r.left -= cents
	}
	return r
}

// raise returns a meter's charge after its usage has the given price: never less than before, and no more than the headroom allows.
func (r *headroom) raise(before, price int64) int64 {
	more := max(0, min(price-before, r.left))
	r.left -= more
	return before + more
}

// capPercent returns the highest threshold of the spend cap that a charge has reached: 100, 80 or 0.
func capPercent(capCents *int64, cents int64) int {
	switch {
	case capCents == nil:
		return 0
	case cents >= *capCents:
		return 100
	case cents >= *capCents-*capCents/5:
		return 80
	}
	return 0
}

// nextLook returns when a period is looked at next; nil if it is closed. settled: all charges are in the processor's sums.
func nextLook(end, now time.Time, settled bool) *time.Time {
	flushed := end.Add(flushTime)
	switch {
	case now.Before(flushed):
		next := now.Add(lookEvery)
		if !settled {
			next = now.Add(settleEvery)
		}
		if next.After(flushed) {
			next = flushed
		}
		return &next
	case !settled && now.Before(end.Add(2*keepOpen)):
		return new(now.Add(settleEvery))
	case now.Before(end.Add(keepOpen)):
		return new(now.Add(lateEvery))
	default:
		return nil
	}
}

// reportTime returns the time with which a charge of a period that ends at end is reported, in whole seconds. billed is the present
// billing period's start of the subscription for overage, and since is when it began to bill the meter: earlier usage isn't billed.
// While the invoice for the billing period before is a draft, charges of the usage period that ended with it are dated back into it.
// taken are the times of the meter's earlier reports; if no minute is free, ok is false, and the charge waits for the next look.
func reportTime(end, billed, since, now time.Time, taken []time.Time) (at time.Time, ok bool) {
	minutes := map[time.Time]bool{}
	for _, t := range taken {
		minutes[t.UTC().Truncate(time.Minute)] = true
	}
	free := func(t time.Time) bool { return !t.Before(since) && !minutes[t.UTC().Truncate(time.Minute)] }
	if draft := billed.Add(draftTime); !billed.Before(end) && billed.Before(end.Add(draftTime)) && now.Before(draft) && !now.Before(end) {
		for n := range backMinutes {
			if at = end.Add(-time.Duration(n)*time.Minute - time.Second).UTC().Truncate(time.Second); free(at) {
				return at, true
			}
		}
	}
	at = now.UTC().Truncate(time.Second)
	return at, free(at)
}

// mayBeSent reports whether a report may be sent at a time: while its identifier is unique, and not after the draft of the invoice
// that would have it.
func mayBeSent(created, at, billed, now time.Time) bool {
	late := at.Before(billed) && !now.Before(billed.Add(draftTime))
	return now.Sub(created).Abs() < sendTime && !late
}
