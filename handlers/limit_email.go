package handlers

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/ratelimit"
)

// knownNetworks marks each pair of e-mail address and network with a successful
// login in the last 24 hours, by an empty bucket. A marked pair is exempt from the
// limit of failed logins, so that others can't lock the user out by failing on
// purpose.
func knownNetworks() ratelimit.Policy {
	return ratelimit.Policy{Name: "known-networks", Rate: ratelimit.Rate{Events: 1, Per: 24 * time.Hour, Burst: 1}}
}

// limitEmail limits attempts on an e-mail address: all attempts per network, and
// failed logins over all networks. It runs after the validation, so that it sees
// the value that the handler gets.
func (c *contract) limitEmail(l *limits) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || op.class != classAuth && op.class != classLogin {
				return next(e)
			}
			email := emailIn(e.Request())
			if email == "" {
				return next(e)
			}
			email = account.CanonicalEmail(email)
			pair := digest(email + "\n" + callersNetwork(e))
			if err := l.take(e, l.email, pair, "attempts for this e-mail address from this network"); err != nil {
				return err
			}
			if op.class != classLogin || !l.failures.Limits() {
				return next(e)
			}
			return l.login(e, digest(email), pair, next)
		}
	}
}

// login counts the attempt when it fails, and remembers the network when it
// succeeds.
func (l *limits) login(e echo.Context, email, pair string, next echo.HandlerFunc) error {
	ctx := e.Request().Context()
	if known := !l.limiter.Peek(ctx, knownNetworks(), pair).Allowed; !known {
		if err := l.peek(e, l.failures, email, "failed logins for this e-mail address"); err != nil {
			return err
		}
	}
	err := next(e)
	switch {
	case err == nil:
		l.limiter.Take(ctx, knownNetworks(), pair)
	case problem.Is(err, "invalid_credentials"):
		l.limiter.Take(ctx, l.failures, email)
	}
	return err
}

// emailIn is the e-mail address in a validated body; "" for none.
func emailIn(r *http.Request) string {
	read, ok := r.Body.(interface{ ValidatedValue() any })
	if !ok {
		return ""
	}
	body, _ := read.ValidatedValue().(map[string]any)
	email, _ := body["email"].(string)
	return email
}
