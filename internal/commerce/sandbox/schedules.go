//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"slices"
	"strconv"
)

// Phase is a phase of a schedule.
type Phase struct {
	Start   int64             `json:"start"`
	End     int64             `json:"end"`
	Items   []Item            `json:"items"`
	Prorate string            `json:"prorate"`
	Data    map[string]string `json:"metadata"`
}

// Schedule changes the items of a subscription at planned times.
type Schedule struct {
	ID             string            `json:"id"`
	Seq            uint64            `json:"seq"`
	Created        int64             `json:"created"`
	CustomerID     string            `json:"customerId"`
	SubscriptionID string            `json:"subscriptionId"`
	Status         string            `json:"status"`
	Phases         []Phase           `json:"phases"`
	Current        int               `json:"current"`
	EndBehavior    string            `json:"endBehavior"`
	Metadata       map[string]string `json:"metadata"`
	EndedAt        int64             `json:"endedAt"`
}

// Released is the state of a schedule that has left its subscription. Active and Canceled are among the subscription's states.
const Released = "released"

// maxPhases limits the phases of a schedule.
const maxPhases = 10

func scheduleRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"POST /v1/subscription_schedules":              createSchedule,
		"GET /v1/subscription_schedules":               listSchedules,
		"GET /v1/subscription_schedules/{id}":          getSchedule,
		"POST /v1/subscription_schedules/{id}":         updateSchedule,
		"POST /v1/subscription_schedules/{id}/release": releaseSchedule,
		"POST /v1/subscription_schedules/{id}/cancel":  cancelSchedule,
	}
}

// createSchedule makes a schedule from a subscription: its one phase is the current period.
func createSchedule(c *call) (any, error) {
	id := c.must("from_subscription")
	metadata := c.metadata()
	if err := c.done(); err != nil {
		return nil, err
	}
	sub, known := c.subscriptions.rows[id]
	switch {
	case !known:
		return nil, none("subscription", id, "from_subscription")
	case sub.ended():
		return nil, refuse("", "from_subscription", "You cannot migrate a subscription that is already canceled.")
	case sub.Status == Paused:
		return nil, refuse("", "from_subscription", "You cannot migrate a subscription that is paused: it has no current period.")
	case sub.ScheduleID != "":
		return nil, refuse("", "from_subscription", "You cannot migrate a subscription that is already attached to a schedule: `%s`",
			sub.ScheduleID)
	}
	sched := Schedule{
		ID: newID("sub_sched_"), Seq: c.next(), Created: c.unix(), CustomerID: sub.CustomerID, SubscriptionID: sub.ID, Status: Active,
		EndBehavior: "release", Metadata: metadata,
		Phases: []Phase{{Start: sub.PeriodStart, End: sub.PeriodEnd, Items: sub.Items, Prorate: "create_prorations", Data: map[string]string{}}},
	}
	c.set(billingRecord{Schedule: &sched})
	c.update(sub, func(sub *Subscription) { sub.ScheduleID = sched.ID })
	c.report("subscription_schedule.created", sched.render())
	return sched.render(), nil
}

// schedule returns the schedule of the path, after the parameters are read.
func (c *call) schedule() (Schedule, error) {
	if err := c.done(); err != nil {
		return Schedule{}, err
	}
	sched, known := c.schedules.rows[c.r.PathValue("id")]
	if !known {
		return sched, none("subscription_schedule", c.r.PathValue("id"), "id")
	}
	return sched, nil
}

func getSchedule(c *call) (any, error) {
	sched, err := c.schedule()
	if err != nil {
		return nil, err
	}
	return sched.render(), nil
}

func listSchedules(c *call) (any, error) {
	customer := c.text("customer")
	return pageOf(c, &c.schedules, func(sched Schedule) bool { return customer == "" || sched.CustomerID == customer },
		func(sched Schedule) string { return sched.ID }, func(sched Schedule) int64 { return sched.Created },
		func(sched Schedule) any { return sched.render() })
}

// updateSchedule replaces the phases. The current one must be among them with its start.
func updateSchedule(c *call) (any, error) {
	sched := c.schedules.rows[c.r.PathValue("id")]
	before, prorate := sched, c.oneOf("proration_behavior", "create_prorations", "always_invoice", "none")
	sched.EndBehavior, sched.Metadata = c.oneOf("end_behavior", sched.EndBehavior, "release", "cancel"), c.merged(sched.Metadata)
	var phases []Phase
	if c.has("phases") {
		phases = c.readPhases(sched)
	}
	c.ignore("default_settings")
	if _, err := c.schedule(); err != nil {
		return nil, err
	}
	if sched.Status != Active {
		return nil, refuse("", "", "You cannot update a subscription schedule that is currently in the `%s` status.", sched.Status)
	}
	if phases != nil {
		if err := c.placePhases(&sched, phases); err != nil {
			return nil, err
		}
	}
	c.set(billingRecord{Schedule: &sched})
	c.reportUpdate("subscription_schedule.updated", before.render(), sched.render())
	if err := c.enterPhase(sched, prorate); err != nil {
		return nil, err
	}
	return c.schedules.rows[sched.ID].render(), nil
}

