package pipeline

import (
	"github.com/labstack/echo/v4"

	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
)

// captured limits requests to one capture URL, and requests of one network to URLs that
// don't exist. The second limit refuses only tokens that this server didn't make or that
// were found to be gone during the last day, so that a network with a stale or made-up URL
// can still reach the others. URLs that were deleted within a day don't count: their senders may not know it yet.
func (l *limits) captured(e echo.Context, captures CaptureURLs, next echo.HandlerFunc) error {
	ctx := e.Request().Context()
	token, network := captures.Token(e.Request()), callersNetwork(e)
	unknown := !captures.Issued(token) || l.misses.Limits() && !l.limiter.Peek(ctx, l.gone, ratelimit.Digest(token)).Allowed
	if unknown {
		if err := l.peek(e, bucket(l.misses, network)); err != nil {
			return err
		}
	}
	if err := l.take(e, bucket(l.capture, ratelimit.Digest(token))); err != nil {
		return err
	}
	err := next(e)
	gone := captures.IsGone(err)
	if l.misses.Limits() && (gone || unknown && problem.Is(err, "not_found")) {
		l.limiter.Take(ctx, l.misses, network)
		if !unknown {
			l.limiter.Take(ctx, l.gone, ratelimit.Digest(token))
		}
	}
	return err
}
