package pipeline

import (
	"time"

	"github.com/labstack/echo/v4"

	"showfloor/internal/base/connlimit"
	"showfloor/internal/base/problem"
)

// connLimitPause is the Retry-After of requests on refused connections.
const connLimitPause = 5 * time.Second

// refuseExcessConns answers requests on refused connections with the limit that refused
// them, and has net/http close the connection.
func refuseExcessConns(next echo.HandlerFunc) echo.HandlerFunc {
	return func(e echo.Context) error {
		reason := connlimit.Refused(e.Request().Context())
		if reason == "" {
			return next(e)
		}
		e.Response().Header().Set(echo.HeaderConnection, "close")
		return tooManyConns(reason)
	}
}

func tooManyConns(reason connlimit.Reason) error {
	p := problem.New(problem.Unavailable, "too_many_connections",
		"the server has as many connections open as it may have; try again in %s", inSeconds(connLimitPause))
	if reason == connlimit.PerAddress {
		p = problem.New(problem.RateLimited, "too_many_connections",
			"this address has as many connections open as one address may have; close some, use connections again (keep-alive, HTTP/2), "+
				"or ask the operator of this server for more")
	}
	p.RetryAfter = connLimitPause
	return p
}
