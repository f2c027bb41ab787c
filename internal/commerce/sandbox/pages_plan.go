//nolint:goconst // names of fields are clearest in place
package sandbox

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// planPage is the part of a payment page that only subscriptions have.
type planPage struct {
	Button, Note, Tax, Code string
	// Trial is the length of the trial, such as "14 days free"; "" without one.
	Trial                     string
	Codes, NeedsCard, Country bool
}

// period formats the period of a recurring line, such as " / month".
func (l Line) period() string {
	switch {
	case l.Interval == "":
		return ""
	case l.Every == 1:
		return " / " + l.Interval
	default:
		return " / " + strconv.FormatInt(l.Every, 10) + " " + l.Interval + "s"
	}
}

// planView returns the content of a page that starts a subscription.
func (s *Server) planView(x Session, k Coupon, email, fault string) checkoutPage {
	var u Customer
	var code PromotionCode
	var now int64
	s.look(func(st *state) {
		u, code, now = st.customers.rows[x.CustomerID], st.codes.rows[x.Plan.CodeID], s.config.Now().Add(st.offset).Unix()
	})
	p := x.page(Account{Name: "Subscribe to " + x.planName()}, k, email, fault)
	if u.Email != "" {
		p.FixedEmail, p.Email = true, u.Email
	}
	plan := &planPage{
		Button: "Subscribe", Codes: x.Plan.AllowCodes, NeedsCard: x.needsCard(), Code: code.Code,
		Country: (x.Plan.Tax || x.Plan.NeedsAddress) && (u.Address["country"] == "" || x.Plan.SavesAddress),
	}
	if x.Plan.TaxCents != 0 {
		plan.Tax = money(x.Plan.TaxCents, x.Currency)
	}
	days, ends := x.Plan.TrialDays, now+x.Plan.TrialDays*day
	if x.Plan.TrialEnd > 0 {
		days, ends = max(1, (x.Plan.TrialEnd-now+day/2)/day), x.Plan.TrialEnd
	}
	if days > 0 {
		plan.Button, plan.Trial = "Start trial", strconv.FormatInt(days, 10)+" days free"
		plan.Note = "The first payment follows on " + date(ends) + "."
		for n, l := range x.Lines {
			if l.Interval != "" {
				p.Lines[n].Amount = plan.Trial
			}
		}
	}
	p.Plan = plan
	return p
}

// planName returns the names of the recurring lines.
func (x Session) planName() string {
	var names []string
	for _, l := range x.Lines {
		if l.Interval != "" {
			names = append(names, l.Name)
		}
	}
	return strings.Join(names, ", ")
}

// submitPlan handles the form of a page that starts a subscription.
func (s *Server) submitPlan(w http.ResponseWriter, r *http.Request, x Session, form url.Values) {
	var u Customer
	s.look(func(st *state) { u = st.customers.rows[x.CustomerID] })
	b := buyer{email: cleaned(form.Get("email")), card: digits(form.Get("card")), country: strings.ToUpper(cleaned(form.Get("country")))}
	fixed := x.CustomerEmail != "" || u.Email != ""
	switch action := form.Get("action"); {
	case action == "code":
		_, err := s.onSession(x.ID, func(c *change, x Session) (Session, error) { return c.applyCode(x, cleaned(form.Get("code"))) })
		if err != nil {
			s.checkout(w, r, http.StatusUnprocessableEntity, b.email, err.Error())
			return
		}
		http.Redirect(w, r, s.base+"/pay/"+x.ID, http.StatusSeeOther)
		return
	case action == "fail":
		s.checkout(w, r, http.StatusPaymentRequired, b.email, failedAuthentication)
		return
	case !fixed && !strings.Contains(b.email, "@"):
		s.checkout(w, r, http.StatusUnprocessableEntity, b.email, "Enter your e-mail address.")
		return
	case x.needsCard() && authenticates(b.card) && action != "authenticate":
		s.askAuthentication(w, s.base+"/pay/"+x.ID, map[string]string{"email": b.email, "card": b.card, "country": b.country})
		return
	}
	x, err := s.onSession(x.ID, func(c *change, x Session) (Session, error) { return c.subscribe(x, b) })
	if err != nil {
		s.checkout(w, r, statusOf(err), b.email, faultOf(err))
		return
	}
	http.Redirect(w, r, x.successURL(), http.StatusSeeOther)
}

// failedAuthentication is what a page shows after a failed 3-D Secure step.
const failedAuthentication = "We couldn’t authenticate your card. You were not charged; try another card."

// authenticationPage is the 3-D Secure step. Fields are sent again with the answer.
type authenticationPage struct {
	Action string
	Fields map[string]string
}

func (s *Server) askAuthentication(w http.ResponseWriter, action string, fields map[string]string) {
	s.show(w, http.StatusOK, "authentication", "3-D Secure", authenticationPage{Action: action, Fields: fields})
}

// statusOf returns the HTTP status of an error.
func statusOf(err error) int {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.status
	}
	return http.StatusInternalServerError
}

// faultOf returns what a page with a form for a card shows for an error.
func faultOf(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok && r.kind == cardError {
		return r.message + " Try another card."
	}
	return err.Error()
}
