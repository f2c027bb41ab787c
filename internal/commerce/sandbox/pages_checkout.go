package sandbox

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"
)

// checkoutPage is a payment page.
type checkoutPage struct {
	Seller, Total, Subtotal, Discount, DiscountName string
	Lines                                           []checkoutLine
	Email, Error, CancelURL                         string
	// FixedEmail: the seller has given the address. Free: the total is 0.
	FixedEmail, Free bool
	// Plan is set on a page that starts a subscription.
	Plan *planPage
}

type checkoutLine struct {
	Name, Image, Initial, Unit, Amount string
	Quantity                           int64
}

func (s *Server) showCheckout(w http.ResponseWriter, r *http.Request) {
	s.checkout(w, r, http.StatusOK, "", "")
}

// checkout shows the page in its current state. email is the rejected input and
// fault the reason.
func (s *Server) checkout(w http.ResponseWriter, r *http.Request, status int, email, fault string) {
	var x Session
	var a Account
	var k Coupon
	known := false
	s.look(func(st *state) {
		x, known = st.sessions[r.PathValue("id")]
		a, k = st.accounts[x.Account], st.coupons[Coupon{ID: x.CouponID, Account: x.Account}.key()]
	})
	switch {
	case !known:
		s.notFound(w)
	case x.Status == StatusComplete && x.PaymentStatus == Unpaid:
		s.show(w, http.StatusOK, "message", "A transfer was promised", message{
			Tone: wait, Sign: "…", Text: "You decide on the sandbox’s dashboard whether the money arrives.",
			BackURL: s.base + "/", BackText: "To the dashboard",
		})
	case x.Status == StatusComplete && x.Plan != nil:
		s.show(w, http.StatusOK, "message", "You have subscribed", message{
			Tone: good, Sign: "✓", Text: "You can close this page.", BackURL: x.successURL(), BackText: "Continue",
		})
	case x.Status == StatusExpired && x.Plan != nil:
		s.show(w, http.StatusOK, "message", "This page has expired", message{
			Tone: idle, Sign: "×", Text: "You were not charged. Ask for a new page.", BackURL: x.CancelURL, BackText: "Back",
		})
	case x.Status == StatusComplete:
		s.show(w, http.StatusOK, "message", "This page has been paid", message{
			Tone: good, Sign: "✓", Text: "You can close this page.", BackURL: x.successURL(), BackText: "Back to the shop",
		})
	case x.Status == StatusExpired:
		s.show(w, http.StatusOK, "message", "This page has expired", message{
			Tone: idle, Sign: "×", Text: "You were not charged. Start again in the shop.", BackURL: x.CancelURL, BackText: "Back to the shop",
		})
	case x.Plan != nil:
		s.show(w, status, "checkout", "Subscribe", s.planView(x, k, email, fault))
	default:
		s.show(w, status, "checkout", "Pay "+a.seller(), x.page(a, k, email, fault))
	}
}

func (x Session) page(a Account, k Coupon, email, fault string) checkoutPage {
	p := checkoutPage{
		Seller: a.seller(), Total: money(x.TotalCents(), x.Currency), Subtotal: money(x.SubtotalCents, x.Currency),
		Email: email, Error: fault, CancelURL: x.CancelURL, FixedEmail: x.CustomerEmail != "", Free: x.TotalCents() == 0,
	}
	if p.FixedEmail {
		p.Email = x.CustomerEmail
	}
	if x.DiscountCents > 0 {
		p.Discount, p.DiscountName = money(x.DiscountCents, x.Currency), k.Name
		if p.DiscountName == "" {
			p.DiscountName = "Discount"
		}
	}
	for _, l := range x.Lines {
		line := checkoutLine{
			Name: l.Name, Initial: "·", Quantity: l.Quantity, Unit: money(l.UnitCents, x.Currency) + l.period(),
			Amount: money(max(l.UnitCents*l.Quantity, l.Cents), x.Currency),
		}
		if len(l.Images) > 0 {
			line.Image = l.Images[0]
		}
		for _, first := range l.Name {
			line.Initial = string(unicode.ToUpper(first))
			break
		}
		p.Lines = append(p.Lines, line)
	}
	return p
}

func (a Account) seller() string {
	if a.Name == "" {
		return "A seller without a name"
	}
	return a.Name
}

// declined is the number of the test card that is always declined.
const declined = "4000000000000002"

func (s *Server) submitCheckout(w http.ResponseWriter, r *http.Request) {
	form, err := fields(w, r)
	if err != nil {
		s.failed(w, err, "")
		return
	}
	id, email := r.PathValue("id"), cleaned(form.Get("email"))
	x, known := s.Session(id)
	digits, action := digits(form.Get("card")), form.Get("action")
	if known && x.Plan != nil && x.Status == StatusOpen {
		s.submitPlan(w, r, x, form)
		return
	}
	switch {
	case !known || x.Status != StatusOpen:
		s.checkout(w, r, http.StatusOK, "", "")
		return
	case action == "decline" || action == "pay" && digits == declined:
		s.checkout(w, r, http.StatusPaymentRequired, email, "Your card was declined. You were not charged; try another card.")
		return
	case x.CustomerEmail == "" && !strings.Contains(email, "@"):
		s.checkout(w, r, http.StatusUnprocessableEntity, email, "Enter your e-mail address.")
		return
	}
	pay := s.Pay
	if action == "bank" && x.TotalCents() > 0 {
		pay = s.PayLater
	}
	if x, err = pay(id, email); err != nil {
		s.failed(w, err, "")
		return
	}
	http.Redirect(w, r, x.successURL(), http.StatusSeeOther)
}

// successURL is the URL to which the buyer is redirected after the payment.
func (x Session) successURL() string {
	return strings.ReplaceAll(x.SuccessURL, "{CHECKOUT_SESSION_ID}", x.ID)
}

// places is the number of decimal places in a currency's amounts. Those of isk and ugx are always 00
// (https://docs.stripe.com/currencies, "Special cases").
func places(currency string) int {
	switch currency {
	case "bif", "clp", "djf", "gnf", "jpy", "kmf", "krw", "mga", "pyg", "rwf", "vnd", "vuv", "xaf", "xof", "xpf":
		return 0
	case "bhd", "jod", "kwd", "omr", "tnd":
		return 3
	default:
		return 2
	}
}

// decimal formats an amount, such as 12.50.
func decimal(cents int64, currency string) string {
	n := places(currency)
	if n == 0 {
		return strconv.FormatInt(cents, 10)
	}
	digits := fmt.Sprintf("%0*d", n+1, cents)
	return digits[:len(digits)-n] + "." + digits[len(digits)-n:]
}

// money formats an amount with its currency.
func money(cents int64, currency string) string {
	symbol := map[string]string{"usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"}[currency]
	if symbol == "" {
		return decimal(cents, currency) + " " + strings.ToUpper(currency)
	}
	return symbol + decimal(cents, currency)
}

// parseDecimal parses decimal's format; "" is 0.
func parseDecimal(v, currency string) (int64, error) {
	v = strings.TrimSpace(v)
	if v == "" {
		return 0, nil
	}
	whole, fraction, _ := strings.Cut(v, ".")
	n := places(currency)
	if len(fraction) > n {
		return 0, invalid("", "amount", "An amount has at most %d decimal places.", n)
	}
	cents, err := strconv.ParseUint(whole+fraction+strings.Repeat("0", n-len(fraction)), 10, 32)
	if err != nil || cents == 0 {
		return 0, invalid("", "amount", "'%s' is no amount.", v)
	}
	return int64(cents), nil
}
