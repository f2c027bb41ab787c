//nolint:goconst // names of fields are clearest in place
package sandbox

import (
	"net/http"
	"strconv"
)

// invoicePage is an invoice with its form to pay it.
type invoicePage struct {
	Number, Status, Tone, Customer, Due, Total, Subtotal, Discount, Tax, Balance, PDF, Error, Note string
	Lines                                                                                          []invoiceRow
	// Open: the invoice can be paid.
	Open bool
}

type invoiceRow struct{ Description, Period, Amount string }

func (s *Server) showInvoice(w http.ResponseWriter, r *http.Request) {
	s.invoicePage(w, r, http.StatusOK, "")
}

// foundInvoice returns the finalized invoice of the path and its customer.
func (s *Server) foundInvoice(r *http.Request) (i Invoice, u Customer, known bool) {
	s.look(func(st *state) {
		i, known = st.invoices.rows[r.PathValue("id")]
		u = st.customers.rows[i.CustomerID]
	})
	return i, u, known && i.Number != ""
}

func (s *Server) invoicePage(w http.ResponseWriter, r *http.Request, status int, fault string) {
	i, u, known := s.foundInvoice(r)
	if !known {
		s.notFound(w)
		return
	}
	page := i.page(u)
	page.Error, page.PDF = fault, s.base+"/invoices/"+i.ID+"/pdf"
	s.show(w, status, "invoice", "Invoice "+i.Number, page)
}

func (i Invoice) page(u Customer) invoicePage {
	p := invoicePage{
		Number: i.Number, Status: i.Status, Tone: i.tone(), Customer: u.Email, Due: i.money(i.DueCents), Total: i.money(i.TotalCents),
		Subtotal: i.money(i.SubtotalCents), Open: i.Status == StatusOpen || i.Status == Uncollectible,
	}
	if u.Name != "" {
		p.Customer = u.Name + ", " + u.Email
	}
	p.Note = i.note()
	if i.DiscountCents != 0 {
		p.Discount = i.money(-i.DiscountCents)
	}
	if i.Tax {
		p.Tax = i.money(i.TaxCents)
	}
	if i.StartingBalance != 0 {
		p.Balance = i.money(i.StartingBalance)
	}
	for _, l := range i.Lines {
		p.Lines = append(p.Lines, invoiceRow{l.Description, date(l.Start) + " – " + date(l.End), i.money(l.Cents)})
	}
	return p
}

// note says when the invoice was or will be paid; "" if that is unknown.
func (i Invoice) note() string {
	switch {
	case i.Status == Paid:
		return "Paid on " + date(i.PaidAt)
	case i.Status != StatusOpen:
		return ""
	case i.Failed && i.NextAttempt > 0:
		return "The card was not charged. The next attempt is on " + date(i.NextAttempt) + "."
	case i.Failed:
		return "The card was not charged."
	case i.DueDate > 0:
		return "Due on " + date(i.DueDate)
	default:
		return ""
	}
}

// money formats an amount of the invoice; it may be below 0.
func (i Invoice) money(cents int64) string {
	if cents < 0 {
		return "−" + money(-cents, i.Currency)
	}
	return money(cents, i.Currency)
}

func (i Invoice) tone() string {
	switch {
	case i.Status == Paid:
		return good
	case i.Status == StatusOpen && (i.Failed || i.Overdue), i.Status == Uncollectible:
		return bad
	case i.Status == StatusOpen:
		return wait
	default:
		return idle
	}
}

func (s *Server) submitInvoice(w http.ResponseWriter, r *http.Request) {
	form, err := fields(w, r)
	if err != nil {
		s.failed(w, err, "")
		return
	}
	i, _, known := s.foundInvoice(r)
	card, action := digits(form.Get("card")), form.Get("action")
	self := s.base + "/invoices/" + i.ID
	switch {
	case !known:
		s.notFound(w)
		return
	case action == "fail":
		s.invoicePage(w, r, http.StatusPaymentRequired, failedAuthentication)
		return
	case authenticates(card) && action != "authenticate":
		s.askAuthentication(w, self, map[string]string{"card": card})
		return
	}
	if _, err := s.PayInvoiceWith(i.ID, card); err != nil {
		s.invoicePage(w, r, statusOf(err), faultOf(err))
		return
	}
	http.Redirect(w, r, self, http.StatusSeeOther)
}

func (s *Server) showInvoicePDF(w http.ResponseWriter, r *http.Request) {
	i, u, known := s.foundInvoice(r)
	if !known {
		s.notFound(w)
		return
	}
	content, err := i.pdf(u)
	if err != nil {
		s.failed(w, err, "")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/pdf")
	h.Set("Content-Length", strconv.Itoa(len(content)))
	h.Set("Content-Disposition", `inline; filename="invoice-`+i.Number+`.pdf"`)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(content) // fails if the client has disconnected
}
