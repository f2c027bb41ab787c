package pipeline

import (
	"context"

	"github.com/labstack/echo/v4"

	"showfloor/internal/base/problem"
	"showfloor/internal/base/ratelimit"
)

// mayGuess refuses a credential without a query if too many like it were invalid. Credentials that this server
// didn't issue count against the network that sends them. Those that it issued count against themselves alone, so
// that made-up ones don't lock out other clients of the same network. A credential that was valid a moment ago is
// never refused.
func (l *limits) mayGuess(e echo.Context, c credential) error {
	r, err := l.peekGuess(e.Request().Context(), callersNetwork(e), c)
	if err != nil {
		showLimit(e, l.guesses, r)
	}
	return err
}

func (l *limits) peekGuess(ctx context.Context, network string, c credential) (ratelimit.Result, error) {
	if !l.guesses.Limits() || c.valid {
		return ratelimit.Result{}, nil
	}
	r := l.limiter.Peek(ctx, l.guesses, guesser(network, c))
	if r.Allowed {
		return r, nil
	}
	return r, problem.Limited(r.RetryAfter, "too many requests with credentials that are not valid; check yours, then try again in %s",
		inSeconds(r.RetryAfter))
}

// guessed counts an invalid credential.
func (l *limits) guessed(e echo.Context, c credential) {
	if l.guesses.Limits() {
		showLimit(e, l.guesses, l.countGuess(e.Request().Context(), callersNetwork(e), c))
	}
}

func (l *limits) countGuess(ctx context.Context, network string, c credential) ratelimit.Result {
	return l.limiter.Take(ctx, l.guesses, guesser(network, c))
}

// guesser is the subject against which an invalid credential counts.
func guesser(network string, c credential) string {
	if !c.issued {
		return network
	}
	return ratelimit.Digest(c.text)
}
