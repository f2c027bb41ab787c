//nolint:goconst // names of JSON fields are clearest in place
package sandbox

import (
	"slices"
	"strconv"
	"strings"
	"time"
)

// Meter sums the usage of customers.
type Meter struct {
	ID          string `json:"id"`
	Created     int64  `json:"created"`
	Name        string `json:"name"`
	EventName   string `json:"eventName"`
	CustomerKey string `json:"customerKey"`
	ValueKey    string `json:"valueKey"`
	Inactive    bool   `json:"inactive"`
}

// MeterEvent is usage of a customer at a time.
type MeterEvent struct {
	ID         string `json:"id"`
	MeterID    string `json:"meterId"`
	CustomerID string `json:"customerId"`
	At         int64  `json:"at"`
	Value      int64  `json:"value"`
	// Received is when the event came; its identifier is unique for a day. ShownAt is when it is processed: sums don't have it before.
	Received int64 `json:"received"`
	ShownAt  int64 `json:"shownAt,omitempty"`
}

// The processor's limits of a meter event's time, in seconds.
const (
	usageBack  = 35 * day
	usageAhead = 5 * 60
)

func meterRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"POST /v1/billing/meters":                     createMeter,
		"GET /v1/billing/meters":                      listMeters,
		"GET /v1/billing/meters/{id}":                 getMeter,
		"GET /v1/billing/meters/{id}/event_summaries": listUsage,
		"POST /v1/billing/meter_events":               createUsage,
	}
}

func createMeter(c *call) (any, error) {
	m := Meter{
		ID: newID("mtr_"), Created: c.unix(), Name: c.must("display_name"), EventName: c.must("event_name"), CustomerKey: "stripe_customer_id",
		ValueKey: "value",
	}
	if formula := c.at("default_aggregation").must("formula"); formula != "sum" {
		c.fail(invalid("", "default_aggregation[formula]", "The sandbox's meters only sum; formula is '%s'.", formula))
	}
	if f := c.at("customer_mapping"); c.has("customer_mapping") {
		f.oneOf("type", "by_id")
		m.CustomerKey = f.must("event_payload_key")
	}
	if f := c.at("value_settings"); c.has("value_settings") {
		m.ValueKey = f.must("event_payload_key")
	}
	c.oneOf("event_time_window", "", "day", "hour")
	if err := c.done(); err != nil {
		return nil, err
	}
	if _, known := c.meterOf(m.EventName); known {
		return nil, refuse("", "event_name", "There is already an active meter with the event name `%s`.", m.EventName)
	}
	c.set(billingRecord{Meter: &m})
	c.report("billing.meter.created", m.render())
	return m.render(), nil
}

func (c *change) meterOf(eventName string) (Meter, bool) {
	for _, m := range c.meters.rows {
		if m.EventName == eventName && !m.Inactive {
			return m, true
		}
	}
	return Meter{}, false
}

func listMeters(c *call) (any, error) {
	status := c.oneOf("status", "", Active, "inactive")
	return pageOf(c, &c.meters, func(m Meter) bool { return status == "" || m.Inactive == (status == "inactive") },
		func(m Meter) string { return m.ID }, func(m Meter) int64 { return m.Created }, func(m Meter) any { return m.render() })
}

func getMeter(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	m, known := c.meters.rows[c.r.PathValue("id")]
	if !known {
		return nil, none("meter", c.r.PathValue("id"), "id")
	}
	return m.render(), nil
}

func (m Meter) render() object {
	status := Active
	if m.Inactive {
		status = "inactive"
	}
	return object{
		"id": m.ID, "object": "billing.meter", "created": m.Created, "updated": m.Created, "livemode": false, "display_name": m.Name,
		"event_name": m.EventName, "event_time_window": nil, "status": status, "status_transitions": object{"deactivated_at": nil},
		"customer_mapping":    object{"type": "by_id", "event_payload_key": m.CustomerKey},
		"default_aggregation": object{"formula": "sum"}, "value_settings": object{"event_payload_key": m.ValueKey},
	}
}

