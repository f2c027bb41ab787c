package rtmp

import (
	"context"
	"net/netip"
	"net/url"

	"showfloor/internal/media/hub"
)

// Attempt is what a client wants to publish.
type Attempt struct {
	// ConnID names the connection, unique over restarts.
	ConnID string
	// App is the application's name, always the configured one.
	App string
	// Key is the stream key: a secret that no log may show.
	Key string
	// Query holds the parameters behind the key or the application.
	Query url.Values
	// RemoteIP is where the client comes from.
	RemoteIP netip.Addr
	// Secure tells that the connection is encrypted.
	Secure bool
}

// Refusal tells a client why it may not publish.
type Refusal struct { //nolint:errname // it is an answer to a person first
	// Code is the RTMP status code, such as NetStream.Publish.BadName.
	Code string
	// Description is shown by encoders to the person who streams.
	Description string
}

func (r *Refusal) Error() string { return r.Code + ": " + r.Description }

// Gate decides who may publish. Its methods are called from many goroutines.
type Gate interface {
	// Publish decides on an attempt before a media byte is taken. A *Refusal
	// reaches the client as it is, any other error as a failure of the server.
	Publish(ctx context.Context, a Attempt) (hub.Broadcast, error)
	// Rejected reports why an accepted publisher's media can't be carried; the
	// connection ends afterwards.
	Rejected(ctx context.Context, connID, reason string)
	// Unpublish is called once for each accepted Publish, after the hub's
	// Publisher was closed.
	Unpublish(ctx context.Context, connID string)
}
