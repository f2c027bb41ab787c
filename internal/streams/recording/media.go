package recording

import (
	"context"
	"fmt"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Media is what can be played of a recording.
type Media struct {
	RecordingID string
	// Status is RECORDING, PROCESSING or READY.
	Status string
	// PlaylistURL is an outside recorder's playlist, "" for all other recordings. With it there are no inits and segments.
	PlaylistURL string
	StartedAt   time.Time
	// Inits and Segments are in the order of take and number. A take doesn't continue the one before.
	Inits    []TakeInit
	Segments []TakeSegment
	// Storyboard is set if the recording has one.
	Storyboard bool
	// Chapters are those of a READY recording.
	Chapters []Chapter
	// Texts are in the order of their languages; none unless the recording is READY.
	Texts []TextTrack
}

// TakeInit is an init of a take.
type TakeInit struct {
	Init

	Take int
}

// TakeSegment is a segment of a take.
type TakeSegment struct {
	Segment

	Take int
}

// TakeEnd is how far a caller knows a take: the numbers of its last init and segment.
type TakeEnd struct{ Take, Init, Segment int }

// Media returns what can be played of a recording, without the inits and segments that the caller knows: a take's are stored in
// the order of their numbers. It checks no tenant: the caller has checked a playback token. An unknown recording, one that is
// FAILED or DELETED, and one of a suspended tenant, is the problem not_found.
func (s *Service) Media(ctx context.Context, recordingID string, known []TakeEnd) (Media, error) {
	q := db.New(s.config.Pool)
	r, err := q.FindPlayableRecording(ctx, recordingID)
	if err := found(err, "find recording"); err != nil {
		return Media{}, err
	}
	m, err := mediaOf(ctx, q, r, known)
	if err != nil || r.Status != Ready || r.PlaylistURL != nil {
		return m, err
	}
	m.Storyboard = r.HasStoryboard
	if m.Chapters, err = s.chapters(ctx, r); err != nil {
		return Media{}, err
	}
	if m.Texts, err = textsOf(ctx, q, r.ID); err != nil {
		return Media{}, err
	}
	return m, nil
}

// StoredMedia returns the inits, segments and texts of a recording for a job, also while the tenant is suspended. An unknown recording,
// and one that is FAILED or DELETED, is the problem not_found.
func (s *Service) StoredMedia(ctx context.Context, recordingID string) (Media, error) {
	q := db.New(s.config.Pool)
	r, err := q.FindRecording(ctx, recordingID)
	if err := found(err, "find recording"); err != nil {
		return Media{}, err
	}
	m, err := mediaOf(ctx, q, r, nil)
	if err != nil {
		return Media{}, err
	}
	m.Texts, err = textsOf(ctx, q, r.ID)
	return m, err
}

// mediaOf returns the inits and segments of a recording that the caller doesn't know.
func mediaOf(ctx context.Context, q *db.Queries, r db.Recording, known []TakeEnd) (Media, error) {
	if r.Status == Failed || r.Status == Deleted {
		return Media{}, problem.Missing("recording")
	}
	m := Media{RecordingID: r.ID, Status: r.Status, StartedAt: r.StartedAt}
	if r.PlaylistURL != nil {
		m.PlaylistURL = *r.PlaylistURL
		return m, nil
	}
	// Segments are read first: the init of each of them is stored before or with it.
	segmentsOf, initsOf := db.ListSegmentsParams{RecordingID: r.ID}, db.ListInitsParams{RecordingID: r.ID}
	for _, k := range known {
		segmentsOf.Takes, segmentsOf.Seqs = append(segmentsOf.Takes, int32(k.Take)), append(segmentsOf.Seqs, int32(k.Segment))
		initsOf.Takes, initsOf.Inits = append(initsOf.Takes, int32(k.Take)), append(initsOf.Inits, int32(k.Init))
	}
	segments, err := q.ListSegments(ctx, segmentsOf)
	if err != nil {
		return Media{}, fmt.Errorf("list segments: %w", err)
	}
	inits, err := q.ListInits(ctx, initsOf)
	if err != nil {
		return Media{}, fmt.Errorf("list inits: %w", err)
	}
	for _, i := range inits {
		m.Inits = append(m.Inits, TakeInit{Take: int(i.Take), Init: Init{
			Number: int(i.Init), Codecs: i.Codecs, Width: int(i.Width), Height: int(i.Height), FrameRate: i.FrameRate,
			VideoBytes: i.VideoBytes, AudioBytes: i.AudioBytes,
		}})
	}
	for _, g := range segments {
		m.Segments = append(m.Segments, TakeSegment{Take: int(g.Take), Segment: Segment{
			Number: int(g.Seq), Init: int(g.Init), Discontinuity: g.Discontinuity, StartedAt: g.StartedAt,
			Duration: micro(g.DurationUs), Video: micro(g.VideoUs), Audio: micro(g.AudioUs), VideoBytes: g.VideoBytes, AudioBytes: g.AudioBytes,
		}})
	}
	return m, nil
}

func micro(n int64) time.Duration { return time.Duration(n) * time.Microsecond }

// durationOf is the length of a READY recording; 0 for others.
func durationOf(r db.Recording) time.Duration {
	if r.DurationMs == nil {
		return 0
	}
	return time.Duration(*r.DurationMs) * time.Millisecond
}
