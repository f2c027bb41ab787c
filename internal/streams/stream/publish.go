package stream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// Where a publisher connects.
const (
	// SourceRTMP is this server's own ingest.
	SourceRTMP = "rtmp"
	// SourceSRS is an SRS server that reports by callbacks.
	SourceSRS = "srs"
	// SourceWebRTC is the stream's room, where a host's browser publishes.
	SourceWebRTC = "webrtc"
	// SourceSession is the broadcast of a session, which this server encodes.
	SourceSession = "session"
)

// Attempt is a connection that asks to publish.
type Attempt struct {
	// PublisherID identifies the connection permanently.
	PublisherID string
	Source      string
	// Key identifies the stream, except for SourceWebRTC and SourceSession: there StreamID does, because
	// the room has checked the host's ticket.
	Key, StreamID string
	RemoteIP      string
}

// hasKey reports whether a stream key identifies the stream.
func (a Attempt) hasKey() bool { return usesKey(a.Source) }

// usesKey reports whether publishers of a source have a stream key.
func usesKey(source string) bool { return source != SourceWebRTC && source != SourceSession }

// keyHash is the hash of the stream key; nil without one.
func (a Attempt) keyHash() []byte {
	if !a.hasKey() {
		return nil
	}
	return hashKey(a.Key)
}

// Grant is the stream that an accepted publisher publishes.
type Grant struct {
	StreamID        string
	TenantID        string
	LowLatency      bool
	ReconnectWindow time.Duration
	// Began is the earliest time at which viewers may have watched the broadcast that
	// the publisher continues; zero if it begins a new one.
	Began time.Time
	// Record: the media is to be recorded from the first key picture.
	Record bool
	// Renditions are the smaller versions of the video that the broadcast should have.
	Renditions []Rendition
}

// CodeUnknownKey is the problem's code for a key of no stream.
const CodeUnknownKey = "stream_key_unknown"

// errUnknownKey refuses a key of no stream.
func errUnknownKey() error {
	return problem.New(problem.Forbidden, CodeUnknownKey, "this stream key is not known")
}

// Publish accepts or refuses an attempt before any media is received. The stream's
// previous publisher is replaced. Repeating it for the same connection gives the
// same result. A refusal is a problem. If a limit of the plan is the reason, the stream's
// health shows it until media can be played again.
func (s *Service) Publish(ctx context.Context, a Attempt) (Grant, error) {
	var g Grant
	var refusal *problem.Error
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, tenantStatus, err := lockFor(ctx, q, a)
		if err != nil {
			return err
		}
		if err := mayPublish(row, tenantStatus, now); err != nil {
			return err
		}
		if err := mayUseKey(row); a.hasKey() && err != nil {
			return err
		}
		if err := checkTakeover(ctx, q, a, row); err != nil {
			return err
		}
		if refusal, err = s.checkPlan(ctx, tx, row); err != nil {
			return err
		}
		if refusal != nil {
			return s.reject(ctx, q, row, refusal.Message)
		}
		if g, err = s.grant(ctx, tx, row); err != nil {
			return err
		}
		return s.connect(ctx, tx, a, row)
	})
	if err == nil && refusal != nil {
		return Grant{}, refusal
	}
	return g, err
}

