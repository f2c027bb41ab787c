package pipeline

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"showfloor/handlers/request"
)

// upgrade passes connections that become WebSockets to their server, because the
// generated handlers can't hand over their connection.
func upgrade(sockets WebSockets, from Visitor, publicURL string) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			if !sockets.Wants(e.Path(), e.Request()) {
				return next(e)
			}
			v := from
			v.network, v.ip = callersNetwork(e), request.Origin(e.Request().Context()).IP
			v.pageToken = pageToken(e.Request(), publicURL)
			if err := sockets.Serve(e.Response(), e.Request(), &v); err != nil {
				return err
			}
			// The answer was written to the connection itself; these values are for
			// the log.
			e.Response().Status, e.Response().Committed = http.StatusSwitchingProtocols, true
			return nil
		}
	}
}

// Visitor counts the invalid tokens of a WebSocket with the same limits as those
// of requests. It outlives its request.
type Visitor struct {
	credentials Credentials
	limits      *limits
	networks    AdminNetworks
	network, ip string
	pageToken   string
}

// PageToken returns the token of the console's page that opened the WebSocket; empty for all other clients.
func (v *Visitor) PageToken() string { return v.pageToken }

// MayImpersonate returns a problem if admins may not call from the client's address.
func (v *Visitor) MayImpersonate(ctx context.Context) error {
	if v.networks == nil {
		return nil
	}
	return checkNetwork(ctx, v.networks, v.ip)
}

// Network returns the network of the client, as limits count it.
func (v *Visitor) Network() string { return v.network }

// MayGuess returns a problem if too many tokens like this one were invalid.
func (v *Visitor) MayGuess(ctx context.Context, token string) error {
	_, err := v.limits.peekGuess(ctx, v.network, recognize(v.credentials, token))
	return err
}

// Guessed counts an invalid token.
func (v *Visitor) Guessed(ctx context.Context, token string) {
	if v.limits.guesses.Limits() {
		v.limits.countGuess(ctx, v.network, recognize(v.credentials, token))
	}
}
