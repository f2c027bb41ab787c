package sandbox

import "time"

// anchor is when the first full period of a new subscription begins, and how the time until then is billed.
type anchor struct {
	// at is a time, 0 for none. Otherwise day is the day of the month, 0 for none, and clock the time of that day, in seconds.
	at, day, clock int64
	prorate        string
}

// readAnchor reads billing_cycle_anchor, billing_cycle_anchor_config and proration_behavior of a new subscription.
func (c *call) readAnchor() anchor {
	a := anchor{at: c.whole("billing_cycle_anchor", 0), prorate: c.oneOf("proration_behavior", "create_prorations", "always_invoice", "none")}
	if !c.has("billing_cycle_anchor_config") {
		return a
	}
	f := c.at("billing_cycle_anchor_config")
	a.day = f.amount("day_of_month", 1, 0)
	now := c.today().UTC()
	part := func(name string, otherwise int, limit int64) int64 {
		n := f.amount(name, 0, int64(otherwise))
		if n > limit {
			f.fail(invalid("", f.key(name), "This value must be less than or equal to %d.", limit))
		}
		return n
	}
	a.clock = part("hour", now.Hour(), 23)*hour + part("minute", now.Minute(), 59)*60 + part("second", now.Second(), 59)
	switch {
	case a.day == 0:
		f.fail(missing(f.key("day_of_month")))
	case a.day > 31:
		f.fail(invalid("", f.key("day_of_month"), "This value must be less than or equal to 31."))
	case a.at != 0:
		f.fail(invalid("parameters_exclusive", "billing_cycle_anchor_config", "You may only specify one of these parameters: "+
			"billing_cycle_anchor, billing_cycle_anchor_config."))
	}
	return a
}

// placeAnchor sets the anchor and the first period's end of a new subscription. Without an anchor it does nothing.
func (c *change) placeAnchor(sub *Subscription, a anchor) error {
	now, main := c.unix(), c.mainPrice(sub.Items)
	natural := main.after(now, 1)
	switch {
	case a.at == 0 && a.day == 0:
		return nil
	case sub.TrialEnd > now:
		return invalid("", "billing_cycle_anchor", "The sandbox has no trial with an anchor.")
	case a.prorate != "none" && c.recurring(sub.Items) > 0:
		return invalid("", "proration_behavior", "The sandbox doesn't prorate the time until the anchor: set `proration_behavior` to `none`.")
	case a.day > 0 && main.Interval != "month":
		return invalid("", "billing_cycle_anchor_config", "The sandbox has a day as an anchor only for monthly prices.")
	case a.day > 0:
		sub.Anchor = monthDay(now, a.day) + a.clock
		sub.PeriodEnd = main.nextAfter(sub.Anchor, now)
	case a.at <= now:
		return invalid("", "billing_cycle_anchor", "Invalid timestamp: must be an integer Unix timestamp in the future.")
	case a.at > natural:
		return invalid("", "billing_cycle_anchor", "billing_cycle_anchor cannot be later than next natural billing date (%d) for plan", natural)
	default:
		sub.Anchor, sub.PeriodEnd = a.at, a.at
	}
	return nil
}

// monthDay returns the start of a day of the month of a time, or of the last month before it that has the day.
func monthDay(unix, dayOfMonth int64) int64 {
	at := time.Unix(unix, 0).UTC()
	first := time.Date(at.Year(), at.Month(), 1, 0, 0, 0, 0, time.UTC)
	for first.AddDate(0, 1, -1).Day() < int(dayOfMonth) {
		first = first.AddDate(0, -1, 0)
	}
	return first.AddDate(0, 0, int(dayOfMonth)-1).Unix()
}
