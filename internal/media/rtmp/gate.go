package rtmp

import (
	"context"
	"net/netip"
	"net/url"

	"showfloor/internal/media/hub"
)

// Attempt is a client's request to publish.
type Attempt struct {
	// ConnID identifies the connection, unique over restarts.
	ConnID string
	// App is the application's name, always the configured one.
	App string
	// Key is the stream key: a secret that no log may show.
	Key string
	// Query holds the parameters after the key or the application.
	Query url.Values
	// RemoteIP is the client's address.
	RemoteIP netip.Addr
	// Secure means that the connection is encrypted.
	Secure bool
}

// StatusError is the reason why a client may not publish or play, as an RTMP status.
type StatusError struct {
	// Code is the RTMP status code, such as NetStream.Publish.BadName.
	Code string
	// Description is shown by encoders to the user.
	Description string
}

func (r *StatusError) Error() string { return r.Code + ": " + r.Description }

// Gate decides which clients may publish. Its methods are called concurrently.
type Gate interface {
	// Publish decides on an attempt before any media is read. A *StatusError is sent to the client;
	// any other error is reported as a failure of the server.
	Publish(ctx context.Context, a Attempt) (hub.Broadcast, error)
	// Rejected reports why an accepted publisher's media isn't supported; the connection ends
	// after that.
	Rejected(ctx context.Context, connID, reason string)
	// Unpublish is called once for each accepted Publish, after the hub's
	// Publisher was closed.
	Unpublish(ctx context.Context, connID string)
}
