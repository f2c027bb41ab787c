package sandbox

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"time"
)

// shown is how many objects of each kind the dashboard shows, newest first.
const shown = 50

type button struct {
	Base, Action, ID, Value, Text string
	Danger                        bool
}

type switchRow struct {
	Name, State, Tone string
	Buttons           []button
}

type accountRow struct {
	ID, Name, Details, DetailsTone, Charges, ChargesTone string
	Buttons                                              []button
}

type sessionRow struct {
	Name, URL, Seller, Total, State, Tone, Expires string
	Buttons                                        []button
}

type paymentRow struct {
	ID, Email, Amount, Fee, Refunded, State, Tone string
	// Left is the amount that can still be refunded; empty for none.
	Left string
}

type refundRow struct {
	ID, PaymentID, Amount, Fee, State, Tone string
	Buttons                                 []button
}

type eventRow struct {
	ID, Type, Account, At, Payload, State, Tone string
	Attempts                                    []string
	Buttons                                     []button
}

type dashboardPage struct {
	Callback string
	Switches []switchRow
	Accounts []accountRow
	Sessions []sessionRow
	Payments []paymentRow
	Refunds  []refundRow
	Events   []eventRow
	// Clock is Billing's time, Today its date.
	Clock, Today  string
	Subscriptions []subscriptionRow
	Invoices      []invoiceSummary
}

func (s *Server) showDashboard(w http.ResponseWriter, _ *http.Request) {
	var page dashboardPage
	s.look(func(st *state) {
		page.Callback = s.callback
		page.Switches = s.switchRows(st)
		for _, a := range newestFew(st.order.accounts, st.accounts) {
			page.Accounts = append(page.Accounts, s.accountRow(a))
		}
		for _, x := range newestFew(st.order.sessions, st.sessions) {
			page.Sessions = append(page.Sessions, s.sessionRow(st, x))
		}
		for _, p := range newestFew(st.order.payments, st.payments) {
			page.Payments = append(page.Payments, p.row())
		}
		for _, r := range newestFew(st.order.refunds, st.refunds) {
			page.Refunds = append(page.Refunds, s.refundRow(r))
		}
		s.billingRows(st, &page)
		for _, e := range newestFew(st.order.events, st.events) {
			page.Events = append(page.Events, s.eventRow(e))
		}
	})
	s.show(w, http.StatusOK, "dashboard", "Dashboard", page)
}

func newestFew[T any](ids []string, objects map[string]T) []T {
	return newest(ids[max(0, len(ids)-shown):], objects)
}

func (s *Server) button(action, id, value, text string) button {
	return button{Base: s.base, Action: action, ID: id, Value: value, Text: text}
}

func (s *Server) switchRows(st *state) []switchRow {
	waiting := 0
	for id := range st.due {
		if st.events[id].Held {
			waiting++
		}
	}
	events := switchRow{Name: "Events", State: "sent at once", Tone: good}
	events.Buttons = []button{s.button("hold", "", "", "Hold back")}
	if s.holding || waiting > 0 {
		events.State, events.Tone = "held back: "+strconv.Itoa(waiting), wait
		events.Buttons = []button{s.button("release", "", "", "Release"), s.button("release-reversed", "", "", "Release in reverse order")}
	}
	refunds := switchRow{Name: "Refunds", State: "succeed at once", Tone: good}
	refunds.Buttons = []button{s.button("refunds-wait", "", "on", "Keep new refunds pending")}
	if s.refundsWait {
		refunds.State, refunds.Tone = wait, wait
		refunds.Buttons = []button{s.button("refunds-wait", "", "off", "Let new refunds succeed at once")}
	}
	api := switchRow{Name: "API", State: "answers", Tone: good}
	api.Buttons = []button{s.button("down", "", "on", "Make it unavailable")}
	if s.faults.isDown() {
		api.State, api.Tone = "down", bad
		api.Buttons = []button{s.button("down", "", "off", "Make it available")}
	}
	return []switchRow{events, refunds, api}
}

func (s *Server) accountRow(a Account) accountRow {
	row := accountRow{ID: a.ID, Name: a.seller(), Details: "missing", DetailsTone: wait, Charges: "off", ChargesTone: bad}
	if a.DetailsSubmitted {
		row.Details, row.DetailsTone = "submitted", good
	}
	if a.ChargesEnabled {
		row.Charges, row.ChargesTone = "on", good
		row.Buttons = []button{s.button("charges", a.ID, "off", "Disable charges")}
	} else {
		row.Buttons = []button{s.button("charges", a.ID, "on", "Enable charges")}
	}
	return row
}

func (s *Server) sessionRow(st *state, x Session) sessionRow {
	row := sessionRow{
		Name: x.ClientReferenceID, Seller: st.accounts[x.Account].seller(), Total: money(x.TotalCents(), x.Currency),
		State: x.Status, Tone: wait, Expires: clock(time.Unix(x.ExpiresAt, 0)),
	}
	if row.Name == "" {
		row.Name = x.ID
	}
	if x.Account == "" {
		row.Seller = "platform"
	}
	switch {
	case x.Status == StatusOpen:
		row.URL = s.base + "/pay/" + x.ID
		row.Buttons = []button{s.button("expire", x.ID, "", "Expire now")}
	case x.Status == StatusExpired:
		row.Tone = idle
	case x.PaymentStatus == Unpaid && st.payments[x.PaymentID].Status == Processing:
		row.State = "on its way"
		row.Buttons = []button{s.button("settle", x.ID, "yes", "Money arrives"), s.button("settle", x.ID, "no", "Payment fails")}
		row.Buttons[1].Danger = true
	case x.PaymentStatus == Unpaid:
		row.State, row.Tone = "failed", bad
	case x.PaymentStatus == NoPayment:
		row.State, row.Tone = "nothing to pay", good
	default:
		row.State, row.Tone = x.PaymentStatus, good
	}
	return row
}

