// Package workerhook sends signed notices to outside programs that record, transcode or package.
package workerhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"showfloor/internal/base/secret"
)

// Headers of the signatures: "sha256=" and the hex HMAC-SHA256 of the raw body, as in the programs' own reports.
const (
	Recorder   = "X-Recorder-Signature"
	Transcoder = "X-Transcoder-Signature"
	Packager   = "X-Packager-Signature"
)

// Client sends notices to one program.
type Client struct {
	url, header string
	secret      []byte
	http        http.Client
}

// timeout is the limit of a whole request.
const timeout = 15 * time.Second

// New makes a client for the program at url, an address that the operator has set. Requests are signed with secret in the header.
func New(url, header, secret string) *Client {
	return &Client{url: url, header: header, secret: []byte(secret), http: http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Send sends a notice as JSON. Any status but 2xx is an error.
func (c *Client) Send(ctx context.Context, notice any) error {
	body, err := json.Marshal(notice)
	if err != nil {
		return fmt.Errorf("encode notice: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send a notice: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(c.header, secret.Sign(c.secret, body))
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("send a notice: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("send a notice: the program answered %s", resp.Status)
	}
	return nil
}
