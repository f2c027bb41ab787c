// Package fcm sends pushes to Android devices and browsers through Firebase Cloud Messaging's HTTP v1 API, with a service account.
package fcm

import (
	"context"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"showfloor/internal/outflow/push/provider"
)

// Addresses of the provider.
const (
	DefaultURL      = "https://fcm.googleapis.com"
	DefaultTokenURL = "https://oauth2.googleapis.com/token" //nolint:gosec // an address, no credential
)

// Config of all clients.
type Config struct {
	// URL is the service's base address, without a slash at the end; the provider's if it is empty.
	URL string
	// TokenURL is the address for access tokens; the provider's if it is empty.
	TokenURL string
	// Roots are the authorities of the services' certificates; nil for those of the system.
	Roots *x509.CertPool
	// Now is the clock.
	Now func() time.Time
}

// Account is the part of a service account that is used.
type Account struct {
	ProjectID    string `json:"project_id"`
	PrivateKeyID string `json:"private_key_id,omitempty"`
	PrivateKey   string `json:"private_key"`
	ClientEmail  string `json:"client_email"`
}

// CheckKey returns an error unless the text is an RSA private key in PEM.
func CheckKey(text string) error {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return errors.New("not an RSA private key in PEM")
	}
	if _, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return nil
	}
	key, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if _, isRSA := key.(*rsa.PrivateKey); err != nil || !isRSA {
		return errors.New("not an RSA private key in PEM")
	}
	return nil
}

// Client sends with one service account.
type Client struct {
	conn   *provider.Conn
	url    string
	tokens *tokens
}

// New returns a client for a service account in JSON. It connects with the first push.
func New(c Config, account []byte) (*Client, error) {
	var a Account
	if err := json.Unmarshal(account, &a); err != nil {
		return nil, errors.New("the service account isn't JSON") // err may quote it
	}
	if c.URL == "" {
		c.URL = DefaultURL
	}
	if c.TokenURL == "" {
		c.TokenURL = DefaultTokenURL
	}
	return &Client{
		conn: provider.NewConn(c.Roots, c.Now), url: c.URL + "/v1/projects/" + url.PathEscape(a.ProjectID) + "/messages:send",
		tokens: newTokens(c, a),
	}, nil
}

// Close closes the connections that are not in use.
func (c *Client) Close() {
	c.conn.Close()
	c.tokens.close()
}

// Send sends a message to a device. If the provider refuses an access token that isn't new, Send gets another one and sends again.
func (c *Client) Send(ctx context.Context, token string, m Encoded) provider.Answer {
	body, err := m.For(token)
	if err != nil {
		return provider.Answer{Outcome: provider.Rejected, Reason: "the token can't be encoded"}
	}
	access, failed := c.tokens.get(ctx)
	if failed != nil {
		return *failed
	}
	a := c.send(ctx, access, body)
	if a.Outcome == provider.CredentialFault && a.Status == http.StatusUnauthorized && c.tokens.drop(access) {
		if access, failed = c.tokens.get(ctx); failed != nil {
			return *failed
		}
		a = c.send(ctx, access, body)
	}
	return a
}

func (c *Client) send(ctx context.Context, access string, body []byte) provider.Answer {
	reply, failed := c.conn.Post(ctx, c.url, http.Header{
		"Authorization": {"Bearer " + access}, "Content-Type": {"application/json"},
	}, body)
	if failed != nil {
		return *failed
	}
	return answerOf(reply)
}

// String hides the credential from logs.
func (c *Client) String() string { return fmt.Sprintf("fcm.Client(%s)", c.url) }
