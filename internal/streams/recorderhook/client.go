// Package recorderhook notifies an outside recorder of recordings that it should start and stop.
package recorderhook

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"showfloor/internal/base/secret"
	"showfloor/internal/streams/recording"
)

// signatureHeader has "sha256=" and the hex HMAC-SHA256 of the raw body, as in the recorder's own reports.
const signatureHeader = "X-Recorder-Signature"

// Client implements recording.OutsideRecorder.
type Client struct {
	url    string
	secret []byte
	http   http.Client
}

// timeout is the limit of a whole request.
const timeout = 15 * time.Second

// New makes a client for the recorder at url, an address that the operator has set. Requests are signed with secret.
func New(url, secret string) *Client {
	return &Client{url: url, secret: []byte(secret), http: http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Notify implements recording.OutsideRecorder. Any status but 2xx is an error.
func (c *Client) Notify(ctx context.Context, n recording.Notice) error {
	body, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode notice: %w", err)
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("notify the outside recorder: %w", err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(signatureHeader, secret.Sign(c.secret, body))
	resp, err := c.http.Do(r)
	if err != nil {
		return fmt.Errorf("notify the outside recorder: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, 64<<10) // so that the connection can be used again
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("notify the outside recorder: it answered %s", resp.Status)
	}
	return nil
}