func (c *call) readPhases(sched Schedule) []Phase {
	list := c.list("phases")
	if len(list) > maxPhases {
		c.fail(invalid("", "phases", "A schedule can have at most %d phases.", maxPhases))
		return nil
	}
	var phases []Phase
	for n, f := range list {
		p := Phase{Prorate: f.oneOf("proration_behavior", "create_prorations", "always_invoice", "none"), Data: f.metadata()}
		for _, g := range f.list("items") {
			p.Items = append(p.Items, c.readItem(g))
		}
		if n == 0 && len(sched.Phases) > sched.Current {
			p.Start = sched.Phases[sched.Current].Start
		} else if n > 0 {
			p.Start = phases[n-1].End
		}
		if start := c.moment(f, "start_date", p.Start); start != p.Start && (n > 0 || !slices.ContainsFunc(sched.Phases, func(old Phase) bool {
			return old.Start == start
		})) {
			f.fail(invalid("", f.key("start_date"), "The start date of a phase must be the end date of the phase before it (`%s`); the current "+
				"phase's can't be modified.", strconv.FormatInt(p.Start, 10)))
		} else {
			p.Start = start
		}
		p.End = c.moment(f, "end_date", 0)
		if iterations := f.amount("iterations", 1, 0); p.End == 0 && len(p.Items) > 0 {
			p.End = c.prices[p.Items[0].PriceID].after(p.Start, max(1, iterations))
		} else if iterations > 0 {
			f.fail(invalid("", f.key("iterations"), "You can not set both `end_date` and `iterations`."))
		}
		f.ignore("automatic_tax", "billing_cycle_anchor", "collection_method", "currency", "default_payment_method", "invoice_settings",
			"trial", "trial_end", "description")
		phases = append(phases, p)
	}
	return phases
}

// moment returns a time, which may be "now".
func (c *call) moment(f form, name string, otherwise int64) int64 {
	if f.text(name) == "now" {
		return c.unix()
	}
	return f.whole(name, otherwise)
}

// placePhases checks phases and finds the current one.
func (c *change) placePhases(sched *Schedule, phases []Phase) error {
	current, sub := -1, c.subscriptions.rows[sched.SubscriptionID]
	for n := range phases {
		p := &phases[n]
		if err := c.checkItems(p.Items); err != nil {
			return err
		}
		if err := c.keepsCurrency(sub, p.Items); err != nil {
			return err
		}
		if p.End <= p.Start {
			return invalid("", "phases", "The end date of phase %d must be after its start date.", n)
		}
		if p.Start <= c.unix() && c.unix() < p.End {
			current = n
		}
	}
	if current < 0 {
		return invalid("", "phases", "The current phase must be among the phases, and its end must be in the future.")
	}
	if phases[current].Start != sched.Phases[sched.Current].Start && current == 0 {
		return invalid("", "phases", "You can not modify the start date of the current phase.")
	}
	for n := range phases[current].Items {
		// An item of the same price keeps its id.
		item := &phases[current].Items[n]
		for _, own := range sub.Items {
			if own.PriceID == item.PriceID {
				item.ID, item.Created = own.ID, own.Created
			}
		}
	}
	sched.Phases, sched.Current = phases, current
	return nil
}

// enterPhase gives the subscription the items of the schedule's current phase.
func (c *change) enterPhase(sched Schedule, prorate string) error {
	sub, p := c.subscriptions.rows[sched.SubscriptionID], sched.Phases[sched.Current]
	items := slices.Clone(p.Items)
	for n := range items {
		for _, own := range sub.Items {
			if own.PriceID == items[n].PriceID {
				items[n].ID, items[n].Created = own.ID, own.Created
			}
		}
	}
	if len(items) == 1 && len(sub.Items) == 1 {
		items[0].ID, items[0].Created = sub.Items[0].ID, sub.Items[0].Created
	}
	if sub.PeriodEnd <= c.unix() {
		// At a period's end the renewal bills the new items; there is nothing to prorate.
		old, main := c.mainPrice(sub.Items), c.mainPrice(items)
		c.update(sub, func(sub *Subscription) {
			sub.Items, sub.Closing = items, sub.Items
			if old.Interval != main.Interval || old.Every != main.Every {
				sub.Anchor = c.unix()
			}
		})
		return nil
	}
	return c.changeItems(sub, subscriptionUpdate{items: items, prorate: prorate, payment: "allow_incomplete", at: c.unix()})
}

