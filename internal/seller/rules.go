package seller

import (
	"errors"
	"net/http"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/problem"
	"showfloor/internal/processor"
)

const (
	// keyLife is how long after the first request for an account a repetition is
	// safe by its idempotency key alone: the processor forgets keys after 24 hours.
	keyLife = 20 * time.Hour
	// freshFor is how long the processor's word that a seller may take charges is
	// believed without asking again.
	freshFor = 5 * time.Minute
)

// keyHasLapsed tells whether the account may have been made under an idempotency
// key that the processor no longer knows.
func keyHasLapsed(s db.Seller, now time.Time) bool { return now.Sub(s.CreatedAt) > keyLife }

// due tells whether the processor is to be asked about an account. Who may take
// charges is asked about now and then, in case a report was lost; who may not is
// asked about each time, since somebody is waiting for it.
func due(s db.Seller, chargesEnabled bool, now time.Time) bool {
	return s.ProcessorAccountID != nil && (!chargesEnabled || s.CheckedAt == nil || now.Sub(*s.CheckedAt) > freshFor)
}

// gone tells whether the processor says that the account isn't there, or not
// there for us: it was closed, or its owner has cut it off from the platform. The
// same is said to a platform with another platform's key.
func gone(err error) bool {
	r, refused := errors.AsType[*processor.Refusal](err)
	return refused && (r.Status == http.StatusForbidden || r.Status == http.StatusNotFound ||
		r.Code == "account_invalid" || r.Code == "resource_missing")
}

// linkProblem says why there is no link, in words for the seller. An account that
// is gone is not replaced: payments, refunds and payouts of the past are tied to
// it, its owner may have closed it for a reason, and while the server runs with a
// wrong key each account looks gone.
func linkProblem(err error) error {
	r, refused := errors.AsType[*processor.Refusal](err)
	switch {
	case !refused:
		return err
	case gone(err):
		return problem.Conflicting("the seller's account was closed, or disconnected from this platform, at the payment processor; " +
			"ask the platform's support to have it connected again")
	case r.Status == http.StatusBadRequest:
		return problem.New(problem.Invalid, "invalid_input",
			"the payment processor doesn't take returnUrl or refreshUrl; where real money is charged, both must begin with https://")
	default:
		return refusedProblem()
	}
}

// refusedProblem is what callers read when the processor refuses for reasons that
// only the platform can do something about.
func refusedProblem() error {
	return problem.New(problem.Unavailable, "processor_unavailable", "the payment processor didn't take the request; try again later")
}
