package stream

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Stream keys: a recognizable prefix and 142 random bits.
const (
	keyPrefix = "live_"
	keyLength = 24
)

// View is a stream as the API shows it to the tenant.
type View struct {
	db.Stream
	// Key is the whole stream key right after its creation, otherwise masked.
	Key       string
	IngestURL string
	Viewers   int
	Health    Health
}

// Input describes a new stream; the handler has checked its limits.
type Input struct {
	Name             string
	Mode             string
	ProjectID        *string
	ReconnectWindow  int // seconds
	RecordingEnabled bool
	Show             Show
	Renditions       []Rendition
	Metadata         map[string]string
}

// Change holds the changes of a stream; nil keeps a value.
type Change struct {
	Name *string
	// Show changes the values of the show; nil keeps them.
	Show func(*Show)
	// Renditions replace those of the stream from the next broadcast on; nil keeps them.
	Renditions []Rendition
	// Metadata is merged by key; an empty value deletes its key.
	Metadata map[string]string
}

// ListOnAir returns the ids of the tenant's streams that are LIVE or RECONNECTING.
func (s *Service) ListOnAir(ctx context.Context, tenantID string) ([]string, error) {
	ids, err := db.New(s.config.Pool).ListStreamsOnAir(ctx, tenantID)
	if err != nil {
		return nil, fmt.Errorf("list streams on air: %w", err)
	}
	return ids, nil
}

// ListStreams pages through the tenant's streams, newest first. cursor is the id
// after which the page starts, nil for the first page.
func (s *Service) ListStreams(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]View, error) {
	rows, err := db.New(s.config.Pool).ListStreams(ctx, db.ListStreamsParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list streams: %w", err)
	}
	list := make([]db.Stream, len(rows))
	for i, r := range rows {
		list[i] = r.Stream
	}
	media, err := s.media(ctx, c.TenantID, list...)
	if err != nil {
		return nil, err
	}
	views := make([]View, len(rows))
	for i, r := range rows {
		views[i] = s.view(r.Stream, int(r.Plays), media[r.Stream.ID])
	}
	return views, nil
}

// GetStream returns one stream of the tenant.
func (s *Service) GetStream(ctx context.Context, c tenancy.Caller, streamID string) (View, error) {
	row, err := db.New(s.config.Pool).GetStream(ctx, db.GetStreamParams{TenantID: c.TenantID, ID: streamID})
	if errors.Is(err, pgx.ErrNoRows) {
		return View{}, problem.Missing("stream")
	}
	if err != nil {
		return View{}, fmt.Errorf("get stream: %w", err)
	}
	media, err := s.media(ctx, c.TenantID, row.Stream)
	if err != nil {
		return View{}, err
	}
	return s.view(row.Stream, int(row.Plays), media[streamID]), nil
}

// viewsAtOnce is the number of streams that one query reads.
const viewsAtOnce = 500

// ListViews returns those of the streams that exist, of all tenants, in any order.
func (s *Service) ListViews(ctx context.Context, ids []string) ([]View, error) {
	var views []View
	for some := range slices.Chunk(ids, viewsAtOnce) {
		rows, err := db.New(s.config.Pool).ListStreamsWithPlays(ctx, some)
		if err != nil {
			return nil, fmt.Errorf("list streams by id: %w", err)
		}
		byTenant := map[string][]db.Stream{}
		for _, r := range rows {
			byTenant[r.Stream.TenantID] = append(byTenant[r.Stream.TenantID], r.Stream)
		}
		media := map[string]Media{}
		for tenantID, list := range byTenant {
			figures, err := s.media(ctx, tenantID, list...)
			if err != nil {
				return nil, err
			}
			maps.Copy(media, figures)
		}
		for _, r := range rows {
			views = append(views, s.view(r.Stream, int(r.Plays), media[r.Stream.ID]))
		}
	}
	return views, nil
}

