package handlers

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/ratelimit"
	"showfloor/internal/tester"
)

// Limits are the rates of requests. A zero Rate limits nothing.
type Limits struct {
	// Limiter counts the requests; it may be nil if all rates are zero.
	Limiter *ratelimit.Limiter
	// Caller is per user or API key.
	Caller ratelimit.Rate
	// Tenant is per tenant, over all its users and API keys together.
	Tenant ratelimit.Rate
	// Audience is per tenant, over all participants of its rooms together.
	Audience ratelimit.Rate
	// Public is per network, for operations without a token.
	Public ratelimit.Rate
	// Auth is per network, for operations that check passwords and codes.
	Auth ratelimit.Rate
	// Email is per e-mail address and network, for operations that check passwords and codes, whether or not a
	// user has the address.
	Email ratelimit.Rate
	// Failures is per e-mail address over all networks. It counts failed logins. One
	// network may cause a tenth of it.
	Failures ratelimit.Rate
	// Mails is per e-mail address and network, for mails with a sign-up code.
	Mails ratelimit.Rate
	// Capture is per token of a capture URL.
	Capture ratelimit.Rate
	// Misses is per network, for capture URLs that this server never made or that were deleted more than a day ago.
	Misses ratelimit.Rate
	// Guesses is per network that sends credentials which this server did not
	// issue, and per credential that it issued and that is no longer valid.
	Guesses ratelimit.Rate
}

// class is the kind of rate limit of an operation: x-rate-limit in the document.
type class string

const (
	classCaller  class = "caller"
	classPublic  class = "public"
	classAuth    class = "auth"
	classLogin   class = "login"
	classMail    class = "mail"
	classCapture class = "capture"
	classNone    class = "none"
)

// isAuth reports whether the operation checks passwords or codes.
func (c class) isAuth() bool { return c == classAuth || c == classLogin || c == classMail }

// classOf returns an operation's class. Without x-rate-limit the class follows from the operation's callers:
// public, or with a bearer token. Operations that only our own machines call, with a shared secret, have no
// limit. Each caller with a bearer token has its own limit as well, also where x-rate-limit sets another class.
func classOf(op *openapi3.Operation, open, bearer bool) (class, error) {
	if stated, ok := op.Extensions["x-rate-limit"]; ok {
		switch c := class(fmt.Sprint(stated)); c {
		case classAuth, classLogin, classMail, classPublic, classCapture, classNone:
			return c, nil
		default:
			return "", fmt.Errorf("%s: x-rate-limit can't be %q", op.OperationID, c)
		}
	}
	switch {
	case open:
		return classPublic, nil
	case bearer:
		return classCaller, nil
	default:
		return classNone, nil
	}
}

// takesBearer reports whether one of the alternatives is a token or key in the Authorization header.
func takesBearer(security openapi3.SecurityRequirements, schemes openapi3.SecuritySchemes) bool {
	for _, alternative := range security {
		for name := range alternative {
			if scheme := schemes[name]; scheme != nil && scheme.Value.Scheme == "bearer" {
				return true
			}
		}
	}
	return false
}

// limits applies Limits to requests.
type limits struct {
	limiter *ratelimit.Limiter

	caller, tenant, audience, public, auth, capture, misses, gone, guesses ratelimit.Policy
	email, failures, siteFailures, mails                                   ratelimit.Policy
}

// goneFor is how long a token that this server issued is remembered as deleted. During that time its requests are
// counted like those with made-up tokens, without a query. A deleted token never becomes valid again.
const goneFor = 24 * time.Hour

func newLimits(l Limits) *limits {
	return &limits{
		limiter: l.Limiter,

		caller:   ratelimit.Policy{Name: "caller", Rate: l.Caller},
		tenant:   ratelimit.Policy{Name: "tenant", Rate: l.Tenant},
		audience: ratelimit.Policy{Name: "audience", Rate: l.Audience},
		public:   ratelimit.Policy{Name: "public", Rate: l.Public},
		auth:     ratelimit.Policy{Name: "auth", Rate: l.Auth},
		email:    ratelimit.Policy{Name: "email", Rate: l.Email},
		capture:  ratelimit.Policy{Name: "capture", Rate: l.Capture},
		misses:   ratelimit.Policy{Name: "misses", Rate: l.Misses},
		gone:     ratelimit.Policy{Name: "gone", Rate: ratelimit.Rate{Events: 1, Per: goneFor, Burst: 1}},
		guesses:  ratelimit.Policy{Name: "guesses", Rate: l.Guesses},

		failures:     ratelimit.Policy{Name: "failures", Rate: l.Failures},
		siteFailures: ratelimit.Policy{Name: "failures-network", Rate: siteFailures(l.Failures)},
		mails:        ratelimit.Policy{Name: "mails", Rate: l.Mails},
	}
}

