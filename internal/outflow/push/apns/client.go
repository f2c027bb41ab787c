// Package apns sends pushes to iOS devices through Apple's HTTP/2 service, with token authentication.
package apns

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/sideshow/apns2"
	"github.com/sideshow/apns2/token"

	"showfloor/internal/outflow/push/provider"
)

// freshToken is the shortest time between two provider tokens: with more of them, APNs answers TooManyProviderTokenUpdates.
const freshToken = 20 * time.Minute

// Config of all clients.
type Config struct {
	// URL is the service's base address, without a slash at the end; Apple's if it is empty, by the credential's environment.
	URL string
	// Roots are the authorities of the service's certificate; nil for those of the system.
	Roots *x509.CertPool
	// Now is the clock.
	Now func() time.Time
}

// Credential of an app.
type Credential struct {
	TeamID, KeyID, BundleID string
	Key                     *ecdsa.PrivateKey
	// Production selects Apple's production service, otherwise its sandbox.
	Production bool
}

// ParseKey reads an EC P-256 private key in PEM (PKCS #8), the form of .p8 files.
func ParseKey(pem []byte) (*ecdsa.PrivateKey, error) {
	key, err := token.AuthKeyFromBytes(pem)
	if err != nil || key.Curve != elliptic.P256() {
		return nil, errors.New("not an EC P-256 private key in PEM") // err may quote the key
	}
	return key, nil
}

// Client sends with one credential.
type Client struct {
	conn  *provider.Conn
	url   string
	topic string
	token *token.Token
}

// New returns a client. It connects with the first push.
func New(c Config, credential Credential) *Client {
	base := c.URL
	switch {
	case base != "":
	case credential.Production:
		base = apns2.HostProduction
	default:
		base = apns2.HostDevelopment
	}
	return &Client{
		conn: provider.NewConn(c.Roots, c.Now), url: base + "/3/device/", topic: credential.BundleID,
		token: &token.Token{AuthKey: credential.Key, KeyID: credential.KeyID, TeamID: credential.TeamID},
	}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.conn.Close() }

// Target is a device.
type Target struct {
	Token string
	// VoIP: the token is PushKit's.
	VoIP bool
}

// Send sends a message whose Payload was encoded before. If APNs says that the provider token has expired, Send makes a new one and sends
// again.
func (c *Client) Send(ctx context.Context, to Target, m provider.Message, payload []byte) provider.Answer {
	bearer := c.token.GenerateIfExpired()
	a := c.send(ctx, to, m, payload, bearer)
	if a.Reason == apns2.ReasonExpiredProviderToken && c.renew(bearer) {
		a = c.send(ctx, to, m, payload, c.token.GenerateIfExpired())
	}
	return a
}

// renew replaces the provider token unless that is too early. It reports whether the token is another one now.
func (c *Client) renew(expired string) bool {
	c.token.Lock()
	defer c.token.Unlock()
	if c.token.Bearer != expired {
		return true
	}
	if time.Since(time.Unix(c.token.IssuedAt, 0)) < freshToken {
		return false
	}
	renewed, err := c.token.Generate()
	return renewed && err == nil
}

func (c *Client) send(ctx context.Context, to Target, m provider.Message, payload []byte, bearer string) provider.Answer {
	reply, failed := c.conn.Post(ctx, c.url+url.PathEscape(to.Token), c.header(to, m, bearer), payload)
	if failed != nil {
		return *failed
	}
	return answerOf(reply)
}

// header returns the headers of Apple's "Sending notification requests to APNs".
func (c *Client) header(to Target, m provider.Message, bearer string) http.Header {
	topic, kind, priority := c.topic, apns2.PushTypeAlert, apns2.PriorityLow
	if m.High {
		priority = apns2.PriorityHigh
	}
	switch {
	case to.VoIP:
		topic, kind, priority = topic+".voip", apns2.PushTypeVOIP, apns2.PriorityHigh
	case m.Kind == provider.Silent:
		kind, priority = apns2.PushTypeBackground, apns2.PriorityLow // 10 is an error with content-available alone
	}
	h := http.Header{
		"Authorization": {"bearer " + bearer}, "Content-Type": {"application/json"},
		"Apns-Topic": {topic}, "Apns-Push-Type": {string(kind)}, "Apns-Priority": {strconv.Itoa(priority)},
		"Apns-Expiration": {strconv.FormatInt(m.ExpiresAt.Unix(), 10)},
	}
	if m.CollapseID != "" {
		h["Apns-Collapse-Id"] = []string{m.CollapseID}
	}
	return h
}

// String hides the credential from logs.
func (c *Client) String() string { return fmt.Sprintf("apns.Client(%s)", c.topic) }
