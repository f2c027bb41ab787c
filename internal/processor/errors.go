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

	"showfloor/internal/problem"
)

// Refusal is the processor's definite no: nothing was done.
type Refusal struct { //nolint:errname // it is an answer rather than a mishap
	// Status is the HTTP status, Code the processor's own code, which may be empty.
	Status int
	Code   string
	// Message is the processor's sentence for developers.
	Message string
}

func (r *Refusal) Error() string {
	return fmt.Sprintf("the processor refused: %s (%d %s)", r.Message, r.Status, r.Code)
}

// failure is a call whose end isn't known: the caller reads the problem, the log
// also the cause. Both are found in it.
type failure struct {
	problem *problem.Error
	doing   string
	cause   error
	// text is the cause's, without the key.
	text string
}

func (f *failure) Error() string   { return f.problem.Message + ": " + f.doing + ": " + f.text }
func (f *failure) Unwrap() []error { return []error{f.problem, f.cause} }

// unavailable is what a caller reads when a call's end isn't known.
func (c *Client) unavailable(doing string, cause error) error {
	p := problem.New(problem.Unavailable, "processor_unavailable", "the payment processor can't be reached; try again later")
	text := cause.Error()
	if said, ok := errors.AsType[*stripe.Error](cause); ok {
		// The whole answer may hold more than a log should.
		text = fmt.Sprintf("%d %s %s: %s (request %s)", said.HTTPStatusCode, said.Type, said.Code, said.Msg, said.RequestID)
	}
	return &failure{problem: p, doing: doing, cause: cause, text: c.hide(text)}
}

// addresses are e-mail addresses, as far as they look like it.
var addresses = regexp.MustCompile(`[^\s<>"'(),;]+@[^\s<>"'(),;]+`)

// hide takes out of a text of the processor's what no log shall hold: the key, and
// buyers' e-mail addresses.
func (c *Client) hide(text string) string {
	if c.config.Key != "" {
		text = strings.ReplaceAll(text, c.config.Key, "(key)")
	}
	return addresses.ReplaceAllString(text, "(e-mail address)")
}

// failed sorts a call's error, nil for none: a *Refusal, or what isn't known.
// Something that answers well without what every good answer holds isn't the
// processor.
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
		err = errors.New("the answer isn't the processor's: it lacks what each one has")
	case ctx.Err() != nil: // the caller's doing; the library doesn't pass it on in all cases
		return c.unavailable(doing, errors.Join(ctx.Err(), err))
	}
	err = c.unavailable(doing, err)
	c.last.Store(&ending{err, time.Now()})
	return err
}

// refused tells a definite no from answers that leave open what was done, and from
// those that our own set-up is to blame for:
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