// limitOpen limits the operations that need no credential.
func (c *contract) limitOpen(l *limits, captures captureTokens) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil {
				return next(e)
			}
			var err error
			switch op.class {
			case classPublic:
				err = l.take(e, l.public, callersNetwork(e), "requests from this address")
			case classAuth, classLogin, classMail:
				err = l.take(e, l.auth, callersNetwork(e), "attempts from this address")
			case classCapture:
				return l.captured(e, captures, next)
			}
			if err != nil {
				return err
			}
			return next(e)
		}
	}
}

// captureTokens checks without a query whether this server issued the token of a capture URL.
type captureTokens interface{ Issued(token string) bool }

// captured limits requests to one capture URL, and requests of one network to URLs that
// don't exist. The second limit refuses only tokens that this server didn't make or that
// were found to be gone during the last day, so that a network with a stale or made-up URL
// can still reach the others. URLs that were deleted within a day don't count: their senders may not know it yet.
func (l *limits) captured(e echo.Context, tokens captureTokens, next echo.HandlerFunc) error {
	ctx := e.Request().Context()
	token, network := captureToken(e.Request()), callersNetwork(e)
	unknown := !tokens.Issued(token) || l.misses.Limits() && !l.limiter.Peek(ctx, l.gone, digest(token)).Allowed
	if unknown {
		if err := l.peek(e, l.misses, network, "requests from this address to capture URLs that don't exist"); err != nil {
			return err
		}
	}
	if err := l.take(e, l.capture, digest(token), "requests to this address"); err != nil {
		return err
	}
	err := next(e)
	gone := errors.Is(err, tester.ErrGone)
	if l.misses.Limits() && (gone || unknown && problem.Is(err, "not_found")) {
		l.limiter.Take(ctx, l.misses, network)
		if !unknown {
			l.limiter.Take(ctx, l.gone, digest(token))
		}
	}
	return err
}

// mayGuess refuses a credential without a query if too many like it were invalid. Credentials that this server
// didn't issue count against the network that sends them. Those that it issued count against themselves alone, so
// that made-up ones don't lock out other clients of the same network. A credential that was valid recently is
// never refused.
func (l *limits) mayGuess(e echo.Context, credential string, standing account.Standing) error {
	r, err := l.peekGuess(e.Request().Context(), callersNetwork(e), credential, standing)
	if err != nil {
		showLimit(e, l.guesses, r)
	}
	return err
}

func (l *limits) peekGuess(ctx context.Context, network, credential string, standing account.Standing) (ratelimit.Result, error) {
	if !l.guesses.Limits() || standing == account.Known {
		return ratelimit.Result{}, nil
	}
	r := l.limiter.Peek(ctx, l.guesses, guesser(network, credential, standing))
	if r.Allowed {
		return r, nil
	}
	return r, problem.Limited(r.RetryAfter, "too many requests with credentials that are not valid; check yours, then try again in %s",
		inSeconds(r.RetryAfter))
}

// guessed counts an invalid credential.
func (l *limits) guessed(e echo.Context, credential string, standing account.Standing) {
	if l.guesses.Limits() {
		showLimit(e, l.guesses, l.countGuess(e.Request().Context(), callersNetwork(e), credential, standing))
	}
}

func (l *limits) countGuess(ctx context.Context, network, credential string, standing account.Standing) ratelimit.Result {
	return l.limiter.Take(ctx, l.guesses, guesser(network, credential, standing))
}

func guesser(network, credential string, standing account.Standing) string {
	if standing == account.Strange {
		return network
	}
	return digest(credential)
}

// counted is one limit of a request: the bucket, a name of the counted events for the refusal, and the result.
type counted struct {
	ratelimit.Bucket

	what   string
	result ratelimit.Result
}

// take counts an event in one limit and shows the limit in the answer's headers. what names the events in the
// refusal.
func (l *limits) take(e echo.Context, p ratelimit.Policy, subject, what string) error {
	return l.takeAll(e, counted{Bucket: ratelimit.Bucket{Policy: p, Subject: subject}, what: what})
}

// takeAll counts an event in several limits if all of them allow it. It shows them in the answer's headers, the
// tightest first. The refusal is that of the limit with the longest wait.
func (l *limits) takeAll(e echo.Context, all ...counted) error {
	return l.judge(e, l.limiter.TakeAll, all)
}

// peekAll refuses and shows the same as takeAll, but counts nothing.
func (l *limits) peekAll(e echo.Context, all ...counted) error {
	return l.judge(e, l.limiter.PeekAll, all)
}

