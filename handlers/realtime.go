package handlers

import (
	"context"
	"net/http"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
)

// realtimePath is the path of connectRealtime.
const realtimePath = "/v1/realtime/websocket"

// Realtime takes over connections that become WebSockets.
type Realtime interface {
	Serve(w http.ResponseWriter, r *http.Request, v realtime.Visitor) error
	// HolderChanged checks the connections of a tenant's credential at once, after it has lost a permission. Those to other servers are
	// checked every few seconds.
	HolderChanged(tenantID, holder string)
}

// ConnectRealtime names the protocol of the realtime channel. Requests for a
// WebSocket don't reach it.
func (s *Server) ConnectRealtime(context.Context, api.ConnectRealtimeRequestObject) (api.ConnectRealtimeResponseObject, error) {
	return api.ConnectRealtime200JSONResponse{
		Protocol: "centrifuge", Encodings: []api.RealtimeEncoding{api.RealtimeEncodingJSON, api.RealtimeEncodingProtobuf},
	}, nil
}

// webSockets passes connections to the realtime channel.
type webSockets struct{ channel Realtime }

// Wants implements pipeline.WebSockets.
func (webSockets) Wants(route string, r *http.Request) bool {
	return route == realtimePath && r.Method == http.MethodGet && realtime.IsUpgrade(r)
}

// Serve implements pipeline.WebSockets.
func (s webSockets) Serve(w http.ResponseWriter, r *http.Request, v *pipeline.Visitor) error {
	if s.channel == nil {
		return problem.New(problem.Unavailable, "realtime_unavailable", "this server has no realtime channel")
	}
	return s.channel.Serve(w, r, v)
}
