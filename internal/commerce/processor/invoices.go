package processor

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// Invoice is an invoice of a customer.
type Invoice struct {
	ID string
	// SubscriptionID is empty for an invoice without a subscription; Number is empty for a draft.
	SubscriptionID, Number string
	// Overage: the subscription is an overage subscription.
	Overage bool
	// Status is the processor's own: draft, open, paid, uncollectible or void.
	Status string
	// Currency is in lower case.
	Currency                                                                string
	SubtotalCents, TaxCents, TotalCents, PaidCents, DueCents, RefundedCents int64
	// FailedAttempts counts attempts to collect the payment that failed.
	FailedAttempts         int
	PeriodStart, PeriodEnd time.Time
	CreatedAt              time.Time
	// DueAt, PaidAt and VoidedAt are zero if there is none.
	DueAt, PaidAt, VoidedAt time.Time
	HostedURL, PDFURL       string
	// Lines are those that the processor lists with an invoice: the first 10.
	Lines []InvoiceLine
}

// InvoiceLine is a line of an invoice.
type InvoiceLine struct {
	Description            string
	AmountCents, Quantity  int64
	Proration              bool
	PeriodStart, PeriodEnd time.Time
}

func (c *Client) listInvoices(ctx context.Context, customerID string) ([]Invoice, error) {
	asked := &stripe.InvoiceListParams{ListParams: listParams(ctx, ""), Customer: new(customerID)}
	asked.Single = true
	asked.AddExpand("data.charge")
	asked.AddExpand("data.payment_intent")
	list := c.api.Invoices.List(asked)
	var all []Invoice
	for list.Next() {
		all = append(all, invoice(list.Invoice()))
	}
	return all, c.failed(ctx, "list invoices", list.Err(), list.InvoiceList().Data != nil)
}

func invoice(i *stripe.Invoice) Invoice {
	out := Invoice{
		ID: i.ID, Number: i.Number, Status: string(i.Status), Currency: string(i.Currency),
		SubtotalCents: i.Subtotal, TaxCents: i.Tax, TotalCents: i.Total, PaidCents: i.AmountPaid, DueCents: i.AmountRemaining,
		FailedAttempts: int(i.AttemptCount), PeriodStart: moment(i.PeriodStart), PeriodEnd: moment(i.PeriodEnd),
		CreatedAt: moment(i.Created), DueAt: moment(i.DueDate), HostedURL: i.HostedInvoiceURL, PDFURL: i.InvoicePDF,
	}
	running := i.PaymentIntent != nil && i.PaymentIntent.Status == stripe.PaymentIntentStatusProcessing
	if i.Status == stripe.InvoiceStatusPaid || running { // the last attempt didn't fail
		out.FailedAttempts = max(0, out.FailedAttempts-1)
	}
	if i.Subscription != nil {
		out.SubscriptionID = i.Subscription.ID
	}
	if i.SubscriptionDetails != nil {
		out.Overage = isOverage(i.SubscriptionDetails.Metadata)
	}
	if i.StatusTransitions != nil {
		out.PaidAt, out.VoidedAt = moment(i.StatusTransitions.PaidAt), moment(i.StatusTransitions.VoidedAt)
	}
	if i.Charge != nil {
		out.RefundedCents = i.Charge.AmountRefunded
	}
	if i.Lines != nil {
		for _, l := range i.Lines.Data {
			line := InvoiceLine{Description: l.Description, AmountCents: l.Amount, Quantity: l.Quantity, Proration: l.Proration}
			if l.Period != nil {
				line.PeriodStart, line.PeriodEnd = moment(l.Period.Start), moment(l.Period.End)
			}
			out.Lines = append(out.Lines, line)
		}
	}
	return out
}