// connect makes the attempt's connection the publisher of the locked stream, instead of the previous one.
func (s *Service) connect(ctx context.Context, tx pgx.Tx, a Attempt, row db.Stream) error {
	q, now := db.New(tx), s.config.Now()
	_, err := q.CreatePublisher(ctx, db.CreatePublisherParams{
		ID: a.PublisherID, TenantID: row.TenantID, StreamID: row.ID, Source: a.Source,
		Node: s.node(a.Source), RemoteIP: a.RemoteIP, KeyHash: a.keyHash(), Now: now,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return repeated(ctx, q, a, row)
	}
	if err != nil {
		return fmt.Errorf("create publisher: %w", err)
	}
	err = q.EndPublishers(ctx, db.EndPublishersParams{TenantID: row.TenantID, StreamID: row.ID, ExceptID: a.PublisherID, Now: &now})
	if err != nil {
		return fmt.Errorf("end replaced publishers: %w", err)
	}
	if err := s.notifyPreviousNode(ctx, q, row, s.node(a.Source)); err != nil {
		return err
	}
	row.PublisherID, row.Node = &a.PublisherID, s.node(a.Source)
	err = q.SetStreamPublisher(ctx, db.SetStreamPublisherParams{
		TenantID: row.TenantID, ID: row.ID, PublisherID: row.PublisherID, Node: row.Node, Now: now,
		UsedKey: a.hasKey(), KeyID: id.New(id.StreamKey),
	})
	if err != nil {
		return fmt.Errorf("set publisher: %w", err)
	}
	if a.Source != SourceSRS {
		return nil
	}
	if err := s.goLive(ctx, tx, row, a.PublisherID); err != nil {
		return err
	}
	// An SRS server's publisher may replace one of this process, whose hub doesn't
	// know about it otherwise.
	s.config.Engine.Seal(row.ID)
	return nil
}

// checkPlan returns the refusal of a locked stream that would be one more on air than the plan of its tenant allows, or whose
// minutes are used up. A stream that is on air, or has a publisher, is no new one. The tenant's streams that begin at the same
// time are checked one after the other.
func (s *Service) checkPlan(ctx context.Context, tx pgx.Tx, row db.Stream) (*problem.Error, error) {
	if onAir(row) || row.PublisherID != nil {
		return nil, nil
	}
	err := s.config.Usage.CheckAllowanceTx(ctx, tx, row.TenantID, usage.StreamMinutes)
	if err == nil {
		err = s.config.Quotas.CheckTx(ctx, tx, row.TenantID, quota.LiveStreams, 1, func(ctx context.Context) (int64, error) {
			return db.New(tx).CountPublishing(ctx, row.TenantID)
		})
	}
	refusal, refused := problem.As(err)
	if refused {
		return refusal, nil
	}
	return nil, err
}

// grant describes the locked stream to its publisher.
func (s *Service) grant(ctx context.Context, tx pgx.Tx, row db.Stream) (Grant, error) {
	record, err := s.config.Recordings.IsRecordedTx(ctx, tx, row)
	return Grant{
		StreamID: row.ID, TenantID: row.TenantID, LowLatency: row.Mode == LowLatency,
		ReconnectWindow: time.Duration(row.ReconnectWindowSec) * time.Second, Began: watchableSince(row),
		Record: record, Renditions: RenditionsOf(row),
	}, err
}

// notifyPreviousNode notifies the node in the stream's row, at the commit, that another
// node takes the stream over. The old node disconnects its publisher, or drops
// what it keeps for the reconnect window. A takeover on the same node needs no
// notification: its hub knows both publishers.
func (s *Service) notifyPreviousNode(ctx context.Context, q *db.Queries, row db.Stream, node string) error {
	if row.Node == node || row.PublisherID == nil && !onAir(row) {
		return nil
	}
	if err := q.Notify(ctx, db.NotifyParams{Channel: StopsChannel, Payload: row.ID}); err != nil {
		return fmt.Errorf("tell the old node: %w", err)
	}
	return nil
}

// lockFor locks the stream of an attempt. It share-locks the tenant first, and a
// suspension locks the tenant first too: so either the suspension sees this
// publisher, or this attempt sees the suspension.
func lockFor(ctx context.Context, q *db.Queries, a Attempt) (row db.Stream, tenantStatus string, err error) {
	if !a.hasKey() {
		if err := q.ShareTenantOfStream(ctx, a.StreamID); err != nil {
			return row, "", fmt.Errorf("lock tenant: %w", err)
		}
		found, err := q.LockStreamOfRoom(ctx, a.StreamID)
		if errors.Is(err, pgx.ErrNoRows) {
			return row, "", problem.Missing("stream")
		}
		if err != nil {
			return row, "", fmt.Errorf("lock stream: %w", err)
		}
		return found.Stream, found.TenantStatus, nil
	}
	if err := q.ShareTenantByKey(ctx, hashKey(a.Key)); err != nil {
		return row, "", fmt.Errorf("lock tenant: %w", err)
	}
	found, err := q.LockStreamByKey(ctx, hashKey(a.Key))
	if errors.Is(err, pgx.ErrNoRows) {
		return row, "", errUnknownKey()
	}
	if err != nil {
		return row, "", fmt.Errorf("lock stream by key: %w", err)
	}
	return found.Stream, found.TenantStatus, nil
}

// repeated answers a repeated attempt of a known connection. It changes nothing,
// whether the connection is on air, has ended, or was reported as ended before it
// published. A connection stays with its first stream.
func repeated(ctx context.Context, q *db.Queries, a Attempt, row db.Stream) error {
	p, err := q.GetPublisher(ctx, a.PublisherID)
	if err != nil {
		return fmt.Errorf("get publisher: %w", err)
	}
	if p.StreamID != row.ID {
		return problem.New(problem.Forbidden, "connection_taken", "this connection publishes another stream; connect again")
	}
	return nil
}

// Started sets the stream to LIVE: its first key frame can be played. current is
// false for a connection that was replaced or has ended; then nothing changes.
func (s *Service) Started(ctx context.Context, publisherID string) (current bool, err error) {
	err = s.withPublisher(ctx, publisherID, func(tx pgx.Tx, row db.Stream, p db.Publisher) error {
		current = p.EndedAt == nil && row.PublisherID != nil && *row.PublisherID == p.ID
		if !current {
			return nil
		}
		return s.goLive(ctx, tx, row, p.ID)
	})
	return current, err
}

// Unpublish records the end of a connection, for any reason. It ends the
// broadcast or starts its reconnect window, unless the connection was replaced.
// The playlists of an ending broadcast are already sealed then.
func (s *Service) Unpublish(ctx context.Context, publisherID string) error {
	return s.withPublisher(ctx, publisherID, func(tx pgx.Tx, row db.Stream, p db.Publisher) error {
		q, now := db.New(tx), s.config.Now()
		if err := q.EndPublisher(ctx, db.EndPublisherParams{TenantID: p.TenantID, ID: p.ID, Now: &now}); err != nil {
			return fmt.Errorf("end publisher: %w", err)
		}
		if p.EndedAt != nil || row.PublisherID == nil || *row.PublisherID != p.ID {
			return nil
		}
		next := left(row, now)
		if next.Status == Ended && row.Status == Live {
			return s.end(ctx, tx, next, endDisconnected)
		}
		if err := s.save(ctx, q, next); err != nil {
			return err
		}
		if next.Status != Reconnecting || row.Status == Reconnecting {
			return nil
		}
		_, err := s.config.Jobs.InsertManyTx(ctx, tx, []river.InsertManyParams{{
			Args: ExpireReconnectArgs{StreamID: row.ID}, InsertOpts: &river.InsertOpts{ScheduledAt: *next.ReconnectUntil},
		}})
		if err != nil {
			return fmt.Errorf("insert reconnect job: %w", err)
		}
		return nil
	})
}

// Reject records why an accepted publisher was disconnected because of its media. The
// reason shows in the stream's health until media can be played again.
func (s *Service) Reject(ctx context.Context, publisherID, reason string) error {
	return s.withPublisher(ctx, publisherID, func(tx pgx.Tx, row db.Stream, _ db.Publisher) error {
		return s.reject(ctx, db.New(tx), row, reason)
	})
}

// reject stores why a publisher of a locked stream was refused or disconnected.
func (s *Service) reject(ctx context.Context, q *db.Queries, row db.Stream, reason string) error {
	err := q.SetStreamRejected(ctx, db.SetStreamRejectedParams{
		TenantID: row.TenantID, ID: row.ID, RejectedReason: &reason, Now: s.config.Now(),
	})
	if err != nil {
		return fmt.Errorf("set rejected reason: %w", err)
	}
	return nil
}

// If a publisher has reconnected when the window ends but can't be played yet,
// ExpireReconnect checks again every reconnectPause, for at most
// reconnectPatience. A key frame can take that long, but a connection that no node
// holds any more must not keep the broadcast forever.
const (
	reconnectPause    = 2 * time.Second
	reconnectPatience = 30 * time.Second
)

// ExpireReconnect ends a broadcast whose reconnect window is over. It returns when
// to call it again, or the zero time when nothing remains to do.
func (s *Service) ExpireReconnect(ctx context.Context, streamID string) (again time.Time, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		again = time.Time{}
		row, err := db.New(tx).LockStream(ctx, streamID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("lock stream: %w", err)
		}
		now := s.config.Now()
		switch {
		case row.Status != Reconnecting:
			return nil
		case row.ReconnectUntil.After(now):
			again = *row.ReconnectUntil
			return nil
		case row.PublisherID != nil && now.Sub(*row.ReconnectUntil) < reconnectPatience:
			again = now.Add(reconnectPause)
			return nil
		}
		if err := s.end(ctx, tx, ended(row, now), endReconnectExpired); err != nil {
			return err
		}
		// The last step before the commit: viewers don't see the end earlier, and a failed
		// change seals nothing.
		s.config.Engine.Seal(row.ID)
		return nil
	})
	return again, err
}

