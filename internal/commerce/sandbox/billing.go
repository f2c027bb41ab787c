//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"encoding/json"
	"maps"
	"reflect"
	"strings"
	"time"
)

// billing is the state of the platform's own Billing: customers, subscriptions and invoices.
type billing struct {
	// offset is how far Billing's clock is ahead of Config.Now.
	offset        time.Duration
	customers     table[Customer]
	cards         table[Card]
	subscriptions table[Subscription]
	invoices      table[Invoice]
	pending       table[PendingItem]
	schedules     table[Schedule]
	codes         table[PromotionCode]
	portals       table[PortalConfiguration]
	visits        table[PortalSession]
	meters        table[Meter]
	usage         table[MeterEvent]
	// stale: the next due time must be found again. nextDue is zero if nothing is due.
	stale   bool
	nextDue dueThing
}

// clockOffset is the journal's record of Server.Advance.
type clockOffset struct {
	Offset time.Duration `json:"offset"`
}

// billingRecord is the part of a record with Billing's objects.
type billingRecord struct {
	Clock        *clockOffset         `json:"clock,omitempty"`
	Customer     *Customer            `json:"customer,omitempty"`
	Card         *Card                `json:"card,omitempty"`
	Subscription *Subscription        `json:"subscription,omitempty"`
	Invoice      *Invoice             `json:"invoice,omitempty"`
	Pending      *PendingItem         `json:"pending,omitempty"`
	Schedule     *Schedule            `json:"schedule,omitempty"`
	Code         *PromotionCode       `json:"code,omitempty"`
	Portal       *PortalConfiguration `json:"portal,omitempty"`
	Visit        *PortalSession       `json:"visit,omitempty"`
	Meter        *Meter               `json:"meter,omitempty"`
	Usage        *MeterEvent          `json:"usage,omitempty"`
}

func newBilling() billing {
	return billing{
		customers: newTable[Customer](), cards: newTable[Card](), subscriptions: newTable[Subscription](), invoices: newTable[Invoice](),
		pending: newTable[PendingItem](), schedules: newTable[Schedule](), codes: newTable[PromotionCode](),
		portals: newTable[PortalConfiguration](), visits: newTable[PortalSession](), meters: newTable[Meter](), usage: newTable[MeterEvent](),
		stale: true,
	}
}

// apply stores an object. seq is its number.
func (b *billing) apply(r billingRecord) (undo func(), seq uint64) {
	b.stale = true
	switch {
	case r.Clock != nil:
		before := b.offset
		b.offset = r.Clock.Offset
		return func() { b.offset = before }, 0
	case r.Customer != nil:
		return b.customers.put(r.Customer.ID, *r.Customer), r.Customer.Seq
	case r.Card != nil:
		return b.cards.put(r.Card.ID, *r.Card), r.Card.Seq
	case r.Subscription != nil:
		return b.subscriptions.put(r.Subscription.ID, *r.Subscription), r.Subscription.Seq
	case r.Invoice != nil:
		return b.invoices.put(r.Invoice.ID, *r.Invoice), r.Invoice.Seq
	case r.Pending != nil:
		return b.pending.put(r.Pending.ID, *r.Pending), 0
	case r.Schedule != nil:
		return b.schedules.put(r.Schedule.ID, *r.Schedule), r.Schedule.Seq
	case r.Code != nil:
		return b.codes.put(r.Code.ID, *r.Code), 0
	case r.Portal != nil:
		return b.portals.put(r.Portal.ID, *r.Portal), 0
	case r.Visit != nil:
		return b.visits.put(r.Visit.ID, *r.Visit), 0
	case r.Meter != nil:
		return b.meters.put(r.Meter.ID, *r.Meter), 0
	case r.Usage != nil:
		return b.usage.put(r.Usage.ID, *r.Usage), 0
	default:
		return func() {}, 0
	}
}

// usageKept is how long usage is kept, in seconds: longer than a yearly period.
const usageKept = 400 * day

// records returns the whole state of Billing, without old usage and ended visits of the portal.
func (b *billing) records(now time.Time) []record {
	all := []record{{billingRecord: billingRecord{Clock: &clockOffset{b.offset}}}}
	add := func(r billingRecord) { all = append(all, record{billingRecord: r}) }
	for _, v := range b.customers.oldest(every) {
		add(billingRecord{Customer: &v})
	}
	for _, v := range b.cards.oldest(every) {
		add(billingRecord{Card: &v})
	}
	for _, v := range b.subscriptions.oldest(every) {
		add(billingRecord{Subscription: &v})
	}
	for _, v := range b.invoices.oldest(every) {
		add(billingRecord{Invoice: &v})
	}
	for _, v := range b.pending.oldest(every) {
		add(billingRecord{Pending: &v})
	}
	for _, v := range b.schedules.oldest(every) {
		add(billingRecord{Schedule: &v})
	}
	for _, v := range b.codes.oldest(every) {
		add(billingRecord{Code: &v})
	}
	for _, v := range b.portals.oldest(every) {
		add(billingRecord{Portal: &v})
	}
	for _, v := range b.visits.oldest(func(v PortalSession) bool { return now.Unix() < v.Created+visitTime }) {
		add(billingRecord{Visit: &v})
	}
	for _, v := range b.meters.oldest(every) {
		add(billingRecord{Meter: &v})
	}
	for _, v := range b.usage.oldest(func(e MeterEvent) bool { return now.Unix() < e.Received+usageKept }) {
		add(billingRecord{Usage: &v})
	}
	return all
}

// set stores objects of Billing.
func (c *change) set(r billingRecord) { c.put(record{billingRecord: r}) }

