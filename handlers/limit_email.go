package handlers

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/ratelimit"
)

// knownNetworks remembers the networks from which users logged in, by e-mail address.
type knownNetworks interface {
	KnowsNetwork(ctx context.Context, email, network string) (bool, error)
	RememberNetwork(ctx context.Context, email, network string) error
}

// emailLimits limits attempts on e-mail addresses.
type emailLimits struct {
	*limits

	known knownNetworks
	log   *slog.Logger
}

// limitEmail limits attempts on an e-mail address: all attempts and mails per
// network, and failed logins per network and over all networks. It runs after the
// validation, so that it sees the value that the handler gets.
func (c *contract) limitEmail(l emailLimits) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil || !op.class.isAuth() {
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
			switch op.class {
			case classMail:
				if err := l.take(e, l.mails, pair, "sign-up mails to this e-mail address, asked for from this network"); err != nil {
					return err
				}
			case classLogin:
				return l.login(e, email, next)
			}
			return next(e)
		}
	}
}

// login counts a failed attempt for the pair of e-mail address and site, and for the
// address over all sites. A pair that has used up its own failures is refused before
// it can add to those of the address, so one site alone can't lock a user out. Known
// networks are exempt from both limits, so many sites can't lock out a user who has
// logged in before.
func (l emailLimits) login(e echo.Context, email string, next echo.HandlerFunc) error {
	ctx, from := e.Request().Context(), callersNetwork(e)
	counts := l.failedLogins(email, callersSite(e))
	known := func() (bool, error) { return l.known.KnowsNetwork(ctx, email, from) }
	for _, c := range counts {
		r := l.limiter.Peek(ctx, c.Policy, c.Subject)
		if r.Allowed {
			continue
		}
		if exempt, err := known(); err != nil || exempt {
			if err != nil {
				return err
			}
			break
		}
		showLimit(e, c.Policy, r)
		return overLimit(c.Policy, r, c.what)
	}
	err := next(e)
	switch {
	case err == nil:
		if err := l.known.RememberNetwork(ctx, email, from); err != nil {
			l.log.Warn("a login's network was not remembered", "error", err)
		}
	case len(counts) > 0 && problem.Is(err, "invalid_credentials"):
		if exempt, err := known(); err == nil && !exempt {
			l.limiter.TakeAll(ctx, counts[0].Bucket, counts[1].Bucket)
		}
	}
	return err
}

// failedLogins returns the limits of failed logins; none if they are off.
func (l emailLimits) failedLogins(email, site string) []counted {
	if !l.failures.Limits() {
		return nil
	}
	return []counted{
		{
			Bucket: ratelimit.Bucket{Policy: l.siteFailures, Subject: digest(email + "\n" + site)},
			what:   "failed logins for this e-mail address from this network",
		},
		{Bucket: ratelimit.Bucket{Policy: l.failures, Subject: digest(email)}, what: "failed logins for this e-mail address"},
	}
}

// siteShare is the divisor of an address's failed logins for one site: a site may
// cause a tenth of them.
const siteShare = 10

func siteFailures(all ratelimit.Rate) ratelimit.Rate {
	if all.Events == 0 {
		return all
	}
	all.Events, all.Burst = max(all.Events/siteShare, 1), max(all.Burst/siteShare, 1)
	return all
}

// emailIn returns the e-mail address in a validated body, or "" if there is none.
func emailIn(r *http.Request) string {
	read, ok := r.Body.(interface{ ValidatedValue() any })
	if !ok {
		return ""
	}
	body, _ := read.ValidatedValue().(map[string]any)
	email, _ := body["email"].(string)
	return email
}