func (p Payment) row() paymentRow {
	row := paymentRow{
		ID: p.ID, Email: p.Email, Amount: money(p.AmountCents, p.Currency), Fee: money(p.FeeCents, p.Currency),
		Refunded: money(p.RefundedCents, p.Currency), State: p.Status, Tone: wait,
	}
	switch p.Status {
	case Succeeded:
		row.Tone = good
		if left := p.AmountCents - p.RefundedCents; left > 0 {
			row.Left = decimal(left, p.Currency)
		}
	case NeedsMethod:
		row.State, row.Tone = Failed, bad
		if p.InvoiceID != "" && p.FailCode == "" {
			row.State, row.Tone = "not paid yet", wait
		}
	case Canceled:
		row.Tone = idle
	}
	return row
}

func (s *Server) refundRow(r Refund) refundRow {
	row := refundRow{
		ID: r.ID, PaymentID: r.PaymentID, Amount: money(r.AmountCents, r.Currency), Fee: money(r.FeeCents, r.Currency),
		State: r.Status, Tone: good,
	}
	switch r.Status {
	case Pending:
		row.Tone = wait
		row.Buttons = []button{s.button("settle-refund", r.ID, "yes", "Succeeds"), s.button("settle-refund", r.ID, "no", "Fails")}
		row.Buttons[1].Danger = true
	case Succeeded:
		row.Buttons = []button{s.button("settle-refund", r.ID, "no", "The bank returns it")}
		row.Buttons[0].Danger = true
	case Failed:
		row.Tone = bad
	}
	return row
}

func (s *Server) eventRow(e Event) eventRow {
	var payload bytes.Buffer
	if json.Indent(&payload, e.Payload, "", "  ") != nil {
		payload.Write(e.Payload)
	}
	row := eventRow{
		ID: e.ID, Type: e.Type, Account: e.Account, At: clock(time.Unix(e.Created, 0)), Payload: payload.String(),
		State: "delivered", Tone: good,
		Buttons: []button{s.button("resend", e.ID, "1", "Resend"), s.button("resend", e.ID, "2", "Deliver twice")},
	}
	if row.Account == "" {
		row.Account = "platform"
	}
	switch {
	case e.Held:
		row.State, row.Tone = "held back", wait
	case e.Owed > 0 && e.Tries > 0:
		row.State, row.Tone = "again at "+clock(e.NextAt), bad
	case e.Owed > 0:
		row.State, row.Tone = "waits", wait
	case len(e.Attempts) == 0:
		row.State, row.Tone = "not sent", idle
	}
	for _, a := range e.Attempts[max(0, len(e.Attempts)-3):] {
		outcome := a.Error
		if outcome == "" {
			outcome = strconv.Itoa(a.Status) + " " + http.StatusText(a.Status)
		}
		row.Attempts = append(row.Attempts, clock(a.At)+" "+outcome)
	}
	return row
}

func clock(t time.Time) string { return t.UTC().Format("2 Jan 15:04:05") }

// act executes the action of a dashboard button and redirects back.
func (s *Server) act(w http.ResponseWriter, r *http.Request) {
	form, err := fields(w, r)
	if err == nil {
		err = s.action(r.PathValue("action"), form.Get("id"), form.Get("value"))
	}
	if err != nil {
		s.failed(w, err, s.base+"/")
		return
	}
	http.Redirect(w, r, s.base+"/", http.StatusSeeOther)
}

func (s *Server) action(name, id, value string) (err error) {
	on := value == "on" || value == "yes"
	switch name {
	case "charges":
		return s.SetCharges(id, on)
	case "expire":
		_, err = s.Expire(id)
	case "settle":
		_, err = s.Settle(id, on)
	case "refund":
		return s.refundDecimal(id, value)
	case "settle-refund":
		_, err = s.SettleRefund(id, on)
	case "advance":
		return s.advanceBy(value)
	case "pay-invoice":
		_, err = s.PayInvoice(id)
	case "resend":
		times, err := strconv.Atoi(value)
		if err != nil || times < 1 || times > 10 {
			return invalid("", "value", "An event is sent 1 to 10 times.")
		}
		return s.Resend(id, times)
	case "hold":
		return s.HoldEvents()
	case "release":
		return s.ReleaseEvents()
	case "release-reversed":
		return s.ReleaseReversed()
	case "refunds-wait":
		s.RefundsWait(on)
	case "down":
		s.Down(on)
	default:
		return none("action", name, "")
	}
	return err
}

// refundDecimal refunds an amount in decimal notation.
func (s *Server) refundDecimal(paymentIntent, amount string) error {
	p, known := s.Payment(paymentIntent)
	if !known {
		return none("payment_intent", paymentIntent, "")
	}
	cents, err := parseDecimal(amount, p.Currency)
	if err != nil {
		return err
	}
	_, err = s.Refund(paymentIntent, cents)
	return err
}
