package hls

import (
	"fmt"
	"math"
	"net/http"
	"net/netip"
	"time"

	"golang.org/x/time/rate"

	"showfloor/internal/media/mediahttp"
)

// sessionsPeriod is the time in which a network may begin as many sessions with a stream as it
// may have viewers. It may begin all of them at once.
const sessionsPeriod = 10 * time.Second

// clients are the viewers of a stream from one network.
type clients struct {
	viewers  int
	sessions *rate.Limiter // of new sessions
}

// idle reports whether the entry can be removed without a loss.
func (c *clients) idle(now time.Time) bool {
	return c.viewers == 0 && c.sessions.TokensAt(now) >= float64(c.sessions.Burst())
}

// admit decides whether a client of a network may begin a session. An unknown network, such as
// that in another node's report, has no limit.
func (a *audience) admit(network netip.Addr, now time.Time) *mediahttp.Problem {
	if !network.IsValid() {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.clientsOf(network)
	switch {
	case c == nil:
		return nil
	case c.viewers >= a.perNetwork:
		a.refused.Add(1)
		return crowdedNetwork("too_many_viewers", 5*time.Second,
			fmt.Sprintf("%d viewers of your network watch this stream, as many as one network may have", a.perNetwork))
	case !c.sessions.AllowN(now, 1):
		a.refused.Add(1)
		return crowdedNetwork("rate_limited", time.Second,
			fmt.Sprintf("your network began %d sessions with this stream, as many as one network may begin within %s",
				a.perNetwork, sessionsPeriod))
	}
	return nil
}

// clientsOf returns a network's entry, and makes it if needed; nil when there are as many entries
// as viewers may be counted. The caller holds mu.
func (a *audience) clientsOf(network netip.Addr) *clients {
	c := a.networks[network]
	if c == nil && len(a.networks) < a.limit {
		c = &clients{sessions: rate.NewLimiter(rate.Limit(float64(a.perNetwork)/sessionsPeriod.Seconds()), a.perNetwork)}
		a.networks[network] = c
	}
	return c
}

// crowdedNetwork is the refusal of a new session because its network has too many.
func crowdedNetwork(code string, retry time.Duration, message string) *mediahttp.Problem {
	p := mediahttp.Refuse(http.StatusTooManyRequests, code, message+"; try again in a moment")
	p.Passing, p.RetryAfter = true, int(math.Ceil(retry.Seconds()))
	return p
}
