package provider

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"showfloor/internal/outflow/outbound"
)

const (
	// Timeout is the limit of one request, from waiting for a place to the end of the answer.
	Timeout = 10 * time.Second
	// MaxInFlight is the maximum number of requests of one Conn at a time.
	MaxInFlight = 500
	// idlePing is how long a connection is silent before it is tested with a ping, and pingTimeout how long the answer may take.
	idlePing, pingTimeout = 15 * time.Second, 5 * time.Second
	// idleFor is how long a connection stays open without a request. APNs wants connections to stay open.
	idleFor = 30 * time.Minute
	// maxConns bounds the connections to a host, also while many requests wait for the first one. One connection carries 100 requests or
	// more at a time.
	maxConns = 8
	// maxAnswer is the maximum length of an answer's body in bytes.
	maxAnswer = 64 << 10
	// maxReason is the maximum length of a reason in bytes.
	maxReason = 200
	// longestPause is the longest pause of a Retry-After header that is followed.
	longestPause = time.Hour
)

// Conn is the connections to one host with one credential. They stay open between requests, and a connection that the other end ends with
// GOAWAY is replaced: its open requests that the host didn't process are repeated on another one.
type Conn struct {
	transport *http.Transport
	places    chan struct{}
	now       func() time.Time
}

// NewConn returns a Conn. roots are the authorities of certificates; nil for those of the system.
func NewConn(roots *x509.CertPool, now func() time.Time) *Conn {
	protocols := new(http.Protocols)
	protocols.SetHTTP2(true)
	return &Conn{
		transport: &http.Transport{
			DialContext:         (&net.Dialer{Timeout: Timeout, KeepAlive: idlePing}).DialContext,
			TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: Timeout, MaxConnsPerHost: maxConns, IdleConnTimeout: idleFor, DisableCompression: true,
			Protocols: protocols,
			HTTP2:     &http.HTTP2Config{SendPingTimeout: idlePing, PingTimeout: pingTimeout, WriteByteTimeout: Timeout},
		},
		places: make(chan struct{}, MaxInFlight), now: now,
	}
}

// Close closes the connections that are not in use.
func (c *Conn) Close() { c.transport.CloseIdleConnections() }

// Reply is the answer to a request.
type Reply struct {
	Status int
	Body   []byte
	// RetryAfter is the value of the header; 0 if there is none, and an hour at most.
	RetryAfter time.Duration
}

// Post sends a request. An error comes as an Answer with the outcome Unreachable.
func (c *Conn) Post(ctx context.Context, url string, header http.Header, body []byte) (Reply, *Answer) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	select {
	case c.places <- struct{}{}:
		defer func() { <-c.places }()
	case <-ctx.Done():
		return Reply{}, unreachable(ctx.Err())
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return Reply{}, &Answer{Outcome: Rejected, Reason: "the token can't be part of a request"} // err contains the URL
	}
	r.Header = header
	// The transport itself, not an http.Client: no redirects, and its errors contain no URL.
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return Reply{}, unreachable(err)
	}
	defer resp.Body.Close()
	read, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil && resp.StatusCode != http.StatusOK {
		return Reply{}, unreachable(err)
	}
	return Reply{resp.StatusCode, read, pause(resp.Header.Get("Retry-After"), c.now())}, nil
}

// pause reads a Retry-After header: seconds, or a date (RFC 9110, section 10.2.3).
func pause(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if n, err := strconv.Atoi(header); err == nil {
		return min(max(time.Duration(min(n, int(longestPause/time.Second)))*time.Second, 0), longestPause)
	}
	if at, err := http.ParseTime(header); err == nil {
		return min(max(at.Sub(now), 0), longestPause)
	}
	return 0
}

func unreachable(err error) *Answer {
	reason := outbound.Describe(err)
	if errors.Is(err, context.DeadlineExceeded) {
		reason = fmt.Sprintf("no answer within %d seconds", int(Timeout.Seconds()))
	}
	return &Answer{Outcome: Unreachable, Reason: Reason(reason)}
}

// Reason returns a provider's text in a form that can be stored and shown, 200 bytes at most.
func Reason(text string) string { return outbound.Text([]byte(text), maxReason) }
