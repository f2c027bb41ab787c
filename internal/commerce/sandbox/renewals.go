//nolint:goconst // names of fields are clearest in place
package sandbox

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// dueThing is something that happens at a time of Billing's clock. Things of one time happen by rank, then by seq.
type dueThing struct {
	at   int64
	rank int
	seq  uint64
	do   func(c *change)
}

// Ranks of things that are due at the same time: a schedule's phase changes the items before the renewal bills them.
const (
	rankSchedule = iota
	rankWarning
	rankPeriod
	rankInvoice
	rankExpiry
)

func (d dueThing) before(other dueThing) bool {
	return cmp.Or(cmp.Compare(d.at, other.at), cmp.Compare(d.rank, other.rank), cmp.Compare(d.seq, other.seq)) < 0
}

// next returns what is due first.
func (b *billing) next() dueThing {
	if !b.stale {
		return b.nextDue
	}
	var first dueThing
	add := func(at int64, rank int, seq uint64, do func(c *change)) {
		if d := (dueThing{at, rank, seq, do}); at > 0 && (first.do == nil || d.before(first)) {
			first = d
		}
	}
	for _, sub := range b.subscriptions.rows {
		sub.due(add)
	}
	for _, i := range b.invoices.rows {
		i.due(add)
	}
	for _, sched := range b.schedules.rows {
		sched.due(add)
	}
	b.nextDue, b.stale = first, false
	return first
}

type addDue func(at int64, rank int, seq uint64, do func(c *change))

func (sub Subscription) due(add addDue) {
	if sub.ended() {
		return
	}
	if sub.Status == Incomplete {
		add(sub.ExpiresAt, rankExpiry, sub.Seq, func(c *change) { c.expireIncomplete(sub) })
		return
	}
	if sub.Pending != nil {
		add(sub.Pending.ExpiresAt, rankExpiry, sub.Seq, func(c *change) { c.void(c.invoices.rows[sub.Pending.InvoiceID]) })
	}
	if sub.ResumesAt > 0 {
		add(sub.ResumesAt, rankWarning, sub.Seq, func(c *change) {
			c.update(sub, func(sub *Subscription) { sub.Pause, sub.ResumesAt = "", 0 })
		})
	}
	if sub.CancelAt > 0 {
		add(sub.CancelAt, rankPeriod, sub.Seq, func(c *change) { c.finish(sub) })
	}
	if sub.Status == Trialing && !sub.Warned {
		add(sub.TrialEnd-trialWarning, rankWarning, sub.Seq, func(c *change) { c.warn(sub) })
	}
	if sub.Status != Paused {
		add(sub.PeriodEnd, rankPeriod, sub.Seq, func(c *change) { c.renew(sub) })
	}
}

func (i Invoice) due(add addDue) {
	switch i.Status {
	case Draft:
		add(i.FinalizesAt, rankInvoice, i.Seq, func(c *change) { _ = c.collect(i) }) // a failed charge has its effect already
	case StatusOpen:
		add(i.NextAttempt, rankInvoice, i.Seq, func(c *change) { _ = c.attempt(i.ID, c.cardOfInvoice(i), false, true) })
		add(i.VoidsAt, rankExpiry, i.Seq, func(c *change) { c.void(i) })
		if !i.Overdue {
			add(i.DueDate, rankInvoice, i.Seq, func(c *change) { c.overdue(i) })
		}
	}
}

// settleDue does all that is due, each thing in a change of its own and at its own time. The caller holds the lock.
func (s *Server) settleDue(now time.Time) error {
	for {
		d := s.state.next()
		at := time.Unix(d.at, 0)
		if d.do == nil || at.After(now.Add(s.state.offset)) {
			return nil
		}
		if err := s.commit(at.Add(-s.state.offset), func(c *change) error {
			d.do(c)
			return nil
		}); err != nil {
			return err
		}
	}
}

// renew ends a period or a trial, and starts and bills the next one.
func (c *change) renew(sub Subscription) {
	sub = c.subscriptions.rows[sub.ID]
	if sub.CancelAtPeriodEnd {
		c.finish(sub)
		return
	}
	trial := sub.Status == Trialing
	if trial && !sub.SendsInvoice && c.cardOf(sub) == "" && c.endTrialWithoutCard(sub) {
		return
	}
	start, end, closed := sub.PeriodStart, sub.PeriodEnd, sub
	if sub.Closing != nil {
		closed.Items = sub.Closing
	}
	sub = c.update(sub, func(sub *Subscription) {
		if trial {
			sub.Anchor, sub.Status = end, Active
		}
		sub.Closing = nil
		sub.PeriodStart, sub.PeriodEnd = end, c.mainPrice(sub.Items).nextAfter(sub.Anchor, end)
	})
	i := c.newInvoice(sub.CustomerID, &sub, "subscription_cycle")
	i.PeriodStart, i.PeriodEnd = start, end
	if !trial {
		i.Lines = c.usageLines(closed, start, end)
	}
	i.Lines = append(i.Lines, c.takePending(&i, sub.CustomerID, sub.ID)...)
	i.Lines = append(i.Lines, c.periodLines(sub)...)
	c.issue(i, !trial && c.hasMetered(closed.Items))
}

