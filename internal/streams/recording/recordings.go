package recording

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/metadata"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// View is a recording as the API shows it to the tenant.
type View struct {
	db.Recording
	// URL is a playback URL, valid until URLExpires; both are nil unless the recording is READY.
	URL        *string
	URLExpires *time.Time
	Timeline   []Pin
	// Tracks are set by ListSessionRecordings and SessionView; nil unless the recording is READY and has separate tracks.
	Tracks []TrackURL
}

// Input describes a new recording; the handler has checked its limits.
type Input struct {
	Name     *string
	Metadata map[string]string
}

// Change holds the changes of a recording.
type Change struct {
	// Rename: Name replaces the name; nil removes it.
	Rename bool
	Name   *string
	// Metadata is merged by key; an empty value deletes its key.
	Metadata map[string]string
}

// PlaybackURL is a URL to watch a recording, valid until ExpiresAt.
type PlaybackURL struct {
	URL       string
	ExpiresAt time.Time
	// PosterURL, StoryboardURL and MP4URL are nil while there are no such files.
	PosterURL, StoryboardURL, MP4URL *string
	// Tracks are nil for recordings without separate tracks. Only GetRecordingPlaybackURL sets them.
	Tracks []TrackURL
}

// ListRecordings pages through the tenant's recordings, newest first, without deleted ones. cursor is the id after which the
// page starts, nil for the first page.
func (s *Service) ListRecordings(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]View, error) {
	rows, err := db.New(s.config.Pool).ListRecordings(ctx, db.ListRecordingsParams{
		TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list recordings: %w", err)
	}
	return s.views(ctx, c.TenantID, rows...)
}

// ListStreamRecordings pages through the recordings of one stream, as ListRecordings does.
func (s *Service) ListStreamRecordings(ctx context.Context, c tenancy.Caller, streamID string, cursor *string, limit int) ([]View, error) {
	if err := stream.CheckTx(ctx, s.config.Pool, c.TenantID, streamID); err != nil {
		return nil, err
	}
	rows, err := db.New(s.config.Pool).ListStreamRecordings(ctx, db.ListStreamRecordingsParams{
		TenantID: c.TenantID, StreamID: streamID, Cursor: cursor, MaxRows: int32(limit),
	})
	if err != nil {
		return nil, fmt.Errorf("list recordings of a stream: %w", err)
	}
	return s.views(ctx, c.TenantID, rows...)
}

// GetRecording returns one recording of the tenant, also a deleted one.
func (s *Service) GetRecording(ctx context.Context, c tenancy.Caller, recordingID string) (View, error) {
	row, err := s.get(ctx, c, recordingID)
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// GetRow returns a recording of the caller's tenant as it is stored.
func (s *Service) GetRow(ctx context.Context, c tenancy.Caller, recordingID string) (db.Recording, error) {
	return s.get(ctx, c, recordingID)
}

func (s *Service) get(ctx context.Context, c tenancy.Caller, recordingID string) (db.Recording, error) {
	row, err := db.New(s.config.Pool).GetRecording(ctx, db.GetRecordingParams{TenantID: c.TenantID, ID: recordingID})
	return row, found(err, "get recording")
}

// GetRecordingPlaybackURL signs a URL for a READY recording.
func (s *Service) GetRecordingPlaybackURL(ctx context.Context, c tenancy.Caller, recordingID string) (PlaybackURL, error) {
	row, err := s.get(ctx, c, recordingID)
	if err != nil {
		return PlaybackURL{}, err
	}
	if err := mayPlay(row); err != nil {
		return PlaybackURL{}, err
	}
	p := s.playback(row, s.inAnHour())
	tracks, err := s.tracks(ctx, row.TenantID, p.ExpiresAt, row)
	p.Tracks = tracks[row.ID]
	return p, err
}

// DVRURL signs a URL to watch the recording that is being made of a stream from its start; nil if there is none.
func (s *Service) DVRURL(ctx context.Context, tenantID, streamID string, expires time.Time) (*string, error) {
	row, err := db.New(s.config.Pool).GetActiveRecording(ctx, db.GetActiveRecordingParams{TenantID: tenantID, StreamID: streamID})
	if errors.Is(err, pgx.ErrNoRows) || err == nil && row.Source != Builtin {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get active recording: %w", err)
	}
	return new(s.signedFolder(row.ID, expires) + recordfile.Index), nil
}

// inAnHour is when a playback URL expires that is made now.
func (s *Service) inAnHour() time.Time { return s.config.Now().Add(playbackLife).Truncate(time.Second) }

// playback returns the URLs of a READY recording, valid until expires. An outside recorder's playlist is not signed.
func (s *Service) playback(r db.Recording, expires time.Time) PlaybackURL {
	p := PlaybackURL{ExpiresAt: expires}
	if r.PlaylistURL != nil {
		p.URL = *r.PlaylistURL
		return p
	}
	folder := s.signedFolder(r.ID, p.ExpiresAt)
	p.URL = folder + recordfile.Index
	for _, asset := range []struct {
		made bool
		url  **string
		name string
	}{
		{r.HasPoster, &p.PosterURL, recordfile.Poster}, {r.HasStoryboard, &p.StoryboardURL, recordfile.Storyboard},
		{r.HasMp4, &p.MP4URL, recordfile.MP4},
	} {
		if asset.made {
			*asset.url = new(folder + asset.name)
		}
	}
	return p
}

// signedFolder is the URL of a recording's files, with a slash at the end.
func (s *Service) signedFolder(recordingID string, expires time.Time) string {
	return s.config.PublicURL + "/vod/" + s.config.Tokens.SignRecording(recordingID, expires) + "/" + recordingID + "/"
}

// StartRecording begins a recording of a stream on air.
func (s *Service) StartRecording(ctx context.Context, c tenancy.Caller, streamID string, in Input) (View, error) {
	kept, err := metadata.Merge(nil, in.Metadata)
	if err != nil {
		return View{}, err
	}
	var row db.Recording
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		st, err := stream.LockTx(ctx, tx, c.TenantID, streamID)
		if err != nil {
			return err
		}
		active, err := lockActive(ctx, q, st)
		if err != nil {
			return err
		}
		source, err := mayStart(st, active != nil, s.HasOutsideRecorder())
		if err != nil {
			return err
		}
		if err := s.mayRecordTx(ctx, tx, c.TenantID); err != nil {
			return err
		}
		if row, err = s.createTx(ctx, tx, st, source, in, kept); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, s.config.Now(), audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "recording.start", Entity: entity, EntityID: row.ID,
			After: map[string]any{"streamId": streamID, "name": in.Name},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.view(ctx, row)
}

// StopRecording ends a recording; its broadcast continues. Repeating it has no effect.
func (s *Service) StopRecording(ctx context.Context, c tenancy.Caller, streamID, recordingID string) (View, error) {
	err := s.change(ctx, c, recordingID, func(tx pgx.Tx, row db.Recording) error {
		if row.StreamID == nil || *row.StreamID != streamID {
			return problem.Missing("recording")
		}
		if row.Status != Recording {
			return nil
		}
		now := s.config.Now()
		if err := s.endTx(ctx, tx, row, now, nil); err != nil {
			return err
		}
		return audit.WriteTx(ctx, db.New(tx), now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "recording.stop", Entity: entity, EntityID: row.ID,
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetRecording(ctx, c, recordingID)
}

// UpdateRecording changes a recording's name and metadata. Without a change it writes nothing.
func (s *Service) UpdateRecording(ctx context.Context, c tenancy.Caller, recordingID string, in Change) (View, error) {
	err := s.change(ctx, c, recordingID, func(tx pgx.Tx, row db.Recording) (err error) {
		if row.Status == Deleted {
			return problem.Conflicting("the recording is deleted")
		}
		q, now := db.New(tx), s.config.Now()
		next := db.UpdateRecordingParams{TenantID: c.TenantID, ID: row.ID, Name: row.Name, Now: now}
		if in.Rename {
			next.Name = in.Name
		}
		if next.Metadata, err = metadata.Merge(row.Metadata, in.Metadata); err != nil {
			return err
		}
		if sameText(next.Name, row.Name) && bytes.Equal(next.Metadata, row.Metadata) {
			return nil
		}
		if err := q.UpdateRecording(ctx, next); err != nil {
			return fmt.Errorf("update recording: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "recording.update", Entity: entity, EntityID: row.ID,
			Before: map[string]any{"name": row.Name, "metadata": row.Metadata}, After: map[string]any{"name": next.Name, "metadata": next.Metadata},
		})
	})
	if err != nil {
		return View{}, err
	}
	return s.GetRecording(ctx, c, recordingID)
}

func sameText(a, b *string) bool { return a == b || a != nil && b != nil && *a == *b }

// DeleteRecording makes a recording DELETED: its playback stops, and a job deletes its files. Repeating it has no effect.
func (s *Service) DeleteRecording(ctx context.Context, c tenancy.Caller, recordingID string) (View, error) {
	err := s.change(ctx, c, recordingID, func(tx pgx.Tx, row db.Recording) error {
		return s.deleteTx(ctx, tx, row, c.Actor(), nil)
	})
	if err != nil {
		return View{}, err
	}
	return s.GetRecording(ctx, c, recordingID)
}

// change runs fn with the locked recording of the tenant.
func (s *Service) change(ctx context.Context, c tenancy.Caller, recordingID string, fn func(tx pgx.Tx, row db.Recording) error) error {
	return postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		row, err := db.New(tx).LockRecordingOfTenant(ctx, db.LockRecordingOfTenantParams{TenantID: c.TenantID, ID: recordingID})
		if err := found(err, "lock recording"); err != nil {
			return err
		}
		return fn(tx, row)
	})
}

// found converts the error of a query for a recording: no row is the problem not_found.
func found(err error, doing string) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, pgx.ErrNoRows):
		return problem.Missing("recording")
	default:
		return fmt.Errorf("%s: %w", doing, err)
	}
}

