package handlers

import (
	"context"
	"net/http"

	"github.com/labstack/echo/v4"

	"showfloor/gen/api"
	"showfloor/internal/account"
	"showfloor/internal/problem"
	"showfloor/internal/realtime"
)

// realtimePath is the path of connectRealtime.
const realtimePath = "/v1/realtime/websocket"

// Realtime takes over connections that become WebSockets.
type Realtime interface {
	Serve(w http.ResponseWriter, r *http.Request, v realtime.Visitor) error
}

// ConnectRealtime names the protocol of the realtime channel. Requests for a
// WebSocket don't reach it.
func (s *Server) ConnectRealtime(context.Context, api.ConnectRealtimeRequestObject) (api.ConnectRealtimeResponseObject, error) {
	return api.ConnectRealtime200JSONResponse{
		Protocol: "centrifuge", Encodings: []api.RealtimeEncoding{api.RealtimeEncodingJSON, api.RealtimeEncodingProtobuf},
	}, nil
}

// upgrade passes connections that become WebSockets to the realtime channel,
// because the generated handlers can't hand over their connection.
func upgrade(channel Realtime, accounts *account.Service, l *limits) echo.MiddlewareFunc {
	return func(next echo.HandlerFunc) echo.HandlerFunc {
		return func(e echo.Context) error {
			if !isUpgrade(e) {
				return next(e)
			}
			if channel == nil {
				return problem.New(problem.Unavailable, "realtime_unavailable", "this server has no realtime channel")
			}
			if err := channel.Serve(e.Response(), e.Request(), &visitor{accounts: accounts, limits: l, network: callersNetwork(e)}); err != nil {
				return err
			}
			// The answer was written to the connection itself; these values are for
			// the log.
			e.Response().Status, e.Response().Committed = http.StatusSwitchingProtocols, true
			return nil
		}
	}
}

// isUpgrade reports whether the connection is to become a WebSocket of the
// realtime channel.
func isUpgrade(e echo.Context) bool {
	return e.Path() == realtimePath && e.Request().Method == http.MethodGet && realtime.IsUpgrade(e.Request())
}

// visitor counts the invalid tokens of a connection with the same limits as those
// of requests. It outlives its request.
type visitor struct {
	accounts *account.Service
	limits   *limits
	network  string
}

// Network implements realtime.Visitor.
func (v *visitor) Network() string { return v.network }

// MayGuess implements realtime.Visitor.
func (v *visitor) MayGuess(ctx context.Context, token string) error {
	_, err := v.limits.peekGuess(ctx, v.network, token, v.accounts.Standing(token))
	return err
}

// Guessed implements realtime.Visitor.
func (v *visitor) Guessed(ctx context.Context, token string) {
	if v.limits.guesses.Limits() {
		v.limits.countGuess(ctx, v.network, token, v.accounts.Standing(token))
	}
}
