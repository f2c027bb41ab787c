// Package ai reaches models behind OpenAI-compatible endpoints: a hosted service, or the server of vLLM, llama.cpp, whisper.cpp or Ollama.
package ai

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/sashabaranov/go-openai"
)

const (
	// maxAnswer is the maximum size of a response, in bytes.
	maxAnswer = 1 << 20
	// maxReason is the maximum length of an error, in characters.
	maxReason = 300
	// maxRetryAfter bounds the pause that an endpoint may demand.
	maxRetryAfter = 5 * time.Minute
)

// Endpoint is one endpoint. It is safe for concurrent use.
type Endpoint struct {
	*openai.Client

	url  string
	http *http.Client
	// key is hidden in errors.
	key string
}

// New makes the client of an endpoint, for example https://api.openai.com/v1. The key may be empty. timeout limits each request.
func New(url, key string, timeout time.Duration) *Endpoint {
	config := openai.DefaultConfig(key)
	config.BaseURL = strings.TrimSuffix(url, "/")
	client := &http.Client{Timeout: timeout, Transport: limited{http.DefaultTransport}}
	config.HTTPClient = client
	return &Endpoint{openai.NewClientWithConfig(config), config.BaseURL, client, key}
}

// StatusError is an answer without success.
type StatusError struct {
	Status int
	// Body is the answer's text.
	Body string
}

// Error implements error.
func (e StatusError) Error() string {
	return fmt.Sprintf("the endpoint answered %d: %s", e.Status, e.Body)
}

// Post sends a request to a path of the endpoint and returns the answer's body. The error may be a StatusError.
func (e *Endpoint) Post(ctx context.Context, path, contentType string, body io.Reader) ([]byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url+path, body)
	if err != nil {
		return nil, fmt.Errorf("make a request: %w", err)
	}
	req.Header.Set("Content-Type", contentType)
	if e.key != "" {
		req.Header.Set("Authorization", "Bearer "+e.key)
	}
	resp, err := e.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("read the endpoint's answer: %w", err)
	}
	if resp.StatusCode != http.StatusOK {
		return nil, StatusError{resp.StatusCode, string(text)}
	}
	return text, nil
}

// RefusedError is the error of a model that refuses the request itself: asking again doesn't help.
type RefusedError struct{ Reason string }

// Error implements error.
func (e RefusedError) Error() string { return "the model refused: " + e.Reason }

// RetryError is the answer of an endpoint that names when to ask again.
type RetryError struct {
	Status int
	After  time.Duration
}

// Error implements error.
func (e RetryError) Error() string {
	return fmt.Sprintf("the endpoint answered %d: try again after %s", e.Status, e.After)
}

// limited cuts long responses, so that an endpoint can't fill the memory, and reads Retry-After, which the client doesn't.
type limited struct{ base http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := l.base.RoundTrip(r)
	if err != nil {
		return nil, fmt.Errorf("reach the endpoint: %w", err)
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		if after := retryAfter(resp.Header.Get("Retry-After")); after > 0 {
			resp.Body.Close()
			return nil, RetryError{resp.StatusCode, after}
		}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	return resp, nil
}

// retryAfter reads seconds or a date (RFC 9110, 10.2.3); 0 if it is neither.
func retryAfter(header string) time.Duration {
	after := time.Duration(0)
	if seconds, err := strconv.Atoi(header); err == nil {
		after = time.Duration(min(max(seconds, 0), int(maxRetryAfter/time.Second))) * time.Second
	} else if at, err := http.ParseTime(header); err == nil {
		after = time.Until(at)
	}
	return min(max(after, 0), maxRetryAfter)
}

// Explain returns an error of the client without the rest of the endpoint's answer, which may be long and may repeat the request with its
// key. It is a RefusedError if the request itself is bad, and a RetryError if the endpoint names a pause.
func (e *Endpoint) Explain(err error) error {
	if later, is := errors.AsType[RetryError](err); is {
		return later
	}
	if refused, is := errors.AsType[RefusedError](err); is {
		return refused
	}
	reason := Clean(strings.ReplaceAll(err.Error(), cmp.Or(e.key, "\x00"), "***"), maxReason)
	for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
		if errors.Is(err, end) { // River gives an attempt back that the server's stop has ended
			return fmt.Errorf("%w: %s", end, reason)
		}
	}
	switch Status(err) {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnprocessableEntity:
		return RefusedError{Reason: reason}
	}
	return errors.New(reason)
}

// Status is the HTTP status in an error of the client; 0 if there is none.
func Status(err error) int {
	if e, ok := errors.AsType[*openai.APIError](err); ok {
		return e.HTTPStatusCode
	}
	if e, ok := errors.AsType[*openai.RequestError](err); ok {
		return e.HTTPStatusCode
	}
	if e, ok := errors.AsType[StatusError](err); ok {
		return e.Status
	}
	return 0
}

// Clean removes control characters, which the database doesn't store, and cuts the text to so many characters.
func Clean(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}
