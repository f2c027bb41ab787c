// Package showfloor is the Go client of the Showfloor API. Its methods are
// generated from the API document, one per operation, each as XWithResponse,
// which reads the answer into typed fields:
//
//	c, err := showfloor.New("https://live.example.com", os.Getenv("SHOWFLOOR_KEY"))
//	r, err := c.CreateStreamWithResponse(ctx, api.StreamInput{Name: "Launch"})
//	if err != nil {
//		return err
//	}
//	stream, err := showfloor.Unwrap(r.JSON201, r.ApplicationProblemJSONDefault)
//
// Bodies and results are types of showfloor/gen/api.
package showfloor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/internal/base/timestamp"
)

// Client has a method for each operation.
type Client = client.ClientWithResponses

// Time is a point in time in bodies; make one with At.
type Time = timestamp.Time

// At converts a time.Time for a body.
func At(t time.Time) Time { return timestamp.From(t) }

// Option changes how requests are made.
type Option = client.ClientOption

// WithHTTPClient is an Option: requests use this client instead of
// http.DefaultClient, which has no time limit.
func WithHTTPClient(c *http.Client) Option { return client.WithHTTPClient(c) }

// New makes a client of the server at baseURL (without /v1). The token is an
// API key or the token of a login; empty for public operations.
func New(baseURL, token string, options ...Option) (*Client, error) {
	authorize := client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		return nil
	})
	c, err := client.NewClientWithResponses(baseURL, append([]Option{authorize}, options...)...)
	if err != nil {
		return nil, fmt.Errorf("make a client of %s: %w", baseURL, err)
	}
	return c, nil
}

// Error is a problem from the server as a Go error.
type Error struct{ api.Problem }

// Error returns the code and the message.
func (e *Error) Error() string { return e.Code + ": " + e.Message }

// AsError converts a problem to an error; nil to nil.
func AsError(p *api.Problem) error {
	if p == nil {
		return nil
	}
	return &Error{*p}
}

// ErrNoProblem is Unwrap's error for an answer that is neither the result nor a problem, such as a proxy's.
var ErrNoProblem = errors.New("the answer is neither the documented result nor a problem")

// Unwrap returns the result of a call: pass the answer's JSON200 or JSON201, and its ApplicationProblemJSONDefault. The
// error is an *Error with the problem, or ErrNoProblem.
func Unwrap[T any](result *T, p *api.Problem) (T, error) {
	if result != nil {
		return *result, nil
	}
	var none T
	if p != nil {
		return none, AsError(p)
	}
	return none, ErrNoProblem
}
