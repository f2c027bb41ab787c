//nolint:goconst // names of fields are clearest in place
package sandbox

import (
	"net/http"
	"net/url"
	"strings"
)

// portalPage is a customer's portal.
type portalPage struct {
	Headline, Customer, BackURL, Action, Error string
	CanCancel, CanCards, CanInvoices           bool
	// CanEdit: the customer can change Name and Email. Flow is the section that the link leads to; "" for all.
	CanEdit           bool
	Name, Email, Flow string
	Subscriptions     []portalSubscription
	Cards             []portalCard
	Invoices          []portalInvoice
	// Unpaid is the newest invoice that could not be charged; nil for none.
	Unpaid *portalInvoice
}

type portalSubscription struct {
	ID, Name, Price, State, Tone, Note string
	// Ends: the subscription is canceled at its period's end and can be renewed. Live: it can be canceled.
	Ends, Live bool
}

type portalCard struct {
	ID, Name string
	Default  bool
}

type portalInvoice struct{ Number, URL, PDF, Date, Amount, State, Tone string }

// visit returns the portal session of a path and its configuration. A session ends after visitTime.
func (st *state) visit(token string, now int64) (v PortalSession, p PortalConfiguration, open bool) {
	for _, id := range st.visits.ids {
		if row := st.visits.rows[id]; row.Token == token && now < row.Created+visitTime {
			return row, st.portals.rows[row.PortalID], true
		}
	}
	return v, p, false
}

func (s *Server) showPortal(w http.ResponseWriter, r *http.Request) {
	s.portal(w, r, http.StatusOK, "")
}

func (s *Server) portal(w http.ResponseWriter, r *http.Request, status int, fault string) {
	var page portalPage
	open := false
	_ = s.do(func(c *change) error { // it writes nothing
		v, p, known := c.visit(r.PathValue("token"), c.now.Unix())
		if open = known; known {
			page = c.portalView(v, p, s.base)
		}
		return nil
	})
	if !open {
		s.show(w, http.StatusNotFound, "message", "This link has expired", message{
			Tone: idle, Sign: "×", Text: "Open the portal again where you came from.",
		})
		return
	}
	page.Error = fault
	s.show(w, status, "portal", "Your subscription", page)
}

func (c *change) portalView(v PortalSession, p PortalConfiguration, base string) portalPage {
	u := c.customers.rows[v.Customer]
	page := portalPage{
		Headline: p.Headline, Customer: u.Email, BackURL: v.BackURL, Action: base + "/portal/" + v.Token, CanCancel: p.Cancel, CanCards: p.Cards,
		CanInvoices: p.Invoices, CanEdit: p.Customer, Name: u.Name, Email: u.Email, Flow: v.Flow,
	}
	if v.Flow != "" {
		page.CanInvoices, page.CanEdit = false, false
	}
	for _, sub := range c.subscriptions.newest(func(sub Subscription) bool {
		return sub.CustomerID == u.ID && !sub.ended() && (v.Subscription == "" || sub.ID == v.Subscription)
	}) {
		page.Subscriptions = append(page.Subscriptions, c.portalRow(sub))
	}
	charged := c.chargedCard(u)
	for _, card := range c.cards.newest(func(d Card) bool { return d.CustomerID == u.ID }) {
		page.Cards = append(page.Cards, portalCard{
			ID: card.ID, Name: brandName(card.brand()) + " ···· " + card.last4(), Default: card.ID == charged,
		})
	}
	for _, i := range c.invoices.newest(func(i Invoice) bool { return i.CustomerID == u.ID && i.Number != "" }) {
		url := base + "/invoices/" + i.ID
		row := portalInvoice{
			Number: i.Number, URL: url, PDF: url + "/pdf", Date: date(i.Created), Amount: i.money(i.TotalCents), State: i.Status, Tone: i.tone(),
		}
		page.Invoices = append(page.Invoices, row)
		if page.Unpaid == nil && i.Status == StatusOpen && i.Failed {
			page.Unpaid = &row
		}
	}
	return page
}

// chargedCard returns the id of the card that a customer's subscriptions are charged to: the default, or that of the newest subscription;
// "" for none.
func (c *change) chargedCard(u Customer) string {
	if u.DefaultCard != "" {
		return u.DefaultCard
	}
	for _, sub := range c.subscriptions.newest(func(sub Subscription) bool { return sub.CustomerID == u.ID && !sub.ended() }) {
		if sub.DefaultCard != "" {
			return sub.DefaultCard
		}
	}
	return ""
}

