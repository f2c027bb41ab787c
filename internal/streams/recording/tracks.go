package recording

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/recordfile"
)

// maxTracks bounds the tracks of a recording, which are in one answer. Nodes that compose at the same time may exceed it.
const maxTracks = 1000

// Track is a stored file with the sound of one participant in one part of a session's recording.
type Track struct {
	// Number is that in recordfile.SeparateTrack.
	Number int
	UserID string
	// Name is what the other participants saw; "" for none.
	Name  string
	Bytes int64
}

// ComposedPart is what a part has besides its take.
type ComposedPart struct {
	// Length is that of the part, and of each track.
	Length time.Duration
	Tracks []Track
	// Reason says for the tenant what is missing; "" if nothing is.
	Reason string
}

// TrackURL is a track of a READY recording.
type TrackURL struct {
	UserID string
	Name   *string
	// URL is signed, and valid until ExpiresAt.
	URL       string
	ExpiresAt time.Time
	// Start is where it begins in the recording's video.
	Start, Length time.Duration
	Bytes         int64
}

// FreeTracks returns how many more tracks a recording can have.
func (s *Service) FreeTracks(ctx context.Context, recordingID string) (int, error) {
	n, err := db.New(s.config.Pool).CountTracks(ctx, recordingID)
	if err != nil {
		return 0, fmt.Errorf("count tracks: %w", err)
	}
	return max(maxTracks-int(n), 0), nil
}

// FinishComposedPart stores the tracks of a part whose files are stored, and finishes it as FinishPart does. The reason for which its
// room has ended it stays, before that of c. Repeating it has no effect.
func (s *Service) FinishComposedPart(ctx context.Context, id PartID, c ComposedPart) error {
	err := postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		r, part, err := lockPart(ctx, q, id)
		if err != nil || part.FinishedAt != nil {
			return err
		}
		if len(c.Tracks) > 0 {
			if err := q.CreateTracks(ctx, rowsOf(part, c)); err != nil {
				return fmt.Errorf("create tracks: %w", err)
			}
		}
		err = q.FinishPart(ctx, db.FinishPartParams{
			RecordingID: r.ID, Part: part.Part, Reason: joinReasons(part.Reason, c.Reason), Now: s.config.Now(),
		})
		if err != nil {
			return fmt.Errorf("finish part: %w", err)
		}
		return s.finishTx(ctx, tx, r)
	})
	if problem.Is(err, "not_found") { // the recording was deleted meanwhile
		return s.deleteLateFiles(ctx, id.RecordingID)
	}
	return err
}

func rowsOf(part db.RecordingPart, c ComposedPart) db.CreateTracksParams {
	p := db.CreateTracksParams{
		RecordingID: part.RecordingID, Part: part.Part, TenantID: part.TenantID, DurationMs: c.Length.Milliseconds(),
	}
	for _, t := range c.Tracks {
		p.Numbers, p.UserIds = append(p.Numbers, int32(t.Number)), append(p.UserIds, t.UserID)
		p.Names, p.Sizes = append(p.Names, t.Name), append(p.Sizes, t.Bytes)
	}
	return p
}

// joinReasons returns both reasons of a part; nil for none. other is "" for none.
func joinReasons(stored *string, other string) *string {
	switch {
	case other == "":
		return stored
	case stored == nil:
		return &other
	}
	return new(*stored + "; " + other)
}

// placeTracks notes where the tracks of a locked recording begin in its video, and returns their bytes.
func placeTracks(ctx context.Context, q *db.Queries, r db.Recording) (bytes int64, err error) {
	if !r.SeparateTracks {
		return 0, nil
	}
	if err := q.SetTrackStarts(ctx, db.SetTrackStartsParams{TenantID: r.TenantID, RecordingID: r.ID}); err != nil {
		return 0, fmt.Errorf("place tracks: %w", err)
	}
	if bytes, err = q.SumTracks(ctx, r.ID); err != nil {
		return 0, fmt.Errorf("sum tracks: %w", err)
	}
	return bytes, nil
}

// tracks returns the tracks of those of the tenant's recordings that are READY and have separate ones, in lists that aren't nil.
func (s *Service) tracks(ctx context.Context, tenantID string, expires time.Time, rows ...db.Recording) (map[string][]TrackURL, error) {
	lists, folders, keys := map[string][]TrackURL{}, map[string]string{}, map[string]string{}
	p := db.ListTracksParams{TenantID: tenantID}
	for _, r := range rows {
		if r.Status == Ready && r.SeparateTracks {
			p.Ids = append(p.Ids, r.ID)
			lists[r.ID], folders[r.ID], keys[r.ID] = []TrackURL{}, s.signedFolder(r.ID, expires), *r.TracksKey
		}
	}
	if p.Ids == nil {
		return lists, nil
	}
	stored, err := db.New(s.config.Pool).ListTracks(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("list tracks: %w", err)
	}
	for _, t := range stored {
		x := TrackURL{
			UserID: t.UserID, Name: t.Name, URL: folders[t.RecordingID] + recordfile.SeparateTrack(int(t.Part), int(t.Number), keys[t.RecordingID]),
			ExpiresAt: expires,
			Length:    time.Duration(t.DurationMs) * time.Millisecond, Bytes: t.SizeBytes,
		}
		if t.StartMs != nil {
			x.Start = time.Duration(*t.StartMs) * time.Millisecond
		}
		lists[t.RecordingID] = append(lists[t.RecordingID], x)
	}
	return lists, nil
}

// sessionViews returns views with tracks.
func (s *Service) sessionViews(ctx context.Context, tenantID string, rows ...db.Recording) ([]View, error) {
	list, err := s.views(ctx, tenantID, rows...)
	if err != nil {
		return nil, err
	}
	tracks, err := s.tracks(ctx, tenantID, s.inAnHour(), rows...)
	if err != nil {
		return nil, err
	}
	for i := range list {
		list[i].Tracks = tracks[list[i].ID]
	}
	return list, nil
}