func createUsage(c *call) (any, error) {
	e := MeterEvent{ID: c.text("identifier"), At: c.whole("timestamp", c.unix()), Received: c.unix()}
	e.ShownAt = e.Received + int64(c.usageDelay/time.Second)
	name := c.must("event_name")
	payload := object{}
	for k := range c.values {
		if key, ok := strings.CutPrefix(k, "payload["); ok && strings.HasSuffix(key, "]") {
			payload[strings.TrimSuffix(key, "]")] = c.text(k)
		}
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	m, known := c.meterOf(name)
	if !known {
		return nil, none("meter", name, "event_name")
	}
	if e.ID == "" {
		e.ID = newID("")
	}
	if len(e.ID) > 100 {
		return nil, invalid("", "identifier", "Invalid string: must be at most 100 characters")
	}
	identifier := e.ID
	for before, known := c.usage.rows[e.ID]; known; before, known = c.usage.rows[e.ID] {
		if before.Received > c.unix()-day {
			return nil, refuse("", "identifier", "An event already exists with identifier %s.", identifier)
		}
		e.ID += "'" // the identifier is free again after a day
	}
	// The caller's clock may be Billing's or the real one.
	switch {
	case e.At < min(c.unix(), c.now.Unix())-usageBack:
		return nil, invalid("timestamp_too_far_in_past", "timestamp", "The timestamp must be within the past 35 days.")
	case e.At > c.unix()+usageAhead:
		return nil, invalid("timestamp_in_future", "timestamp", "The timestamp must be at most 5 minutes in the future.")
	}
	if err := c.readPayload(&e, m, payload); err != nil {
		return nil, err
	}
	c.set(billingRecord{Usage: &e})
	return object{
		"object": "billing.meter_event", "created": c.unix(), "event_name": name, "identifier": identifier, "livemode": false, "payload": payload,
		"timestamp": e.At,
	}, nil
}

// readPayload reads the customer and the value of an event. The codes are those of the processor's error reports.
func (c *change) readPayload(e *MeterEvent, m Meter, payload object) (err error) {
	e.MeterID = m.ID
	e.CustomerID, _ = payload[m.CustomerKey].(string)
	value, _ := payload[m.ValueKey].(string)
	key := "payload[" + m.CustomerKey + "]"
	if e.CustomerID == "" {
		return invalid("meter_event_no_customer_defined", key, "Customer mapping key %s not found in payload.", m.CustomerKey)
	}
	if u, known := c.customers.rows[e.CustomerID]; !known || u.Deleted {
		return invalid("meter_event_customer_not_found", key, "No such customer: '%s'", e.CustomerID)
	}
	if e.Value, err = strconv.ParseInt(value, 10, 64); err != nil {
		return invalid("meter_event_invalid_value", "payload["+m.ValueKey+"]", "The value must be a whole number.")
	}
	return nil
}

// sumUsage sums the processed usage of a customer from start until end, which isn't included.
func (c *change) sumUsage(meterID, customerID string, start, end int64) int64 {
	sum := int64(0)
	for _, e := range c.usage.rows {
		if e.MeterID == meterID && e.CustomerID == customerID && e.At >= start && e.At < end && e.ShownAt <= c.unix() {
			sum += e.Value
		}
	}
	return max(0, sum)
}

// listUsage sums the usage of a customer, in windows of an hour or a day if value_grouping_window is set.
func listUsage(c *call) (any, error) {
	c.must("customer")
	customer, start, end := c.listedCustomer(), c.whole("start_time", -1), c.whole("end_time", -1)
	window := map[string]int64{"": 0, "hour": hour, "day": day}[c.oneOf("value_grouping_window", "", "hour", "day")]
	m, known := c.meters.rows[c.r.PathValue("id")]
	switch {
	case !known:
		return nil, none("meter", c.r.PathValue("id"), "id")
	case start < 0 || end <= start:
		c.fail(invalid("", "end_time", "`start_time` and `end_time` are required, and `end_time` must be after `start_time`."))
	case start%60 != 0 || end%60 != 0:
		c.fail(invalid("", "start_time", "The times must be aligned with minute boundaries."))
	case window > 0 && (end-start)/window > 10000:
		c.fail(invalid("", "end_time", "The range has too many windows."))
	}
	type summary struct{ start, end, value int64 }
	var list []summary
	for at := start; *c.fault == nil && at < end; {
		until := end
		if window > 0 {
			until = min(end, at-at%window+window)
		}
		if v := c.sumUsage(m.ID, customer, at, until); v > 0 {
			list = append(list, summary{at, until, v})
		}
		at = until
	}
	slices.Reverse(list)
	id := func(s summary) string { return "mtrusg_" + strconv.FormatInt(s.start, 10) }
	return page(c, list, id, func(s summary) int64 { return s.start }, func(s summary) any {
		return object{
			"id": id(s), "object": "billing.meter_event_summary", "aggregated_value": s.value, "start_time": s.start, "end_time": s.end,
			"livemode": false, "meter": m.ID,
		}
	})
}
