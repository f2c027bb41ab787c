package processor

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v76"
)

// CreateCustomer creates the tenant as a customer of the platform's own account. Repeated calls within a day create only one.
func (c *Client) CreateCustomer(ctx context.Context, tenantID, name, email string) (customerID string, err error) {
	asked := &stripe.CustomerParams{
		Params: params(ctx, "", "customer-"+tenantID), Name: new(name), Metadata: map[string]string{metaTenant: tenantID},
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
		Params: params(ctx, "", "plan-"+tier), Name: new(name), Metadata: map[string]string{metaPlan: tier},
	})
	if err := c.failed(ctx, "create product of plan", err, made.ID != ""); err != nil {
		return "", err
	}
	return made.ID, nil
}

// CustomerState is all that the processor knows about a customer's plan.
type CustomerState struct {
	// Subscriptions and Invoices are newest first: all subscriptions of the last 100, and the last 100 invoices.
	Subscriptions []Subscription
	Invoices      []Invoice
}

// ReadCustomer reads the customer's subscriptions and invoices. A customer that doesn't exist (any more) has none.
func (c *Client) ReadCustomer(ctx context.Context, customerID string) (s CustomerState, err error) {
	if s.Subscriptions, err = c.listSubscriptions(ctx, customerID); err != nil {
		return s, withoutCustomer(err)
	}
	s.Invoices, err = c.listInvoices(ctx, customerID)
	return s, withoutCustomer(err)
}

// withoutCustomer returns nil for the refusal that there is no such customer.
func withoutCustomer(err error) error {
	if refusal, ok := errors.AsType[*Refusal](err); ok && refusal.Code == string(stripe.ErrorCodeResourceMissing) {
		return nil
	}
	return err
}