// keepPhase gives the current phase of a subscription's schedule the subscription's items.
func (c *change) keepPhase(sub Subscription) {
	sched, known := c.schedules.rows[sub.ScheduleID]
	if !known || sched.Status != Active || slices.EqualFunc(sched.Phases[sched.Current].Items, sub.Items, sameItem) {
		return
	}
	before := sched
	sched.Phases = slices.Clone(sched.Phases)
	sched.Phases[sched.Current].Items = sub.Items
	c.set(billingRecord{Schedule: &sched})
	c.reportUpdate("subscription_schedule.updated", before.render(), sched.render())
}

func (sched Schedule) due(add addDue) {
	if sched.Status == Active {
		add(sched.Phases[sched.Current].End, rankSchedule, sched.Seq, func(c *change) { c.nextPhase(sched) })
	}
}

// nextPhase ends the current phase.
func (c *change) nextPhase(sched Schedule) {
	if sched.Current+1 < len(sched.Phases) {
		before := sched
		sched.Current++
		c.set(billingRecord{Schedule: &sched})
		c.reportUpdate("subscription_schedule.updated", before.render(), sched.render())
		_ = c.enterPhase(sched, sched.Phases[sched.Current].Prorate) // a failed charge has its effect already
		return
	}
	if sched.EndBehavior == "cancel" {
		c.endSchedule(sched, "completed")
		c.finish(c.subscriptions.rows[sched.SubscriptionID])
		return
	}
	c.endSchedule(sched, Released)
}

// endSchedule removes a schedule from its subscription.
func (c *change) endSchedule(sched Schedule, status string) Schedule {
	sched.Status, sched.EndedAt = status, c.unix()
	c.set(billingRecord{Schedule: &sched})
	c.report("subscription_schedule."+status, sched.render())
	c.update(c.subscriptions.rows[sched.SubscriptionID], func(sub *Subscription) { sub.ScheduleID = "" })
	return sched
}

func releaseSchedule(c *call) (any, error) {
	c.flag("preserve_cancel_date")
	sched, err := c.schedule()
	if err != nil {
		return nil, err
	}
	if sched.Status != Active {
		return nil, refuse("", "", "You cannot release a subscription schedule that is currently in the `%s` status.", sched.Status)
	}
	return c.endSchedule(sched, Released).render(), nil
}

// cancelSchedule also cancels the subscription, at once.
func cancelSchedule(c *call) (any, error) {
	invoiceNow, prorate := c.flagOr("invoice_now", false), c.flagOr("prorate", false)
	sched, err := c.schedule()
	if err != nil {
		return nil, err
	}
	if sched.Status != Active {
		return nil, refuse("", "", "You cannot cancel a subscription schedule that is currently in the `%s` status.", sched.Status)
	}
	sched = c.endSchedule(sched, Canceled)
	sub := c.subscriptions.rows[sched.SubscriptionID]
	if prorate && sub.Status != Trialing {
		c.addPending(c.prorations(sub, Subscription{}, c.unix(), true))
	}
	if invoiceNow {
		c.billRest(sub)
	}
	c.cancel(sub)
	return sched.render(), nil
}

func (sched Schedule) render() object {
	phases := []any{}
	for _, p := range sched.Phases {
		items := []any{}
		for _, item := range p.Items {
			items = append(items, object{"price": item.PriceID, "quantity": item.Quantity, "metadata": item.Metadata, "tax_rates": []any{}})
		}
		phases = append(phases, object{
			"start_date": p.Start, "end_date": p.End, "items": items, "proration_behavior": p.Prorate, "metadata": p.Data,
			"add_invoice_items": []any{},
			"currency":          nil, "trial_end": nil, "collection_method": nil, "default_payment_method": nil,
		})
	}
	rendered := object{
		"id": sched.ID, "object": "subscription_schedule", "created": sched.Created, "livemode": false, "status": sched.Status,
		"customer": sched.CustomerID, "subscription": sched.SubscriptionID, "phases": phases, "end_behavior": sched.EndBehavior,
		"metadata": sched.Metadata, "current_phase": nil, "released_subscription": nil, "released_at": nil,
		"canceled_at": nil, "completed_at": nil,
	}
	switch sched.Status {
	case Active:
		p := sched.Phases[sched.Current]
		rendered["current_phase"] = object{"start_date": p.Start, "end_date": p.End}
	case Released:
		rendered["subscription"], rendered["released_subscription"], rendered["released_at"] = nil, sched.SubscriptionID, sched.EndedAt
	default:
		rendered[sched.Status+"_at"] = sched.EndedAt
	}
	return rendered
}
