package sandbox

import "time"

type subscriptionRow struct{ ID, Customer, Items, Ends, State, Tone string }

type invoiceSummary struct {
	Number, URL, Customer, Amount, Reason, State, Tone, Next string
	Buttons                                                  []button
}

// billingRows fills the dashboard's tables of Billing.
func (s *Server) billingRows(st *state, page *dashboardPage) {
	now := s.config.Now().Add(st.offset).UTC()
	page.Clock, page.Today = now.Format("2 Jan 2006 15:04:05"), now.Format(time.DateOnly)
	for _, sub := range newestFew(st.subscriptions.ids, st.subscriptions.rows) {
		row := subscriptionRow{
			ID: sub.ID, Customer: st.customers.rows[sub.CustomerID].Email, Ends: date(sub.PeriodEnd), State: sub.Status, Tone: good,
		}
		for n, item := range sub.Items {
			if n > 0 {
				row.Items += ", "
			}
			row.Items += st.products[st.prices[item.PriceID].ProductID].Name
		}
		switch sub.Status {
		case Active, Trialing:
		case PastDue, Unpaid:
			row.Tone = bad
		case Canceled, IncompleteExpired:
			row.Tone = idle
		default:
			row.Tone = wait
		}
		page.Subscriptions = append(page.Subscriptions, row)
	}
	for _, i := range newestFew(st.invoices.ids, st.invoices.rows) {
		row := invoiceSummary{
			Number: i.Number, URL: s.base + "/invoices/" + i.ID, Customer: st.customers.rows[i.CustomerID].Email, Amount: i.money(i.TotalCents),
			Reason: i.Reason, State: i.Status, Tone: i.tone(),
		}
		if i.Number == "" {
			row.Number, row.URL = i.ID, ""
		}
		if i.Status == StatusOpen {
			row.Buttons = []button{s.button("pay-invoice", i.ID, "", "Pay")}
		}
		if next := max(i.NextAttempt, i.FinalizesAt); next > 0 {
			row.Next = date(next)
		}
		page.Invoices = append(page.Invoices, row)
	}
}

// maxAdvance limits one step of the dashboard's clock.
const maxAdvance = 3 * 366 * 24 * time.Hour

// advanceBy moves the clock by a day, by a month, or to the start of a date such as 2027-02-01.
func (s *Server) advanceBy(value string) error {
	now := s.Now().UTC()
	var to time.Time
	switch value {
	case "day":
		to = now.AddDate(0, 0, 1)
	case "month":
		to = time.Unix(addInterval(now.Unix(), "month", 1), 0)
	default:
		var err error
		if to, err = time.Parse(time.DateOnly, value); err != nil {
			return invalid("", "value", "'%s' is no date.", value)
		}
	}
	if to.After(now.Add(maxAdvance)) {
		return invalid("", "value", "The clock moves at most three years at once.")
	}
	return s.AdvanceTo(to)
}
