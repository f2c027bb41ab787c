package processor

import (
	"context"
	"net/http"
	"time"

	"showfloor/internal/problem"
)

// Config of a Client.
type Config struct {
	// Key is the platform's secret key; empty for a server that sells nothing.
	Key string
	// URL is the processor's API, without a slash at the end.
	URL string
	// Secret and ConnectSecret sign its reports on the platform's account and on
	// those of sellers.
	Secret, ConnectSecret string
	// HTTPClient; one with a timeout of its own by default.
	HTTPClient *http.Client
}

// Client calls the processor. It repeats nothing by itself.
type Client struct{ config Config }

// New makes a client.
func New(c Config) *Client { return &Client{config: c} }

func unavailable() error {
	return problem.New(problem.Unavailable, "processor_unavailable", "the payment processor can't be reached; try again later")
}

// CreateAccount makes the tenant's account, once however often it is called
// within a day.
func (c *Client) CreateAccount(ctx context.Context, tenantID, tenantName string) (Account, error) {
	return Account{}, unavailable()
}

// FindAccount looks for an account that was made for the tenant since then.
func (c *Client) FindAccount(ctx context.Context, tenantID string, since time.Time) (Account, bool, error) {
	return Account{}, false, unavailable()
}

// GetAccount is an account as it stands now.
func (c *Client) GetAccount(ctx context.Context, accountID string) (Account, error) {
	return Account{}, unavailable()
}

// CreateOnboardingLink makes an onboarding page.
func (c *Client) CreateOnboardingLink(ctx context.Context, accountID, returnURL, refreshURL string) (Link, error) {
	return Link{}, unavailable()
}

// CreatePage makes a payment page.
func (c *Client) CreatePage(ctx context.Context, p Page) (Session, error) {
	return Session{}, unavailable()
}

// GetPage is a payment page as it stands now.
func (c *Client) GetPage(ctx context.Context, accountID, sessionID string) (Session, error) {
	return Session{}, unavailable()
}

// FindPage looks for the payment page of an order that was made since then: what
// to do when CreatePage's answer was lost.
func (c *Client) FindPage(ctx context.Context, accountID, orderID string, since time.Time) (Session, bool, error) {
	return Session{}, false, unavailable()
}

// ExpirePage closes a payment page, so that it can't be paid any more. A page that
// is closed already is a *Refusal: ask GetPage what became of it.
func (c *Client) ExpirePage(ctx context.Context, accountID, sessionID string) (Session, error) {
	return Session{}, unavailable()
}

// CreateRefund gives money back.
func (c *Client) CreateRefund(ctx context.Context, r NewRefund) (Refund, error) {
	return Refund{}, unavailable()
}

// ListRefunds lists all refunds of a payment.
func (c *Client) ListRefunds(ctx context.Context, accountID, paymentIntentID string) ([]Refund, error) {
	return nil, unavailable()
}

// CreatePrice makes a price that later payment pages can name.
func (c *Client) CreatePrice(ctx context.Context, p NewPrice) (priceID string, err error) {
	return "", unavailable()
}

// Verify checks the signature of a report over its raw body, with both secrets,
// and reads it. What isn't signed well is a problem with code invalid_signature.
func (c *Client) Verify(body []byte, signature string) (Event, error) {
	return Event{}, unavailable()
}

// Session reads the payment page out of a checkout.session.* report.
func (e Event) Session() (Session, error) { return Session{}, unavailable() }

// PaymentIntentID reads the payment that a report on a charge or refund is about.
func (e Event) PaymentIntentID() (string, error) { return "", unavailable() }