// FindStream returns a stream of any tenant.
func (s *Service) FindStream(ctx context.Context, streamID string) (View, error) {
	row, err := db.New(s.config.Pool).GetStreamForPlayback(ctx, streamID)
	if errors.Is(err, pgx.ErrNoRows) {
		return View{}, problem.Missing("stream")
	}
	if err != nil {
		return View{}, fmt.Errorf("find stream: %w", err)
	}
	return s.GetStream(ctx, tenancy.Caller{TenantID: row.TenantID}, streamID)
}

// CreateStream creates a stream with a new key.
func (s *Service) CreateStream(ctx context.Context, c tenancy.Caller, in Input) (View, error) {
	key, hash := newKey()
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return View{}, err
	}
	in.Show = in.Show.normalized()
	heights, kbps, err := renditionColumns(in.Renditions)
	if err != nil {
		return View{}, err
	}
	var row db.Stream
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		if err := s.config.Products.CheckProductsTx(ctx, tx, c.TenantID, in.Show.ProductIDs); err != nil {
			return err
		}
		var err error
		row, err = q.CreateStream(ctx, db.CreateStreamParams{
			ID: id.New(id.Stream), TenantID: c.TenantID, Name: in.Name, Mode: in.Mode,
			KeyHash: hash, KeyLast4: key[len(key)-4:], ProjectID: in.ProjectID,
			ReconnectWindowSec: int32(in.ReconnectWindow), RecordingEnabled: in.RecordingEnabled,
			ScheduledAt: in.Show.ScheduledAt, PosterURL: in.Show.PosterURL, ProductIds: in.Show.ProductIDs, PublicReplay: in.Show.PublicReplay,
			RenditionHeights: heights, RenditionKbps: kbps,
			Metadata: kept, Now: now,
		})
		if err != nil {
			return fmt.Errorf("create stream: %w", err)
		}
		if err := issueKey(ctx, q, row, now); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "stream.create", Entity: "stream", EntityID: row.ID,
			After: map[string]any{"name": row.Name, "mode": row.Mode},
		})
	})
	if err != nil {
		return View{}, err
	}
	v := s.view(row, 0, Media{})
	v.Key = key
	return v, nil
}

// UpdateStream changes a stream's name, show, renditions and metadata. A running broadcast
// continues. Without a change it writes nothing.
func (s *Service) UpdateStream(ctx context.Context, c tenancy.Caller, streamID string, in Change) (View, error) {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := LockTx(ctx, tx, c.TenantID, streamID)
		if err != nil {
			return err
		}
		next, err := s.change(ctx, tx, row, in)
		if err != nil || unchanged(next, row) {
			return err
		}
		err = q.UpdateStream(ctx, db.UpdateStreamParams{
			TenantID: c.TenantID, ID: streamID, Name: next.Name, ScheduledAt: next.ScheduledAt, PosterURL: next.PosterURL,
			ProductIds: next.ProductIds, PublicReplay: next.PublicReplay, Metadata: next.Metadata, Now: now,
			RenditionHeights: next.RenditionHeights, RenditionKbps: next.RenditionKbps,
		})
		if err != nil {
			return fmt.Errorf("update stream: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "stream.update", Entity: "stream", EntityID: streamID,
			Before: audited(row), After: audited(next),
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetStream(ctx, c, streamID)
}

// unchanged reports whether two rows have the same values of those that UpdateStream changes.
func unchanged(a, b db.Stream) bool {
	return a.Name == b.Name && ShowOf(a).equal(ShowOf(b)) && sameRenditions(a, b) && bytes.Equal(a.Metadata, b.Metadata)
}

// change returns the row with the changes.
func (s *Service) change(ctx context.Context, tx pgx.Tx, row db.Stream, in Change) (next db.Stream, err error) {
	next = row
	if in.Name != nil {
		next.Name = *in.Name
	}
	if in.Show != nil {
		show := ShowOf(row)
		in.Show(&show)
		show = show.normalized()
		if err := s.config.Products.CheckProductsTx(ctx, tx, row.TenantID, show.ProductIDs); err != nil {
			return next, err
		}
		next.ScheduledAt, next.PosterURL = show.ScheduledAt, show.PosterURL
		next.ProductIds, next.PublicReplay = show.ProductIDs, show.PublicReplay
	}
	if in.Renditions != nil {
		if next.RenditionHeights, next.RenditionKbps, err = renditionColumns(in.Renditions); err != nil {
			return next, err
		}
	}
	next.Metadata, err = metadata.Merge(row.Metadata, in.Metadata)
	return next, err
}

// audited holds the values of a stream that UpdateStream changes.
func audited(row db.Stream) map[string]any {
	values := ShowOf(row).audited()
	values["name"], values["metadata"], values["renditions"] = row.Name, row.Metadata, RenditionsOf(row)
	return values
}

// RotateStreamKey replaces the key. A running broadcast continues; the next
// publish needs the new key.
func (s *Service) RotateStreamKey(ctx context.Context, c tenancy.Caller, streamID string) (View, error) {
	key, hash := newKey()
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, err := q.RotateStreamKey(ctx, db.RotateStreamKeyParams{
			TenantID: c.TenantID, ID: streamID, KeyHash: hash, KeyLast4: key[len(key)-4:], Now: now,
		})
		if errors.Is(err, pgx.ErrNoRows) {
			return problem.Missing("stream")
		}
		if err != nil {
			return fmt.Errorf("set stream key: %w", err)
		}
		if err := issueKey(ctx, q, row, now); err != nil {
			return err
		}
		err = q.DeleteOldestStreamKeys(ctx, db.DeleteOldestStreamKeysParams{TenantID: c.TenantID, StreamID: streamID, Keep: keptKeys})
		if err != nil {
			return fmt.Errorf("delete oldest stream keys: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "stream.rotate_key", Entity: "stream", EntityID: streamID,
		})
	})
	if err != nil {
		return View{}, err
	}
	v, err := s.GetStream(ctx, c, streamID)
	v.Key = key
	return v, err
}

