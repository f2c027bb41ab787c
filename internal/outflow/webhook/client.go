package webhook

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"showfloor/internal/outflow/outbound"
)

const (
	// keptBody is how much of a response body is stored for the tenant, in bytes.
	keptBody = 4 << 10
	// keptFailure is the maximum length of a failure's text in bytes.
	keptFailure = 500
	// readBody is how much of the rest of a body is read at most, so that the
	// connection can be reused, in bytes.
	readBody = 64 << 10
)

// outcome is the result of one attempt.
type outcome struct {
	// status is nil if there was no response.
	status *int32
	body   *string
	// failure is empty if the endpoint accepted the delivery.
	failure string
	gone    bool
	took    time.Duration
}

// attempt makes one POST. It never returns an error: a failure is an outcome. The
// outcome's texts can always be stored, for any bytes that the endpoint sends.
func (s *Service) attempt(ctx context.Context, target string, m message) outcome {
	start := s.config.Now()
	o := s.post(ctx, target, m)
	o.took = s.config.Now().Sub(start)
	o.failure = outbound.Text([]byte(o.failure), keptFailure)
	return o
}

func (s *Service) post(ctx context.Context, target string, m message) outcome {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(m.Body))
	if err != nil {
		return outcome{failure: "the URL can't be called"}
	}
	req.Header.Set("User-Agent", "Showfloor-Webhooks/1")
	sign(req.Header, m, s.config.Now())
	resp, err := s.config.Client.Do(req)
	if err != nil {
		return outcome{failure: outbound.Describe(err)}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, keptBody))
	if err == nil {
		_, err = io.Copy(io.Discard, io.LimitReader(resp.Body, readBody))
	}
	o := outcome{status: new(int32(resp.StatusCode)), body: new(outbound.Text(body, keptBody)), gone: resp.StatusCode == http.StatusGone}
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400:
		o.failure = fmt.Sprintf("answered %d: redirects are not followed", resp.StatusCode)
	case resp.StatusCode < 200 || resp.StatusCode > 299:
		o.failure = fmt.Sprintf("answered %d", resp.StatusCode)
	case err != nil:
		o.failure = outbound.Describe(err)
	}
	return o
}
