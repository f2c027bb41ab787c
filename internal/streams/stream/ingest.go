package stream

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/streams/playtoken"
)

// Callback is a report of an SRS server. Such servers repeat, lose and reorder
// their reports, so the id of the connection identifies each.
type Callback struct {
	// ServerID and ClientID together identify the connection.
	ServerID, ClientID string
	// Stream is the published or played stream's name, Param its query.
	Stream, Param string
	IP            string
}

// connection is the connection's id in our tables.
func (c Callback) connection() string {
	return srsPrefix + url.QueryEscape(c.ServerID) + ":" + url.QueryEscape(c.ClientID)
}

// param returns one value of the query.
func (c Callback) param(name string) string {
	values, err := url.ParseQuery(strings.TrimPrefix(c.Param, "?"))
	if err != nil {
		return ""
	}
	return values.Get(name)
}

// key is the stream key: from the query, or else the stream's name.
func (c Callback) key() string {
	if key := c.param("key"); key != "" {
		return key
	}
	return c.Stream
}

// IngestPublish accepts or refuses an encoder on an SRS server.
func (s *Service) IngestPublish(ctx context.Context, c Callback) error {
	_, err := s.Publish(ctx, Attempt{PublisherID: c.connection(), Source: SourceSRS, Key: c.key(), RemoteIP: c.IP})
	return err
}

// IngestUnpublish ends an encoder's connection. If this report arrives before that
// of the publish, IngestUnpublish stores an ended publisher, so that the late
// report has no effect.
func (s *Service) IngestUnpublish(ctx context.Context, c Callback) error {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		// Lock the stream first, as Publish does, which may run concurrently: otherwise
		// the two would deadlock on each other's rows.
		found, err := q.LockStreamByKey(ctx, hashKey(c.key()))
		if errors.Is(err, pgx.ErrNoRows) {
			return nil // never accepted, or its key was rotated meanwhile
		}
		if err != nil {
			return fmt.Errorf("lock stream by key: %w", err)
		}
		row := found.Stream
		_, err = q.CreatePublisher(ctx, db.CreatePublisherParams{
			ID: c.connection(), TenantID: row.TenantID, StreamID: row.ID, Source: SourceSRS, RemoteIP: c.IP, Now: now, EndedAt: &now,
		})
		if err != nil && !errors.Is(err, pgx.ErrNoRows) {
			return fmt.Errorf("mark publisher: %w", err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return s.Unpublish(ctx, c.connection())
}

// IngestPlay counts a player on an SRS server. It refuses one beyond the plan's limit of viewers.
func (s *Service) IngestPlay(ctx context.Context, c Callback) error {
	q := db.New(s.config.Pool)
	row, err := s.played(ctx, q, c)
	if err != nil {
		return err
	}
	return s.play(ctx, row, c.connection())
}

// IngestStop ends the play that IngestPlay counted, also if its report arrives
// first.
func (s *Service) IngestStop(ctx context.Context, c Callback) error {
	q, now := db.New(s.config.Pool), s.config.Now()
	n, err := q.EndKnownPlay(ctx, db.EndKnownPlayParams{ID: c.connection(), Now: &now})
	if err != nil {
		return fmt.Errorf("end play: %w", err)
	}
	if n > 0 {
		return nil
	}
	row, err := s.played(ctx, q, c)
	if _, refused := problem.As(err); refused {
		return nil // it was never counted
	}
	if err != nil {
		return err
	}
	if err := q.EndPlay(ctx, db.EndPlayParams{ID: c.connection(), TenantID: row.TenantID, StreamID: row.ID, Now: now}); err != nil {
		return fmt.Errorf("mark play: %w", err)
	}
	return nil
}

// played returns the stream that a player requests: by its id with a playback token, or by its key. A parameter token
// that is no playback token is the customer's own, and is ignored.
func (s *Service) played(ctx context.Context, q *db.Queries, c Callback) (db.Stream, error) {
	if token := c.param("token"); playtoken.HasFormat(token) {
		streamID, expires, err := s.config.Playback.CheckPlayback(ctx, token)
		if err != nil || streamID != c.Stream || !expires.After(s.config.Now()) {
			return db.Stream{}, problem.New(problem.Forbidden, "playback_refused", "this playback token is not valid for the stream")
		}
		row, err := q.GetStreamForPlayback(ctx, streamID)
		if errors.Is(err, pgx.ErrNoRows) {
			return row, errUnknownKey()
		}
		if err != nil {
			return row, fmt.Errorf("get stream: %w", err)
		}
		return row, nil
	}
	row, err := q.GetStreamByKey(ctx, hashKey(c.key()))
	if errors.Is(err, pgx.ErrNoRows) {
		return row, errUnknownKey()
	}
	if err != nil {
		return row, fmt.Errorf("get stream by key: %w", err)
	}
	return row, mayUseKey(row)
}

// DVRFile is a file that an SRS server has written: its working folder, and the file's path, absolute or below that folder.
type DVRFile struct {
	Cwd  string `json:"cwd"`
	Path string `json:"path"`
}

// IngestDvr makes a recording of a file that an SRS server has written, once. The report follows the
// encoder's disconnection, and the key may have been rotated since, so the stream
// is looked up by the connection first.
func (s *Service) IngestDvr(ctx context.Context, c Callback, f DVRFile) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		tenantID, streamID, err := writtenFor(ctx, q, c)
		if err != nil {
			return err
		}
		n, err := q.CreateDVRFile(ctx, db.CreateDVRFileParams{
			ID: id.New(id.DVRFile), TenantID: tenantID, StreamID: streamID, PublisherID: c.connection(), Cwd: f.Cwd, File: f.Path,
			Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("note dvr file: %w", err)
		}
		if n == 0 {
			return nil // a repeated report
		}
		return s.config.Recordings.FileWrittenTx(ctx, tx, tenantID, streamID, f)
	})
}

// writtenFor returns the stream whose media an SRS server has written.
func writtenFor(ctx context.Context, q *db.Queries, c Callback) (tenantID, streamID string, err error) {
	p, err := q.GetPublisher(ctx, c.connection())
	if err == nil {
		return p.TenantID, p.StreamID, nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return "", "", fmt.Errorf("get publisher: %w", err)
	}
	row, err := q.GetStreamByKey(ctx, hashKey(c.key()))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", errUnknownKey()
	}
	if err != nil {
		return "", "", fmt.Errorf("get stream by key: %w", err)
	}
	return row.TenantID, row.ID, nil
}