// view combines a row with its media figures.
func (s *Service) view(row db.Stream, plays int, media Media) View {
	return View{
		Stream:    row,
		Key:       keyPrefix + "…" + row.KeyLast4,
		IngestURL: s.config.IngestURL,
		Viewers:   plays + media.Viewers,
		Health:    health(row, media),
	}
}

func newKey() (key string, hash []byte) {
	key = keyPrefix + secret.Text(keyLength)
	return key, hashKey(key)
}

// hashKey is the stored form of a key. Keys are random, so SHA-256 is enough.
func hashKey(key string) []byte {
	h := sha256.Sum256([]byte(key))
	return h[:]
}

// CheckStreamTx returns the problem not_found unless the tenant has a stream with
// this id. tx may also be the pool.
func (s *Service) CheckStreamTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error {
	return CheckTx(ctx, tx, tenantID, streamID)
}

// CheckTx is Service.CheckStreamTx, for areas that the service itself needs.
func CheckTx(ctx context.Context, tx db.DBTX, tenantID, streamID string) error {
	known, err := db.New(tx).HasStream(ctx, db.HasStreamParams{TenantID: tenantID, ID: streamID})
	switch {
	case err != nil:
		return fmt.Errorf("look for stream: %w", err)
	case !known:
		return problem.Missing("stream")
	}
	return nil
}

// LockTx locks one of the tenant's streams until the end of the transaction.
func LockTx(ctx context.Context, tx pgx.Tx, tenantID, streamID string) (db.Stream, error) {
	row, err := db.New(tx).LockStreamOfTenant(ctx, db.LockStreamOfTenantParams{TenantID: tenantID, ID: streamID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("stream")
	}
	if err != nil {
		return row, fmt.Errorf("lock stream: %w", err)
	}
	return row, nil
}

// ProjectTx returns the project of a stream that exists; nil if it has none. tx may also be the pool.
func ProjectTx(ctx context.Context, tx db.DBTX, streamID string) (*string, error) {
	row, err := db.New(tx).GetStreamForPlayback(ctx, streamID)
	if err != nil {
		return nil, fmt.Errorf("get stream: %w", err)
	}
	return row.ProjectID, nil
}