func (s *Service) view(ctx context.Context, row db.Recording) (View, error) {
	list, err := s.views(ctx, row.TenantID, row)
	if err != nil {
		return View{}, err
	}
	return list[0], nil
}

// views adds the playback URLs and timelines to recordings of one tenant.
func (s *Service) views(ctx context.Context, tenantID string, rows ...db.Recording) ([]View, error) {
	var unfinished []string
	for _, row := range rows {
		if !isFinal(row.Status) {
			unfinished = append(unfinished, row.ID)
		}
	}
	spans := map[string][]span{}
	if unfinished != nil {
		var err error
		if spans, err = spansOf(ctx, db.New(s.config.Pool), tenantID, unfinished...); err != nil {
			return nil, err
		}
	}
	list := make([]View, len(rows))
	for i, row := range rows {
		v := View{Recording: row}
		var err error
		if isFinal(row.Status) {
			v.Timeline, err = storedTimeline(row)
		} else {
			v.Timeline, err = s.computeTimeline(ctx, row, spans[row.ID])
		}
		if err != nil {
			return nil, err
		}
		if row.Status == Ready {
			p := s.playback(row, s.inAnHour())
			v.URL, v.URLExpires = &p.URL, &p.ExpiresAt
		}
		list[i] = v
	}
	return list, nil
}
