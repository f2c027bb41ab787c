package processor

import (
	"context"
	"time"

	"github.com/stripe/stripe-go/v76"
)

// Keys of the metadata that we attach to the processor's objects.
const (
	metaTenant = "tenant_id"
	metaOrder  = "order_id"
	metaRefund = "refund_id"
	// metaProduct is our product's id.
	metaProduct = "product_id"
	// metaPlan is the tier of a plan: of its product, or of a scheduled change, which also has its interval.
	metaPlan     = "plan"
	metaInterval = "interval"
	metaCents    = "unit_cents"
)

// CreateAccount creates the tenant's account. Repeated calls within a day create
// only one.
func (c *Client) CreateAccount(ctx context.Context, tenantID, tenantName string) (Account, error) {
	made, err := c.api.Accounts.New(&stripe.AccountParams{
		Params:          params(ctx, "", "account-"+tenantID),
		Type:            new(string(stripe.AccountTypeStandard)),
		BusinessProfile: &stripe.AccountBusinessProfileParams{Name: new(tenantName)},
		Metadata:        map[string]string{metaTenant: tenantID},
	})
	if err := c.failed(ctx, "create account", err, made.ID != ""); err != nil {
		return Account{}, err
	}
	return account(made), nil
}

// FindAccount looks for an account that was created for the tenant since a time.
func (c *Client) FindAccount(ctx context.Context, tenantID string, since time.Time) (Account, bool, error) {
	list := c.api.Accounts.List(&stripe.AccountListParams{ListParams: listParams(ctx, ""), CreatedRange: from(since)})
	for list.Next() {
		a := list.Account()
		if a.Created < since.Add(-slack).Unix() {
			break // newest first
		}
		if a.Metadata[metaTenant] == tenantID {
			return account(a), true, nil
		}
	}
	return Account{}, false, c.failed(ctx, "find account", list.Err(), list.AccountList().Data != nil)
}

// GetAccount returns the current state of an account.
func (c *Client) GetAccount(ctx context.Context, accountID string) (Account, error) {
	got, err := c.api.Accounts.GetByID(accountID, &stripe.AccountParams{Params: params(ctx, "", "")})
	if err := c.failed(ctx, "get account", err, got.ID != ""); err != nil {
		return Account{}, err
	}
	return account(got), nil
}

// CreateOnboardingLink creates an onboarding page.
func (c *Client) CreateOnboardingLink(ctx context.Context, accountID, returnURL, refreshURL string) (Link, error) {
	made, err := c.api.AccountLinks.New(&stripe.AccountLinkParams{
		Params: params(ctx, "", ""), Account: new(accountID),
		Type:      new(string(stripe.AccountLinkTypeAccountOnboarding)),
		ReturnURL: new(returnURL), RefreshURL: new(refreshURL),
	})
	if err := c.failed(ctx, "create onboarding link", err, made.URL != ""); err != nil {
		return Link{}, err
	}
	return Link{URL: made.URL, ExpiresAt: time.Unix(made.ExpiresAt, 0).UTC()}, nil
}

func account(a *stripe.Account) Account {
	return Account{ID: a.ID, DetailsSubmitted: a.DetailsSubmitted, ChargesEnabled: a.ChargesEnabled}
}