func (l *limits) judge(
	e echo.Context, ask func(context.Context, ...ratelimit.Bucket) []ratelimit.Result, all []counted,
) error {
	var buckets []ratelimit.Bucket
	all = slices.DeleteFunc(all, func(c counted) bool { return !c.Limits() })
	for _, c := range all {
		buckets = append(buckets, c.Bucket)
	}
	if len(buckets) == 0 {
		return nil
	}
	for i, r := range ask(e.Request().Context(), buckets...) {
		all[i].result = r
	}
	slices.SortStableFunc(all, func(a, b counted) int { return tighter(a.result, b.result) })
	for _, c := range all {
		showLimit(e, c.Policy, c.result)
	}
	return overLimit(all[0].Policy, all[0].result, all[0].what)
}

// peek refuses the same as take, but counts nothing. It shows the bucket in the answer's headers only if it refuses.
func (l *limits) peek(e echo.Context, p ratelimit.Policy, subject, what string) error {
	if !p.Limits() {
		return nil
	}
	r := l.limiter.Peek(e.Request().Context(), p, subject)
	if !r.Allowed {
		showLimit(e, p, r)
	}
	return overLimit(p, r, what)
}

// overLimit returns nil if the event is allowed. what names the events.
func overLimit(p ratelimit.Policy, r ratelimit.Result, what string) error {
	if r.Allowed {
		return nil
	}
	return problem.Limited(r.RetryAfter, "too many %s: %d %s are allowed, and up to %d at once; try again in %s",
		what, p.Events, map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour"}[p.Per],
		p.Burst, inSeconds(r.RetryAfter))
}

// tighter orders buckets: first those that refuse, the longest wait first, then by what remains.
func tighter(a, b ratelimit.Result) int {
	if !a.Allowed || !b.Allowed {
		return cmp.Compare(waits(b), waits(a))
	}
	return cmp.Compare(a.Remaining, b.Remaining)
}

// waits returns how long a bucket refuses; a negative value if it doesn't refuse.
func waits(r ratelimit.Result) time.Duration {
	if r.Allowed {
		return -1
	}
	return r.RetryAfter
}

// takeCaller counts a call for its caller. id is unique among all kinds of callers.
func (l *limits) takeCaller(e echo.Context, id string) error {
	return l.take(e, l.caller, id, "requests")
}

// takeTenantCaller counts a call of a tenant's user or API key, both for the caller and for the tenant.
func (l *limits) takeTenantCaller(e echo.Context, c account.Caller) error {
	return l.takeAll(e,
		counted{Bucket: ratelimit.Bucket{Policy: l.caller, Subject: c.UserID + c.APIKeyID}, what: "requests"},
		counted{Bucket: ratelimit.Bucket{Policy: l.tenant, Subject: c.TenantID}, what: "requests of your tenant's users and API keys together"})
}

// takeParticipant counts a participant's call for its user in the room, whichever token it uses, and for the
// tenant's audience.
func (l *limits) takeParticipant(e echo.Context, c account.Caller) error {
	user := digest(c.Participant.RoomID + "/" + c.Participant.UserID)
	return l.takeAll(e,
		counted{Bucket: ratelimit.Bucket{Policy: l.caller, Subject: user}, what: "requests"},
		counted{Bucket: ratelimit.Bucket{Policy: l.audience, Subject: c.TenantID}, what: "requests of this tenant's participants together"})
}

func inSeconds(d time.Duration) string {
	if n := ratelimit.Seconds(d); n != 1 {
		return strconv.Itoa(n) + " seconds"
	}
	return "1 second"
}

// The header fields of draft-ietf-httpapi-ratelimit-headers: the limit (q events in w seconds), and what remains
// of it (r events, full again in t seconds).
const (
	rateLimitHeader       = "RateLimit"
	rateLimitPolicyHeader = "RateLimit-Policy"
)

// showLimit adds a bucket to the answer's headers; some answers show two.
func showLimit(e echo.Context, p ratelimit.Policy, r ratelimit.Result) {
	h := e.Response().Header()
	appendField(h, rateLimitPolicyHeader, fmt.Sprintf(`"%s";q=%d;w=%d`, p.Name, p.Burst, ratelimit.Seconds(p.Window())))
	appendField(h, rateLimitHeader, fmt.Sprintf(`"%s";r=%d;t=%d`, p.Name, r.Remaining, ratelimit.Seconds(r.Full)))
}

// appendField appends an item to a header that is a list in one line.
func appendField(h http.Header, name, item string) {
	// The key has the draft's spelling, not Go's canonical one (Ratelimit).
	if before := h[name]; len(before) > 0 {
		item = before[0] + ", " + item
	}
	h[name] = []string{item}
}

func callersNetwork(e echo.Context) string { return network(originFrom(e.Request().Context()).IP) }

// callersSite is the site that contains callersNetwork.
func callersSite(e echo.Context) string { return site(originFrom(e.Request().Context()).IP) }

// digest hashes a subject: its length is fixed, and it reveals no address and no token.
func digest(subject string) string {
	sum := sha256.Sum256([]byte(subject))
	const enough = 16
	return hex.EncodeToString(sum[:enough])
}