// RecoverNode ends the connections that this node held when it was killed.
func (s *Service) RecoverNode(ctx context.Context) error {
	rows, err := db.New(s.config.Pool).ListOpenPublishers(ctx, s.config.Node)
	if err != nil {
		return fmt.Errorf("list open publishers: %w", err)
	}
	for _, p := range rows {
		if err := s.Unpublish(ctx, p.ID); err != nil {
			return fmt.Errorf("recover publisher %s: %w", p.ID, err)
		}
	}
	return nil
}

// withPublisher runs fn with the publisher and its locked stream. An unknown
// publisher is no error: it was never accepted.
func (s *Service) withPublisher(ctx context.Context, publisherID string, fn func(tx pgx.Tx, row db.Stream, p db.Publisher) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		p, err := q.GetPublisher(ctx, publisherID)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("get publisher: %w", err)
		}
		row, err := q.LockStream(ctx, p.StreamID)
		if err != nil {
			return fmt.Errorf("lock stream: %w", err)
		}
		// Read it again under the stream's lock.
		if p, err = q.GetPublisher(ctx, publisherID); err != nil {
			return fmt.Errorf("get publisher: %w", err)
		}
		return fn(tx, row, p)
	})
}

// node is the node in a publisher's row; empty for SRS servers.
func (s *Service) node(source string) string {
	if source == SourceSRS {
		return ""
	}
	return s.config.Node
}