// today is the time of Billing's clock.
func (c *change) today() time.Time { return c.now.Add(c.offset) }

// unix is today in seconds.
func (c *change) unix() int64 { return c.today().Unix() }

// routeBilling adds the calls of the platform's own Billing, and those that list events.
func (s *Server) routeBilling() {
	for pattern, h := range eventRoutes() {
		method, path, _ := strings.Cut(pattern, " ")
		s.router.HandleFunc(method+" /api"+path, s.api(h))
	}
	for _, routes := range []map[string]func(*call) (any, error){
		customerRoutes(), subscriptionRoutes(), invoiceRoutes(), scheduleRoutes(), portalRoutes(), meterRoutes(),
	} {
		for pattern, h := range routes {
			method, path, _ := strings.Cut(pattern, " ")
			s.router.HandleFunc(method+" /api"+path, s.api(own(h)))
		}
	}
}

// own refuses a call for a seller's account, and expands the answer.
func own(h func(*call) (any, error)) func(*call) (any, error) {
	return func(c *call) (any, error) {
		if c.account != "" {
			return nil, invalid("", "", "The sandbox has Billing only for the platform's own account: send no Stripe-Account header.")
		}
		paths := c.texts("expand")
		result, err := h(c)
		if err != nil {
			return nil, err
		}
		for _, path := range paths {
			if err := c.expand(result, strings.Split(path, "."), path); err != nil {
				return nil, err
			}
		}
		return result, nil
	}
}

// expand replaces the ids at a path by the objects.
func (c *call) expand(in any, path []string, whole string) error {
	switch v := in.(type) {
	case []any:
		for _, item := range v {
			if err := c.expand(item, path, whole); err != nil {
				return err
			}
		}
	case object:
		inner, known := v[path[0]]
		if !known {
			return invalid("", "expand", "This property cannot be expanded (%s).", whole)
		}
		if id, ok := inner.(string); ok {
			found := c.renderID(id)
			if found == nil {
				return invalid("", "expand", "This property cannot be expanded (%s).", whole)
			}
			v[path[0]], inner = found, found
		}
		if len(path) > 1 {
			return c.expand(inner, path[1:], whole)
		}
	}
	return nil
}

// renderID returns the object with an id, or nil.
func (c *change) renderID(id string) any {
	prefix, _, _ := strings.Cut(id, "_")
	switch prefix {
	case "cus":
		return c.renderCustomer(c.customers.rows[id])
	case "pm":
		return c.cards.rows[id].render()
	case "sub":
		if schedule, known := c.schedules.rows[id]; known {
			return schedule.render()
		}
		return c.renderSubscription(c.subscriptions.rows[id])
	case "in":
		return c.renderInvoice(c.invoices.rows[id])
	case "pi":
		return c.payments[id].render(false)
	case "ch":
		for _, p := range c.payments {
			if p.ChargeID == id {
				return p.renderCharge()
			}
		}
	case "price":
		return c.prices[id].render()
	case "prod":
		return c.products[id].render()
	}
	return nil
}

// report emits an event of Billing at Billing's time.
func (c *change) report(kind string, about object) { c.reportAt(c.unix(), kind, about, nil) }

// reportUpdate emits an event with the values that changed. It emits none if nothing changed.
func (c *change) reportUpdate(kind string, before, after object) {
	previous := object{}
	for name, v := range before {
		if !reflect.DeepEqual(v, after[name]) {
			previous[name] = v
		}
	}
	if len(previous) > 0 {
		c.reportAt(c.unix(), kind, after, previous)
	}
}

func (c *change) reportAt(created int64, kind string, about, previous object) {
	e := Event{ID: newID("evt_"), Seq: c.next(), Type: kind, Created: created, Owed: 1, Held: c.held, NextAt: c.now}
	e.Place = e.Seq
	data := object{"object": about}
	if previous != nil {
		data["previous_attributes"] = previous
	}
	// Marshal can't fail: the payload has only maps of strings, numbers and lists.
	e.Payload, _ = json.Marshal(object{ //nolint:errchkjson // see above
		"id": e.ID, "object": "event", "api_version": Version, "created": e.Created, "livemode": false, "pending_webhooks": 1,
		"type": kind, "data": data, "request": object{"id": nullable(c.requestID), "idempotency_key": nullable(c.requestKey)},
	})
	c.put(record{Event: &e})
}

// pageOf returns a page of a table's rows that match, from the newest to the oldest.
func pageOf[T any](c *call, t *table[T], match func(T) bool, id func(T) string, created func(T) int64, render func(T) any) (any, error) {
	return page(c, t.newest(match), id, created, render)
}

// merged returns metadata after an update: an empty value deletes its key, an empty metadata parameter deletes all.
func (f form) merged(before map[string]string) map[string]string {
	if !f.has("metadata") {
		return before
	}
	after := map[string]string{}
	if f.values.Has(f.key("metadata")) {
		f.read[f.key("metadata")] = true
		return after
	}
	maps.Copy(after, before)
	for k, v := range f.metadata() {
		if v == "" {
			delete(after, k)
		} else {
			after[k] = v
		}
	}
	return after
}

// textOr returns a string, or before if it is absent.
func (f form) textOr(name, before string) string {
	if !f.has(name) {
		return before
	}
	return f.text(name)
}

// flagOr returns a boolean, or before if it is absent.
func (f form) flagOr(name string, before bool) bool {
	if !f.has(name) {
		return before
	}
	return f.flag(name)
}

// whole returns a list object with everything.
func whole(url string, data []any) object {
	if data == nil {
		data = []any{}
	}
	return object{"object": "list", "has_more": false, "data": data, "url": url, "total_count": len(data)}
}
