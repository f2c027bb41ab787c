package account

import (
	"context"
	"log/slog"

	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
)

// AttemptLimits limits attempts on e-mail addresses, whether or not a user has the address: all attempts and sign-up
// mails per address and network, and failed logins per address. Networks from which users logged in before are exempt
// from the limit of failed logins, so many networks together can't lock out a user who has logged in before.
type AttemptLimits struct {
	accounts *Service
	limiter  *ratelimit.Limiter
	log      *slog.Logger

	attempts, mails, failures, siteFailures ratelimit.Policy
}

// AttemptRates are the rates of AttemptLimits. A zero Rate limits nothing.
type AttemptRates struct {
	// Attempts is per address and network; Mails does the same for mails with a sign-up code.
	Attempts, Mails ratelimit.Rate
	// Failures is per address, over all networks. It counts failed logins.
	Failures ratelimit.Rate
}

// NewAttemptLimits makes the limits. The limiter may be nil if all rates are zero.
func NewAttemptLimits(accounts *Service, limiter *ratelimit.Limiter, r AttemptRates, log *slog.Logger) *AttemptLimits {
	return &AttemptLimits{
		accounts: accounts, limiter: limiter, log: log,
		attempts: ratelimit.Policy{Name: "email", What: "attempts for this e-mail address from this network", Rate: r.Attempts},
		mails:    ratelimit.Policy{Name: "mails", What: "sign-up mails to this e-mail address, asked for from this network", Rate: r.Mails},
		failures: ratelimit.Policy{Name: "failures", What: "failed logins for this e-mail address", Rate: r.Failures},
		siteFailures: ratelimit.Policy{
			Name: "failures-network", What: "failed logins for this e-mail address from this network", Rate: siteFailures(r.Failures),
		},
	}
}

// siteShare is the divisor of an address's failed logins for one site (see netaddr.SiteOf): a site may cause a tenth of
// them.
const siteShare = 10

func siteFailures(all ratelimit.Rate) ratelimit.Rate {
	if all.Limits() {
		all.Events, all.Burst = max(all.Events/siteShare, 1), max(all.Burst/siteShare, 1)
	}
	return all
}

// Attempt returns the bucket of every attempt on an address from the network of ip.
func (l *AttemptLimits) Attempt(email, ip string) ratelimit.Bucket {
	return ratelimit.Bucket{Policy: l.attempts, Subject: pairOf(email, netaddr.NetworkOf(ip))}
}

// SignupMail returns the bucket of mails with a sign-up code.
func (l *AttemptLimits) SignupMail(email, ip string) ratelimit.Bucket {
	return ratelimit.Bucket{Policy: l.mails, Subject: pairOf(email, netaddr.NetworkOf(ip))}
}

// CheckLogin returns the limit that forbids another login with this address from the network of ip, and its state; nil
// if none does. It counts nothing. A pair of address and site that has used up its own failures is refused before it
// can add to those of the address, so one site alone can't lock a user out.
func (l *AttemptLimits) CheckLogin(ctx context.Context, email, ip string) (*ratelimit.Bucket, ratelimit.Result, error) {
	for _, b := range l.failedLogins(email, ip) {
		state := l.limiter.Peek(ctx, b.Policy, b.Subject)
		if state.Allowed {
			continue
		}
		known, err := l.accounts.knowsNetwork(ctx, email, netaddr.NetworkOf(ip))
		if err != nil || known {
			return nil, ratelimit.Result{}, err
		}
		return &b, state, nil
	}
	return nil, ratelimit.Result{}, nil
}

// CountLogin counts a login that failed, for the pair of address and site and for the address over all sites, or
// remembers the network of one that succeeded. err is the login's result.
func (l *AttemptLimits) CountLogin(ctx context.Context, email, ip string, err error) {
	network := netaddr.NetworkOf(ip)
	if err == nil {
		if err := l.accounts.rememberNetwork(ctx, email, network); err != nil {
			l.log.WarnContext(ctx, "a login's network was not remembered", "error", err)
		}
		return
	}
	limits := l.failedLogins(email, ip)
	if len(limits) == 0 || !problem.Is(err, "invalid_credentials") {
		return
	}
	if known, err := l.accounts.knowsNetwork(ctx, email, network); err == nil && !known {
		l.limiter.TakeAll(ctx, limits...)
	}
}

// failedLogins returns the limits of failed logins; none if they are off.
func (l *AttemptLimits) failedLogins(email, ip string) []ratelimit.Bucket {
	if !l.failures.Limits() {
		return nil
	}
	return []ratelimit.Bucket{
		{Policy: l.siteFailures, Subject: pairOf(email, netaddr.SiteOf(ip))},
		{Policy: l.failures, Subject: ratelimit.Digest(CanonicalEmail(email))},
	}
}

func pairOf(email, network string) string {
	return ratelimit.Digest(CanonicalEmail(email) + "\n" + network)
}
