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
	// freshFor is how long the stored state of a seller who may take charges is
	// answered without asking the processor.
	freshFor = 5 * time.Minute
	// askPause is the shortest time between two questions to the processor about one
	// account that requests cause. Between them the stored state is answered.
	askPause = 10 * time.Second
)

// keyHasLapsed tells whether the account may have been made under an idempotency
// key that the processor no longer knows.
func keyHasLapsed(s db.Seller, now time.Time) bool { return now.Sub(s.CreatedAt) > keyLife }

// due reports whether a request for the status asks the processor: at most every
// askPause, and while the seller may take charges only after freshFor, in case a
// report was lost.
func due(s db.Seller, chargesEnabled bool, now time.Time) bool {
	return s.ProcessorAccountID != nil && past(s.AskedAt, askPause, now) && (!chargesEnabled || past(s.CheckedAt, freshFor, now))
}

// past reports whether at is longer ago than d, which is true for nil, and for a
// time that is ahead of now: it was written by a clock that has gone back since.
func past(at *time.Time, d time.Duration, now time.Time) bool {
	return at == nil || at.After(now) || now.Sub(*at) > d
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
