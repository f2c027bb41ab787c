package seller

import (
	"errors"
	"net/http"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/commerce/processor"
)

const (
	// keyLife is the time after the first request for an account in which a
	// repetition is safe by its idempotency key alone: the processor forgets keys
	// after 24 hours.
	keyLife = 20 * time.Hour
	// freshFor is how long the stored state of a seller who may take charges is
	// returned without a call to the processor.
	freshFor = 5 * time.Minute
	// askPause is the shortest time between two calls to the processor about one
	// account that requests cause. Between them the stored state is returned.
	askPause = 10 * time.Second
)

// keyHasLapsed reports whether the account may have been created with an idempotency
// key that the processor no longer knows.
func keyHasLapsed(s db.Seller, now time.Time) bool { return now.Sub(s.CreatedAt) > keyLife }

// due reports whether a request for the status calls the processor: at most once per
// askPause, and while the seller may take charges only after freshFor, in case a
// webhook was lost.
func due(s db.Seller, chargesEnabled bool, now time.Time) bool {
	return s.ProcessorAccountID != nil && past(s.AskedAt, askPause, now) && (!chargesEnabled || past(s.CheckedAt, freshFor, now))
}

// past reports whether at is longer ago than d. It is true for nil, and for a time
// in the future, which was written before the clock was set back.
func past(at *time.Time, d time.Duration, now time.Time) bool {
	return at == nil || at.After(now) || now.Sub(*at) > d
}

// gone reports whether, according to the processor, the account doesn't exist or
// isn't accessible to this platform: it was closed, or its owner has disconnected
// it. A platform that uses another platform's key gets the same answer.
func gone(err error) bool {
	r, refused := errors.AsType[*processor.Refusal](err)
	return refused && (r.Status == http.StatusForbidden || r.Status == http.StatusNotFound ||
		r.Code == "account_invalid" || r.Code == "resource_missing")
}

// linkProblem returns the reason for a missing link, for the seller. An account that
// is gone is not replaced: past payments, refunds and payouts belong to it, its
// owner may have closed it for a reason, and while the server runs with a wrong key
// every account looks gone.
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

// refusedProblem is the caller's problem if the processor refuses for reasons that
// only the platform's operators can fix.
func refusedProblem() error {
	return problem.New(problem.Unavailable, "processor_unavailable", "the payment processor didn't accept the request; try again later")
}