// endTrialWithoutCard cancels or pauses a subscription whose trial ends without a card. It reports whether it did.
func (c *change) endTrialWithoutCard(sub Subscription) bool {
	switch sub.WithoutCard {
	case "cancel":
		c.cancel(sub)
	case "pause":
		sub = c.update(sub, func(sub *Subscription) { sub.Status = Paused })
		c.report("customer.subscription.paused", c.renderSubscription(sub))
	default:
		return false
	}
	return true
}

// issue stores a subscription's new invoice and collects it, unless the subscription is paused or unpaid. later: the draft stays for an
// hour.
func (c *change) issue(i Invoice, later bool) {
	sub := c.subscriptions.rows[i.SubscriptionID]
	c.countUsage(&i)
	c.compute(&i)
	if later {
		i.FinalizesAt = c.unix() + hour
	}
	if sub.Status == Unpaid || sub.Pause == "keep_as_draft" {
		i.AutoAdvance, i.FinalizesAt = false, 0
	}
	c.set(billingRecord{Invoice: &i})
	c.report("invoice.created", c.renderInvoice(i))
	c.update(sub, func(sub *Subscription) { sub.InvoiceID = i.ID })
	switch {
	case !i.AutoAdvance:
	case sub.Pause == Void:
		if i = c.finalize(i); i.Status == StatusOpen {
			c.void(i)
		}
	case sub.Pause == "mark_uncollectible":
		if i = c.finalize(i); i.Status == StatusOpen {
			c.writeOff(i)
		}
	case !later:
		_ = c.collect(i) // a failed charge has its effect already
	}
}

// overdue marks a sent invoice that wasn't paid in time.
func (c *change) overdue(i Invoice) {
	before := i
	i.Overdue = true
	c.setInvoice(before, i)
	c.report("invoice.overdue", c.renderInvoice(i))
	c.missed(i, false)
}

// finish ends a subscription at its period's end and bills the usage of the period.
func (c *change) finish(sub Subscription) {
	sub = c.subscriptions.rows[sub.ID]
	if lines := c.usageLines(sub, sub.PeriodStart, c.unix()); len(lines) > 0 && sub.Status != Trialing {
		i := c.newInvoice(sub.CustomerID, &sub, "subscription_cycle")
		i.PeriodStart, i.PeriodEnd = sub.PeriodStart, c.unix()
		i.Lines = slices.Concat(lines, c.takePending(&i, sub.CustomerID, sub.ID))
		c.issue(i, true)
	}
	c.cancel(sub)
}

// cancel ends a subscription at once.
func (c *change) cancel(sub Subscription) Subscription {
	reason := sub.CancelReason
	sub = c.subscriptions.rows[sub.ID]
	if sub.CancelReason = reason; reason == "" {
		sub.CancelReason = "cancellation_requested"
	}
	if p := sub.Pending; p != nil {
		sub.Pending = nil
		c.set(billingRecord{Subscription: &sub})
		c.void(c.invoices.rows[p.InvoiceID])
	}
	sub.Status, sub.EndedAt = Canceled, c.unix()
	if sub.CanceledAt == 0 {
		sub.CanceledAt = sub.EndedAt
	}
	c.set(billingRecord{Subscription: &sub})
	c.report("customer.subscription.deleted", c.renderSubscription(sub))
	for _, i := range c.invoices.oldest(func(i Invoice) bool { return i.SubscriptionID == sub.ID && i.Status == StatusOpen }) {
		before := i
		i.NextAttempt, i.AutoAdvance = 0, false
		c.setInvoice(before, i)
	}
	if sched, known := c.schedules.rows[sub.ScheduleID]; known && sched.Status == Active {
		c.endSchedule(sched, Canceled)
	}
	return sub
}

// expireIncomplete ends a subscription whose first invoice wasn't paid in time.
func (c *change) expireIncomplete(sub Subscription) {
	sub = c.update(sub, func(sub *Subscription) { sub.Status, sub.EndedAt, sub.ExpiresAt = IncompleteExpired, c.unix(), 0 })
	if i := c.invoices.rows[sub.InvoiceID]; i.Status == StatusOpen {
		c.void(i)
	}
}

// usageLines returns a line for each metered item and its usage from start to end. Usage before the item was added isn't billed.
func (c *change) usageLines(sub Subscription, start, end int64) []InvoiceLine {
	var lines []InvoiceLine
	for _, item := range sub.Items {
		if p := c.prices[item.PriceID]; p.Metered {
			lines = append(lines, InvoiceLine{
				ID: newID("il_"), PriceID: p.ID, Start: max(start, item.Since), End: end, ItemID: item.ID, Metered: true, Metadata: sub.Metadata,
			})
		}
	}
	return lines
}

// countUsage fills the metered lines with the usage as it is known now.
func (c *change) countUsage(i *Invoice) {
	i.Lines = slices.Clone(i.Lines)
	for n := range i.Lines {
		l := &i.Lines[n]
		if !l.Metered {
			continue
		}
		p := c.prices[l.PriceID]
		l.Quantity = c.sumUsage(p.MeterID, i.CustomerID, l.Start, l.End)
		l.Cents = p.cents(l.Quantity)
		l.Description = fmt.Sprintf("%d × %s (at %s / %s)", l.Quantity, c.products[p.ProductID].Name, p.unit(), p.Interval)
	}
}
