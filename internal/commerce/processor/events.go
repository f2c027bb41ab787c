package processor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/webhook"

	"showfloor/internal/base/problem"
)

// maxAge is how old a report's signature may be, so that an intercepted report
// can't be replayed later.
const maxAge = 5 * time.Minute

// Verify checks the signature of a report over its raw body, with both secrets,
// and reads the report. A bad signature is a problem with code invalid_signature;
// a signed body that is no report is one with code invalid_input.
func (c *Client) Verify(body []byte, signature string) (Event, error) {
	if c.config.Secret == "" && c.config.ConnectSecret == "" {
		return Event{}, c.unavailable("verify a report", errors.New("PROCESSOR_WEBHOOK_SECRET and PROCESSOR_CONNECT_SECRET are not set"))
	}
	if !c.signed(body, signature) {
		return Event{}, problem.New(problem.Invalid, "invalid_signature", "the signature doesn't belong to this body, or is older than 5 minutes")
	}
	// Not the library's type: reports have the endpoint's API version, and these
	// fields are the same in all versions.
	var e struct {
		ID, Type, Account string
	}
	if err := json.Unmarshal(body, &e); err != nil || e.ID == "" || e.Type == "" ||
		!utf8.Valid(body) || strings.ContainsRune(e.ID+e.Type+e.Account, 0) { // PostgreSQL can't store those
		return Event{}, problem.BadField("body", "is not an event")
	}
	return Event{ID: e.ID, Type: e.Type, AccountID: e.Account, Payload: body}, nil
}

func (c *Client) signed(body []byte, signature string) bool {
	for _, secret := range []string{c.config.Secret, c.config.ConnectSecret} {
		if secret != "" && webhook.ValidatePayloadWithTolerance(body, signature, secret, maxAge) == nil {
			return true
		}
	}
	return false
}

// object reads the object of a report. Its target has only the fields that we
// need, so reports of newer API versions can be read too.
func (e Event) object(into any) error {
	var whole struct {
		Data struct{ Object json.RawMessage }
	}
	if err := json.Unmarshal(e.Payload, &whole); err != nil {
		return fmt.Errorf("read event %s: %w", e.ID, err)
	}
	if err := json.Unmarshal(whole.Data.Object, into); err != nil {
		return fmt.Errorf("read object of event %s: %w", e.ID, err)
	}
	return nil
}

// PaymentPage reads the payment page in a checkout.session.* report.
func (e Event) PaymentPage() (PaymentPage, error) {
	var o struct {
		Object          string
		ID              string
		Metadata        map[string]string
		URL             string
		Status          stripe.CheckoutSessionStatus
		PaymentStatus   stripe.CheckoutSessionPaymentStatus `json:"payment_status"`
		PaymentIntent   *stripe.PaymentIntent               `json:"payment_intent"`
		AmountTotal     int64                               `json:"amount_total"`
		Currency        stripe.Currency
		CustomerEmail   string `json:"customer_email"`
		CustomerDetails *struct {
			Email string
		} `json:"customer_details"`
		ExpiresAt int64 `json:"expires_at"`
	}
	if err := e.object(&o); err != nil {
		return PaymentPage{}, err
	}
	if o.Object != "checkout.session" || o.ID == "" {
		return PaymentPage{}, fmt.Errorf("event %s (%s) is not about a payment page", e.ID, e.Type)
	}
	s := &stripe.CheckoutSession{
		ID: o.ID, Metadata: o.Metadata, URL: o.URL, Status: o.Status, PaymentStatus: o.PaymentStatus,
		PaymentIntent: o.PaymentIntent, AmountTotal: o.AmountTotal, Currency: o.Currency, CustomerEmail: o.CustomerEmail,
		ExpiresAt: o.ExpiresAt,
	}
	if o.CustomerDetails != nil {
		s.CustomerDetails = &stripe.CheckoutSessionCustomerDetails{Email: o.CustomerDetails.Email}
	}
	page := session(s)
	page.Failed = page.Failed || !page.Paid && e.Type == string(stripe.EventTypeCheckoutSessionAsyncPaymentFailed)
	return page, nil
}

// PaymentIntentID reads the payment of a report on a charge, refund or dispute. It
// is empty if there is none, as for charges made in another way.
func (e Event) PaymentIntentID() (string, error) {
	var o struct {
		PaymentIntent *stripe.PaymentIntent `json:"payment_intent"`
	}
	if err := e.object(&o); err != nil {
		return "", err
	}
	if o.PaymentIntent == nil {
		return "", nil
	}
	return o.PaymentIntent.ID, nil
}

// CustomerID reads the customer of a report on a subscription, invoice, checkout or on the customer itself. It is empty if there
// is none.
func (e Event) CustomerID() (string, error) {
	var o struct {
		Object   string
		ID       string
		Customer *stripe.Customer
	}
	if err := e.object(&o); err != nil {
		return "", err
	}
	switch {
	case o.Object == "customer":
		return o.ID, nil
	case o.Customer == nil:
		return "", nil
	default:
		return o.Customer.ID, nil
	}
}
