// Package processor is the payment processor as the server sees it: sellers'
// accounts, hosted payment pages, prices and refunds, by the processor's HTTP API,
// and its signed reports. Charges are made on the seller's own account.
//
// An error is a *Refusal when the processor has looked at the request and won't do
// it, otherwise a problem with code processor_unavailable; OutcomeOf tells whether
// the work may have been done all the same.
package processor

import "time"

const (
	// Queue is that of the jobs that call the processor, apart from all that doesn't:
	// while it answers slowly or not at all, auctions end and streams stop in time.
	Queue = "processor"
	// Workers is how many of them run at a time.
	Workers = 16
)

// Account is a seller's account.
type Account struct {
	ID string
	// DetailsSubmitted: the seller has handed in all that was asked for.
	DetailsSubmitted bool
	ChargesEnabled   bool
}

// Link is a hosted onboarding page, good once.
type Link struct {
	URL       string
	ExpiresAt time.Time
}

// Line is a number of units of one product on a payment page.
type Line struct {
	// PriceID is a price of the processor's; empty for one made up from the rest.
	PriceID string
	Name    string
	// UnitCents is the price of one unit in the currency's smallest unit.
	UnitCents int64
	Quantity  int64
	ImageURL  string
}

// Page is a payment page to be made.
type Page struct {
	// AccountID is the seller's account.
	AccountID string
	// OrderID comes back in each report; the processor makes one page for it,
	// however often it is asked within a day.
	OrderID, TenantID string
	// Currency is an ISO 4217 code in lower case.
	Currency string
	Lines    []Line
	// DiscountCents is taken off the lines' sum under the name DiscountName.
	DiscountCents int64
	DiscountName  string
	// FeeCents goes to the platform.
	FeeCents int64
	// CustomerEmail is asked for on the page when it is empty.
	CustomerEmail         string
	SuccessURL, CancelURL string
	// ExpiresAt is when it closes: 30 minutes to 24 hours ahead.
	ExpiresAt time.Time
}

// States of a payment page.
const (
	Open     = "open"
	Complete = "complete"
	Expired  = "expired"
)

// Session is a payment page.
type Session struct {
	ID string
	// OrderID is the order that the page's metadata names, which only holders of the
	// account's keys can write. The client_reference_id doesn't count: buyers can set
	// it on payment links of the seller's own.
	OrderID string
	// URL is where the buyer pays; empty once it is closed.
	URL string
	// Status is Open, Complete or Expired.
	Status string
	// Paid: the money is there, or there was nothing to pay. A page may be Complete
	// and not Paid, with means of payment that take days.
	Paid bool
	// Failed: it was Complete, and the payment that took days has come to nothing.
	// A list of pages doesn't tell.
	Failed bool
	// PaymentIntentID is empty until it is paid and when there was nothing to pay.
	PaymentIntentID string
	TotalCents      int64
	// Currency is in lower case.
	Currency string
	// CustomerEmail is what the buyer gave, or empty.
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
	// RefundID is ours; empty for one that was made at the processor.
	RefundID    string
	AmountCents int64
	// Status is RefundPending, RefundSucceeded or RefundFailed.
	Status string
	// FailureReason is the processor's code for why it failed; it may be empty.
	FailureReason string
}

// NewRefund is a refund to be made.
type NewRefund struct {
	AccountID string
	// RefundID is ours; the processor makes one refund for it, however often it is
	// asked within a day.
	RefundID, OrderID, TenantID string
	PaymentIntentID             string
	AmountCents                 int64
	// WithFee gives the same share of the platform's fee back.
	WithFee bool
}

// NewPrice is a price to be made on the seller's account.
type NewPrice struct {
	AccountID, ProductID, TenantID string
	Name                           string
	UnitCents                      int64
	// Currency is in lower case.
	Currency string
}

// Event is a report of the processor's, its signature checked.
type Event struct {
	ID, Type string
	// AccountID is the seller's account; empty for the platform's own.
	AccountID string
	// Payload is the whole event as JSON.
	Payload []byte
}
