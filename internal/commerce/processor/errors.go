package processor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/stripe/stripe-go/v76"

	"showfloor/internal/base/problem"
)

// Outcome is the possible effect of a failed call at the processor.
type Outcome int

const (
	// Unknown means that the request was sent, and no answer says whether it was carried out.
	// Look for its result at the processor before repeating it.
	Unknown Outcome = iota
	// NotDone means that the request was definitely not carried out. No connection was made, or
	// the processor rejected it before it began (too many requests, a wrong key). The
	// same request can be sent again later.
	NotDone
	// Refused means that the processor has checked the request and won't carry it out. The error
	// is a *Refusal.
	Refused
)

// OutcomeOf returns the outcome for an error of the Client. Other errors are
// Unknown.
func OutcomeOf(err error) Outcome {
	if _, refused := errors.AsType[*Refusal](err); refused {
		return Refused
	}
	if f, failed := errors.AsType[*failure](err); failed && f.notDone {
		return NotDone
	}
	return Unknown
}

// Refusal is the processor's definite refusal: nothing was done.
type Refusal struct { //nolint:errname // it is an answer, not a failure
	// Status is the HTTP status. Code is the processor's own code, which may be empty.
	Status int
	Code   string
	// Message is the processor's message for developers.
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the processor refused: %s (%d %s)", r.Message, r.Status, r.Code)
}

// failure is a call without a result or a refusal. The caller of the API sees the
// problem; the log also contains the cause. errors.As finds both.
type failure struct {
	problem *problem.Error
	doing   string
	cause   error
	// text is the cause's text, without the key.
	text string
	// notDone: the request was definitely not carried out.
	notDone bool
}

func (f *failure) Error() string   { return f.problem.Message + ": " + f.doing + ": " + f.text }
func (f *failure) Unwrap() []error { return []error{f.problem, f.cause} }

// unavailable makes the failure of a call from its cause.
func (c *Client) unavailable(doing string, cause error) *failure {
	p := problem.New(problem.Unavailable, "processor_unavailable", "the payment processor can't be reached; try again later")
	f := &failure{problem: p, doing: doing, cause: cause, text: cause.Error()}
	if said, ok := errors.AsType[*stripe.Error](cause); ok {
		// The whole answer may contain more than a log should.
		f.text = fmt.Sprintf("%d %s %s: %s (request %s)", said.HTTPStatusCode, said.Type, said.Code, said.Msg, said.RequestID)
		f.notDone = turnedAway(said)
	} else {
		_, f.notDone = errors.AsType[*unsent](cause)
	}
	f.text = c.hide(f.text)
	return f
}

// addresses matches texts that look like e-mail addresses.
var addresses = regexp.MustCompile(`[^\s<>"'(),;]+@[^\s<>"'(),;]+`)

// hide removes from a text of the processor's data that must not be logged: the key and
// buyers' e-mail addresses.
func (c *Client) hide(text string) string {
	if c.config.Key != "" {
		text = strings.ReplaceAll(text, c.config.Key, "(key)")
	}
	return addresses.ReplaceAllString(text, "(e-mail address)")
}

// failed converts the error of a call, nil for none, to a *Refusal or a failure.
// whole says whether the answer has the fields of every valid answer; an answer
// without it is not the processor's.
func (c *Client) failed(ctx context.Context, doing string, err error, whole bool) error {
	said, answered := errors.AsType[*stripe.Error](err)
	switch {
	case err == nil && whole:
		c.last.Store(nil)
		return nil
	case answered && refused(said):
		c.last.Store(nil)
		return &Refusal{Status: said.HTTPStatusCode, Code: string(said.Code), Message: c.hide(said.Msg)}
	case err == nil:
		err = errors.New("the answer isn't the processor's: it lacks fields that every answer has")
	case ctx.Err() != nil: // the caller cancelled; the library doesn't always pass that on
		return c.unavailable(doing, errors.Join(ctx.Err(), err))
	}
	f := c.unavailable(doing, err)
	c.last.Store(&ending{f, time.Now()})
	return f
}

// refused reports whether an error is the processor's definite refusal. It is not
// for:
//   - 401, and 403 other than for a seller's account that we may not use (any more):
//     the platform's key is wrong or may not do this;
//   - 409, 429: another request is in the way, or too many are;
//   - an idempotency error: the same was asked before with other values, and that
//     may have been done;
//   - all that doesn't look like the processor's own answer.
func refused(e *stripe.Error) bool {
	if e.Type != stripe.ErrorTypeInvalidRequest && e.Type != stripe.ErrorTypeCard {
		return false
	}
	switch e.HTTPStatusCode {
	case http.StatusBadRequest, http.StatusPaymentRequired, http.StatusNotFound:
		return true
	case http.StatusForbidden:
		return e.Code == stripe.ErrorCodeAccountInvalid
	default:
		return false
	}
}

// turnedAway reports whether the processor rejected a request before it began to
// carry it out (docs.stripe.com/error-low-level): its rate limiters and the check
// of the key come before the idempotency layer. A 429 with the code lock_timeout
// comes later, from the work itself. A 5xx, including 503, is documented as
// indeterminate.
func turnedAway(e *stripe.Error) bool {
	switch e.HTTPStatusCode {
	case http.StatusTooManyRequests:
		return e.Code != stripe.ErrorCodeLockTimeout
	case http.StatusUnauthorized, http.StatusForbidden:
		return e.Type == stripe.ErrorTypeInvalidRequest
	default:
		return false
	}
}
