package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/netaddr"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/tenancy"
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
	// user has the address. Failures and Mails are also per address; EmailLimits has their rules.
	Email, Failures, Mails ratelimit.Rate
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
}

// goneFor is how long a token that this server issued is remembered as deleted. During that time its requests are
// counted like those with made-up tokens, without a query. A deleted token never becomes valid again.
const goneFor = 24 * time.Hour

func newLimits(l Limits) *limits {
	return &limits{
		limiter: l.Limiter,

		caller:   ratelimit.Policy{Name: "caller", What: "requests", Rate: l.Caller},
		tenant:   ratelimit.Policy{Name: "tenant", What: "requests of your tenant's users and API keys together", Rate: l.Tenant},
		audience: ratelimit.Policy{Name: "audience", What: "requests of this tenant's participants together", Rate: l.Audience},
		public:   ratelimit.Policy{Name: "public", What: "requests from this address", Rate: l.Public},
		auth:     ratelimit.Policy{Name: "auth", What: "attempts from this address", Rate: l.Auth},
		capture:  ratelimit.Policy{Name: "capture", What: "requests to this address", Rate: l.Capture},
		misses:   ratelimit.Policy{Name: "misses", What: "requests from this address to capture URLs that don't exist", Rate: l.Misses},
		gone:     ratelimit.Policy{Name: "gone", Rate: ratelimit.Rate{Events: 1, Per: goneFor, Burst: 1}},
		guesses:  ratelimit.Policy{Name: "guesses", Rate: l.Guesses},
	}
}

// limitOpen limits the operations that need no credential.
func (c *contract) limitOpen(l *limits, captures CaptureURLs) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			op := c.find(e)
			if op == nil {
				return next(e)
			}
			var err error
			switch op.class {
			case classPublic:
				err = l.take(e, bucket(l.public, callersNetwork(e)))
			case classAuth, classLogin, classMail:
				err = l.take(e, bucket(l.auth, callersNetwork(e)))
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

func bucket(p ratelimit.Policy, subject string) ratelimit.Bucket {
	return ratelimit.Bucket{Policy: p, Subject: subject}
}

// take counts an event in several limits if all of them allow it. It shows them in the answer's headers, the
// tightest first. The refusal is that of the limit with the longest wait.
func (l *limits) take(e echo.Context, all ...ratelimit.Bucket) error {
	return judge(e, l.limiter.TakeAll, all)
}

// peekAll refuses and shows the same as take, but counts nothing.
func (l *limits) peekAll(e echo.Context, all ...ratelimit.Bucket) error {
	return judge(e, l.limiter.PeekAll, all)
}

// state is a limit and its remaining events.
type state struct {
	ratelimit.Policy
	ratelimit.Result
}

func judge(
	e echo.Context, ask func(context.Context, ...ratelimit.Bucket) []ratelimit.Result, all []ratelimit.Bucket,
) error {
	all = slices.DeleteFunc(all, func(b ratelimit.Bucket) bool { return !b.Limits() })
	if len(all) == 0 {
		return nil
	}
	states := make([]state, len(all))
	for i, r := range ask(e.Request().Context(), all...) {
		states[i] = state{all[i].Policy, r}
	}
	slices.SortStableFunc(states, func(a, b state) int { return tighter(a.Result, b.Result) })
	for _, s := range states {
		showLimit(e, s.Policy, s.Result)
	}
	return overLimit(states[0].Policy, states[0].Result)
}

// peek refuses the same as take, but counts nothing. It shows the bucket in the answer's headers only if it refuses.
func (l *limits) peek(e echo.Context, b ratelimit.Bucket) error {
	if !b.Limits() {
		return nil
	}
	r := l.limiter.Peek(e.Request().Context(), b.Policy, b.Subject)
	if !r.Allowed {
		showLimit(e, b.Policy, r)
	}
	return overLimit(b.Policy, r)
}

// overLimit returns nil if the event is allowed.
func overLimit(p ratelimit.Policy, r ratelimit.Result) error {
	if r.Allowed {
		return nil
	}
	return problem.Limited(r.RetryAfter, "too many %s: %d %s are allowed, and up to %d at once; try again in %s",
		p.What, p.Events, map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour"}[p.Per],
		p.Burst, inSeconds(r.RetryAfter))
}

// tighter orders buckets: first those that refuse, the longest wait first, then by the remaining events.
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
	return l.take(e, bucket(l.caller, id))
}

// takeTenantCaller counts a call of a tenant's user or API key, both for the caller and for the tenant.
func (l *limits) takeTenantCaller(e echo.Context, c tenancy.Caller) error {
	return l.take(e, bucket(l.caller, c.Holder()), bucket(l.tenant, c.TenantID))
}

// takeParticipant counts a participant's call for its user in the room, regardless of the token, and for the
// tenant's audience. Guests of replays, whom anyone can create, are an audience of their own.
func (l *limits) takeParticipant(e echo.Context, c tenancy.Caller) error {
	user := ratelimit.Digest(c.Participant.RoomID + "/" + c.Participant.UserID)
	return l.take(e, bucket(l.caller, user), bucket(l.audience, audienceOf(c)))
}

// audienceOf is the group of a tenant's participants that share a budget: those of its rooms, or the guests of its replays.
func audienceOf(c tenancy.Caller) string {
	if id.Recording.Matches(c.Participant.RoomID) {
		return c.TenantID + "/guests"
	}
	return c.TenantID
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

func callersNetwork(e echo.Context) string {
	return netaddr.NetworkOf(request.Origin(e.Request().Context()).IP)
}
