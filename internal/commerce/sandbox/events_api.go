package sandbox

import "slices"

// eventRoutes are the calls that list events, also those of sellers' accounts.
func eventRoutes() map[string]func(*call) (any, error) {
	return map[string]func(*call) (any, error){
		"GET /v1/events":      listEvents,
		"GET /v1/events/{id}": getEvent,
	}
}

// listEvents lists the caller's events, from the newest to the oldest. type may end with a star.
func listEvents(c *call) (any, error) {
	kind, kinds := c.text("type"), c.texts("types")
	delivered := c.text("delivery_success")
	list := slices.DeleteFunc(newest(c.order.events, c.events), func(e Event) bool {
		return e.Account != c.account || kind != "" && !matches(kind, e.Type) || len(kinds) > 0 && !slices.Contains(kinds, e.Type) ||
			delivered != "" && (e.Owed == 0) != (delivered == yes)
	})
	return page(c, list, func(e Event) string { return e.ID }, func(e Event) int64 { return e.Created },
		func(e Event) any { return e.Payload })
}

// matches compares an event's type with a pattern such as "invoice.*".
func matches(pattern, kind string) bool {
	if n := len(pattern) - 1; n >= 0 && pattern[n] == '*' {
		return len(kind) >= n && kind[:n] == pattern[:n]
	}
	return kind == pattern
}

func getEvent(c *call) (any, error) {
	if err := c.done(); err != nil {
		return nil, err
	}
	e, known := c.events[c.r.PathValue("id")]
	if !known || e.Account != c.account {
		return nil, none("event", c.r.PathValue("id"), "id")
	}
	return e.Payload, nil
}
