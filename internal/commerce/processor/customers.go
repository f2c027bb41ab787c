package processor

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/stripe/stripe-go/v76"
)

// CreateCustomer creates the tenant as a customer of the platform's own account. Repeated calls within a day create only one.
func (c *Client) CreateCustomer(ctx context.Context, tenantID, name, email string) (customerID string, err error) {
	asked := &stripe.CustomerParams{
		Params: params(ctx, "", keyOf("customer-"+tenantID, name, email)), Name: new(name), Metadata: map[string]string{metaTenant: tenantID},
	}
	if email != "" {
		asked.Email = new(email)
	}
	made, err := c.api.Customers.New(asked)
	if err := c.failed(ctx, "create customer", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// CreatePlanProduct creates the product of a plan. Repeated calls within a day create only one.
func (c *Client) CreatePlanProduct(ctx context.Context, tier, name string) (productID string, err error) {
	made, err := c.api.Products.New(&stripe.ProductParams{
		Params: params(ctx, "", keyOf("plan-"+tier, name)), Name: new(name), Metadata: map[string]string{metaPlan: tier},
	})
	if err := c.failed(ctx, "create product of plan", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// CustomerState is all that the processor knows about a customer's plan.
type CustomerState struct {
	// Subscriptions, Overage and Invoices are newest first. Of the customer's last 100 subscriptions, Subscriptions has those to plans
	// and Overage those for the usage above them. Invoices has the last 100.
	Subscriptions []Subscription
	Overage       []OverageSubscription
	Invoices      []Invoice
	// Complete: the customer has no further subscriptions.
	Complete bool
}

// ReadCustomer reads the customer's subscriptions and invoices. A customer that the account doesn't have is a *Refusal: then the key
// may be that of another account.
func (c *Client) ReadCustomer(ctx context.Context, customerID string) (s CustomerState, err error) {
	if customerID == "" { // the lists would be those of all customers
		return s, errors.New("read customer: the id is empty")
	}
	if err := c.listSubscriptions(ctx, customerID, &s); err != nil {
		return CustomerState{}, err
	}
	if len(s.Subscriptions)+len(s.Overage) == 0 {
		if err := c.checkCustomer(ctx, customerID); err != nil {
			return CustomerState{}, err
		}
	}
	if s.Invoices, err = c.listInvoices(ctx, customerID); err != nil {
		return CustomerState{}, err
	}
	for n := range s.Invoices {
		i := &s.Invoices[n]
		i.Overage = i.Overage || slices.ContainsFunc(s.Overage, func(o OverageSubscription) bool { return o.ID == i.SubscriptionID })
	}
	return s, nil
}

// checkCustomer returns a *Refusal if the account doesn't have the customer. The documentation doesn't promise that lists about such a
// customer are refused, and an empty list would mean that all subscriptions have ended.
func (c *Client) checkCustomer(ctx context.Context, customerID string) error {
	got, err := c.api.Customers.Get(customerID, &stripe.CustomerParams{Params: params(ctx, "", "")})
	return c.failed(ctx, "get customer", err, got.ID != "")
}

// keyOf returns an idempotency key for an object with these values. With other values it is another key, because the processor
// refuses a key that comes with other values for a day.
func keyOf(name string, values ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(values, "\x00")))
	return name + "-" + hex.EncodeToString(sum[:8])
}
