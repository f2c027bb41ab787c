// Package processor is a client of the payment processor: sellers' accounts,
// hosted payment pages, prices and refunds through the processor's HTTP API, and
// its signed reports. Charges are made on the seller's own account.
//
// An error is a *Refusal if the processor has checked the request and won't carry
// it out, otherwise a problem with code processor_unavailable. OutcomeOf says
// whether the request may have been carried out anyway.
package processor

import "time"

const (
	// Queue is the queue of the jobs that call the processor. It is separate from
	// other jobs, so that auctions end and streams stop in time while the processor
	// answers slowly or not at all.
	Queue = "processor"
	// Workers is the maximum number of concurrent jobs of Queue.
	Workers = 16
)

// Account is a seller's account.
type Account struct {
	ID string
	// DetailsSubmitted: the seller has submitted all required details.
	DetailsSubmitted bool
	ChargesEnabled   bool
}

// Link is a hosted onboarding page, valid once.
type Link struct {
	URL       string
	ExpiresAt time.Time
}

// Line is a number of units of one product on a payment page.
type Line struct {
	// PriceID is a price of the processor's; empty to define the price by the other
	// fields.
	PriceID string
	Name    string
	// UnitCents is the price of one unit in the currency's smallest unit.
	UnitCents int64
	Quantity  int64
	ImageURL  string
}

// NewPaymentPage describes a payment page to create.
type NewPaymentPage struct {
	// AccountID is the seller's account.
	AccountID string
	// OrderID is returned in each report. The processor creates only one page for it,
	// also for repeated requests within a day.
	OrderID, TenantID string
	// Currency is an ISO 4217 code in lower case.
	Currency string
	Lines    []Line
	// DiscountCents is subtracted from the sum of the lines, with the name
	// DiscountName.
	DiscountCents int64
	DiscountName  string
	// FeeCents is the platform's fee.
	FeeCents int64
	// CustomerEmail may be empty; then the page asks for it.
	CustomerEmail         string
	SuccessURL, CancelURL string
	// ExpiresAt is when the page closes: 30 minutes to 24 hours from now.
	ExpiresAt time.Time
}

// States of a payment page.
const (
	Open     = "open"
	Complete = "complete"
	Expired  = "expired"
)

// PaymentPage is the state of a payment page.
type PaymentPage struct {
	ID string
	// OrderID is the order in the page's metadata, which only holders of the account's
	// keys can write. The client_reference_id is ignored, because buyers can set it on
	// the seller's own payment links.
	OrderID string
	// URL is where the buyer pays; empty once the page is closed.
	URL string
	// Status is Open, Complete or Expired.
	Status string
	// Paid: the payment succeeded, or there was nothing to pay. With payment methods
	// that take days, a page may be Complete and not Paid.
	Paid bool
	// Failed: the page was Complete, and the payment, which took days, failed. Lists
	// of pages don't contain this.
	Failed bool
	// PaymentIntentID is empty before the payment and if there was nothing to pay.
	PaymentIntentID string
	TotalCents      int64
	// Currency is in lower case.
	Currency string
	// CustomerEmail is the address that the buyer gave, or empty.
	CustomerEmail string
	ExpiresAt     time.Time
}

// States of a refund.
const (
	RefundPending   = "pending"
	RefundSucceeded = "succeeded"
	RefundFailed    = "failed"
)

// Refund is money given back.
type Refund struct {
	ID string
	// RefundID is our id; empty for a refund made at the processor.
	RefundID    string
	AmountCents int64
	// Status is RefundPending, RefundSucceeded or RefundFailed.
	Status string
	// FailureReason is the processor's code for why it failed; it may be empty.
	FailureReason string
}

// NewRefund describes a refund to make.
type NewRefund struct {
	AccountID string
	// RefundID is our id. The processor makes only one refund for it, also for
	// repeated requests within a day.
	RefundID, OrderID, TenantID string
	PaymentIntentID             string
	AmountCents                 int64
	// WithFee also gives back the same share of the platform's fee.
	WithFee bool
}

// NewPrice describes a price to create on the seller's account.
type NewPrice struct {
	AccountID, ProductID, TenantID string
	Name                           string
	UnitCents                      int64
	// Currency is in lower case.
	Currency string
}

// Event is a report of the processor's with a valid signature.
type Event struct {
	ID, Type string
	// AccountID is the seller's account; empty for the platform's own.
	AccountID string
	// Payload is the whole event as JSON.
	Payload []byte
}
