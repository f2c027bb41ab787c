package subscription

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"time"

	"showfloor/gen/db"
	eventdata "showfloor/gen/event"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/commerce/processor"
)

// statusOf returns our name for the status of a subscription at the processor. A subscription whose payments are not collected is
// PAUSED, unless it has ended.
func statusOf(p processor.Subscription) string {
	status := map[string]string{
		"trialing": Trialing, "active": Active, "past_due": PastDue, "paused": Paused, "canceled": Canceled,
		"incomplete": Incomplete, "incomplete_expired": Canceled, "unpaid": Unpaid,
	}[p.Status]
	switch {
	case status == "":
		return Incomplete // a status that the processor has added since
	case p.CollectionPaused && status != Canceled && status != Incomplete:
		return Paused
	default:
		return status
	}
}

// copySubscription returns the row of a subscription at the processor. before is its present row; nil if there is none. plan is
// the plan of its product.
func copySubscription(before *db.Subscription, tenantID, plan string, p processor.Subscription, now time.Time) db.Subscription {
	s := db.Subscription{ID: id.At(id.Subscription, p.CreatedAt), TenantID: tenantID, ProcessorSubscriptionID: &p.ID, CreatedAt: p.CreatedAt}
	if before != nil {
		s = *before
	}
	s.Plan, s.Status, s.UpdatedAt = plan, statusOf(p), now
	s.BillingInterval, s.Collection = intervalOf(p.Yearly), Charge
	if p.ByInvoice {
		s.Collection = Invoice
	}
	if p.Currency != "" { // without an item of a plan, the last price stays
		s.PriceCents, s.Currency = p.UnitCents, strings.ToUpper(p.Currency)
	}
	if s.TrialReminded && s.TrialEndsAt != nil && p.TrialEnd.After(*s.TrialEndsAt) {
		s.TrialReminded = false
	}
	s.PeriodStart, s.PeriodEnd, s.TrialEndsAt = p.PeriodStart, p.PeriodEnd, optional(p.TrialEnd)
	s.CancelAtPeriodEnd, s.CanceledAt = p.CancelAtPeriodEnd, optional(p.CanceledAt)
	s.PausedAt = since(s.PausedAt, s.Status == Paused, now)
	s.UnpaidAt = since(s.UnpaidAt, s.Status == Unpaid, now)
	s.PendingPlan, s.PendingInterval, s.PendingAt = nil, nil, nil
	if p.Next != nil && runs(s.Status) {
		s.PendingPlan, s.PendingInterval, s.PendingAt = &p.Next.Plan, new(intervalOf(p.Next.Yearly)), &p.Next.At
	}
	s.PaymentURL = nil
	if p.PaymentURL != "" && (p.UpdateAwaitsPayment || s.Status == PastDue || s.Status == Unpaid || s.Status == Incomplete) {
		s.PaymentURL = &p.PaymentURL
	}
	s.MonthlyCents = monthlyCents(s, p.Discount, now)
	return s
}

// intervalOf returns our name for an interval.
func intervalOf(yearly bool) string {
	if yearly {
		return Year
	}
	return Month
}

// since returns the time at which a state began: nil if it is not on, else at, or now if it begins.
func since(at *time.Time, on bool, now time.Time) *time.Time {
	switch {
	case !on:
		return nil
	case at != nil:
		return at
	default:
		return &now
	}
}