func (c *change) portalRow(sub Subscription) portalSubscription {
	p := c.mainPrice(sub.Items)
	row := portalSubscription{
		ID: sub.ID, Name: c.products[p.ProductID].Name, Price: money(c.recurring(sub.Items), sub.Currency) + " / " + p.Interval,
		State: strings.ReplaceAll(sub.Status, "_", " "), Tone: good, Note: "Renews on " + date(sub.PeriodEnd),
		Ends: sub.CancelAtPeriodEnd, Live: true,
	}
	switch sub.Status {
	case Active, Trialing:
	case PastDue, Unpaid:
		row.Tone, row.Note = bad, "Awaits payment"
	default:
		row.Tone, row.Note = wait, ""
	}
	if sub.CancelAtPeriodEnd {
		row.Note = "Ends on " + date(sub.PeriodEnd)
	}
	return row
}

func (s *Server) submitPortal(w http.ResponseWriter, r *http.Request) {
	form, err := fields(w, r)
	if err != nil {
		s.failed(w, err, "")
		return
	}
	self := s.base + "/portal/" + url.PathEscape(r.PathValue("token"))
	action, card := form.Get("action"), digits(form.Get("card"))
	switch {
	case action == "fail":
		s.portal(w, r, http.StatusPaymentRequired, "We couldn’t authenticate your card. It was not saved; try another card.")
		return
	case action == "add" && authenticates(card):
		s.askAuthentication(w, self, map[string]string{"card": card})
		return
	}
	err = s.do(func(c *change) error {
		v, p, open := c.visit(r.PathValue("token"), c.now.Unix())
		if !open {
			return none("portal session", r.PathValue("token"), "")
		}
		if action == "edit" {
			return c.editInPortal(v, p, cleaned(form.Get("name")), cleaned(form.Get("email")))
		}
		return c.inPortal(v, p, action, form.Get("id"), card)
	})
	if err != nil {
		s.portal(w, r, statusOf(err), faultOf(err))
		return
	}
	http.Redirect(w, r, self, http.StatusSeeOther)
}

// inPortal does what a button of the portal asks for, if the configuration allows it.
func (c *change) inPortal(v PortalSession, p PortalConfiguration, action, id, number string) error {
	u, card, sub := c.customers.rows[v.Customer], c.cards.rows[id], c.subscriptions.rows[id]
	allowed := p.Cards
	if action == "cancel" || action == "renew" {
		allowed = p.Cancel
	}
	switch {
	case !allowed:
		return refuse("", "", "The portal doesn't allow this.")
	case (action == "default" || action == "remove") && card.CustomerID != u.ID:
		return none("PaymentMethod", id, "")
	case (action == "cancel" || action == "renew") && (sub.CustomerID != u.ID || sub.ended()):
		return none("subscription", id, "")
	}
	switch action {
	case "add", "authenticate":
		made := c.newCard(number)
		made.Authenticated = action == "authenticate"
		made, err := c.attach(made, u)
		if err != nil {
			return err
		}
		if c.chargedCard(u) == "" {
			c.makeDefault(u, made.ID)
		}
	case "default":
		c.makeDefault(u, card.ID)
	case "remove":
		c.detach(card)
	case "cancel", "renew":
		c.portalCancel(sub, action == "cancel", p.CancelNow)
	default:
		return none("action", action, "")
	}
	return nil
}

// editInPortal changes the name and the e-mail address of a customer.
func (c *change) editInPortal(v PortalSession, p PortalConfiguration, name, email string) error {
	u := c.customers.rows[v.Customer]
	switch {
	case !p.Customer:
		return refuse("", "", "The portal doesn't allow this.")
	case !strings.Contains(email, "@"):
		return refuse("", "", "Enter an e-mail address.")
	}
	before := c.renderCustomer(u)
	u.Name, u.Email = name, email
	c.set(billingRecord{Customer: &u})
	c.reportUpdate("customer.updated", before, c.renderCustomer(u))
	return nil
}

// portalCancel cancels a subscription, now or at its period's end, or renews it. A schedule is released before.
func (c *change) portalCancel(sub Subscription, cancel, now bool) {
	if sched, known := c.schedules.rows[sub.ScheduleID]; known && sched.Status == Active {
		c.endSchedule(sched, Released)
	}
	if cancel && now {
		c.cancel(sub)
		return
	}
	c.update(sub, func(sub *Subscription) {
		if sub.CancelAtPeriodEnd = cancel; cancel {
			sub.CanceledAt, sub.CancelReason = c.unix(), "cancellation_requested"
			return
		}
		sub.CanceledAt, sub.CancelReason, sub.CancelAt = 0, "", 0
	})
}

// brandName returns a brand as people write it.
func brandName(brand string) string {
	return map[string]string{"visa": "Visa", "mastercard": "Mastercard", "amex": "American Express"}[brand]
}
