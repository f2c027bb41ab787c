package stream

import (
	"context"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
)

// MediaServers is the API of the SRS servers.
type MediaServers interface {
	// Disconnect closes a client's connection on an SRS server. A connection that doesn't exist is no error.
	Disconnect(ctx context.Context, serverID, clientID string) error
}

// DisconnectArgs is the job that closes a publisher's connection on an SRS server.
type DisconnectArgs struct {
	PublisherID string `json:"publisherId"`
}

// Kind is the job's name.
func (DisconnectArgs) Kind() string { return "stream_disconnect" }

// disconnectAttempts is how often a disconnection is tried: for some minutes. An SRS server that is away for longer has
// lost its connections.
const disconnectAttempts = 6

var _ river.JobArgs = DisconnectArgs{}

// srsPrefix begins the id of a connection to an SRS server.
const srsPrefix = "srs:"

// srsConnection returns the ids of the server and the client in a connection's id; false for other connections.
func srsConnection(connID string) (serverID, clientID string, ok bool) {
	rest, ok := strings.CutPrefix(connID, srsPrefix)
	if !ok {
		return "", "", false
	}
	server, client, ok := strings.Cut(rest, ":")
	if !ok {
		return "", "", false
	}
	serverID, err1 := url.QueryUnescape(server)
	clientID, err2 := url.QueryUnescape(client)
	return serverID, clientID, err1 == nil && err2 == nil
}

// disconnectTx inserts the job that closes the publisher's connection, if that is on an SRS server with an API.
func (s *Service) disconnectTx(ctx context.Context, tx pgx.Tx, row db.Stream) error {
	if s.config.MediaServers == nil || row.PublisherID == nil {
		return nil
	}
	if _, _, ok := srsConnection(*row.PublisherID); !ok {
		return nil
	}
	_, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
		Args: DisconnectArgs{PublisherID: *row.PublisherID}, InsertOpts: &river.InsertOpts{MaxAttempts: disconnectAttempts, Priority: 1},
	}})
	if err != nil {
		return fmt.Errorf("insert job to disconnect: %w", err)
	}
	return nil
}

// disconnectTime limits one attempt to disconnect a publisher.
const disconnectTime = 5 * time.Second

// Disconnect closes a publisher's connection on an SRS server. It may run twice.
func (s *Service) Disconnect(ctx context.Context, publisherID string) error {
	serverID, clientID, ok := srsConnection(publisherID)
	if !ok || s.config.MediaServers == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, disconnectTime)
	defer cancel()
	return s.config.MediaServers.Disconnect(ctx, serverID, clientID)
}