// optional returns nil for the zero time.
func optional(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// sameSubscription reports whether two rows differ at most in their time of change and in the page's URL, which is another one each
// time it is read.
func sameSubscription(a, b db.Subscription) bool {
	a.UpdatedAt, b.UpdatedAt = time.Time{}, time.Time{}
	a.PaymentURL, b.PaymentURL = presence(a.PaymentURL), presence(b.PaymentURL)
	return sameRow(a, b)
}

// sameShown does the same, but ignores the recurring revenue too: the beginning and end of a discount change nothing else.
func sameShown(a, b db.Subscription) bool {
	a.MonthlyCents = b.MonthlyCents
	return sameSubscription(a, b)
}

// sameInvoice does the same for invoices.
func sameInvoice(a, b db.Invoice) bool {
	a.UpdatedAt, b.UpdatedAt = time.Time{}, time.Time{}
	a.HostedURL, b.HostedURL = presence(a.HostedURL), presence(b.HostedURL)
	a.PdfURL, b.PdfURL = presence(a.PdfURL), presence(b.PdfURL)
	return sameRow(a, b)
}

// presence keeps of a text only that there is one.
func presence(text *string) *string {
	if text == nil {
		return nil
	}
	return new("")
}

// sameText reports whether two optional texts are equal.
func sameText(a, b *string) bool { return a == nil && b == nil || a != nil && b != nil && *a == *b }

// sameRow compares all fields, and times by the moment: rows that were read have times in another location.
func sameRow[T any](a, b T) bool {
	x, y := reflect.ValueOf(a), reflect.ValueOf(b)
	for i := range x.NumField() {
		if !sameValue(x.Field(i).Interface(), y.Field(i).Interface()) {
			return false
		}
	}
	return true
}

func sameValue(a, b any) bool {
	switch x := a.(type) {
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Truncate(time.Microsecond).Equal(y.Truncate(time.Microsecond))
	case *time.Time:
		y, ok := b.(*time.Time)
		return ok && (x == nil) == (y == nil) && (x == nil || sameValue(*x, *y))
	case json.RawMessage:
		y, ok := b.(json.RawMessage)
		return ok && sameJSON(x, y)
	default:
		return reflect.DeepEqual(a, b)
	}
}

// sameJSON compares values, because the database stores them in its own form.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// copyInvoice returns the row of an invoice at the processor. before is its present row; nil if there is none.
func copyInvoice(before *db.Invoice, tenantID string, subscriptionID *string, p processor.Invoice, now time.Time) (db.Invoice, error) {
	i := db.Invoice{ID: id.At(id.Invoice, p.CreatedAt), TenantID: tenantID, ProcessorInvoiceID: p.ID, CreatedAt: p.CreatedAt}
	if before != nil {
		i = *before
	}
	lines, err := json.Marshal(linesOf(p.Lines))
	if err != nil {
		return i, fmt.Errorf("encode lines of invoice: %w", err)
	}
	i.SubscriptionID, i.Number, i.Overage, i.UpdatedAt = subscriptionID, text(p.Number), i.Overage || p.Overage, now
	i.Status = map[string]string{"draft": Draft, "open": Open, "paid": Paid, "uncollectible": Uncollectible, "void": Void}[p.Status]
	i.Currency, i.SubtotalCents, i.TaxCents, i.TotalCents = strings.ToUpper(p.Currency), p.SubtotalCents, p.TaxCents, p.TotalCents
	i.PaidCents, i.DueCents, i.RefundedCents = p.PaidCents, p.DueCents, p.RefundedCents
	i.FailedAttempts = max(i.FailedAttempts, int32(p.FailedAttempts))
	i.PeriodStart, i.PeriodEnd = p.PeriodStart, p.PeriodEnd
	i.DueAt, i.PaidAt, i.VoidedAt = optional(p.DueAt), optional(p.PaidAt), optional(p.VoidedAt)
	i.HostedURL, i.PdfURL, i.Lines = text(p.HostedURL), text(p.PDFURL), lines
	if i.Status == "" {
		return i, fmt.Errorf("invoice %s has the unknown status %q", p.ID, p.Status)
	}
	return i, nil
}

// text returns nil for an empty text.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func linesOf(list []processor.InvoiceLine) []eventdata.InvoiceLine {
	out := make([]eventdata.InvoiceLine, len(list))
	for i, l := range list {
		out[i] = eventdata.InvoiceLine{
			Description: l.Description, AmountCents: l.AmountCents, Quantity: l.Quantity, Proration: l.Proration,
			PeriodStart: timestamp.From(l.PeriodStart), PeriodEnd: timestamp.From(l.PeriodEnd),
		}
	}
	return out
}
