package stream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"showfloor/gen/db"
)

// Inspection holds the measurements of a stream's media. Its JSON form is what nodes write for each other.
type Inspection struct {
	// Tracks are the tracks that arrive, video first.
	Tracks []InspectedTrack `json:"tracks"`
	// KeyFrames is nil without video, and Timing while no media arrives.
	KeyFrames *KeyFrames `json:"keyFrames"`
	Timing    *Timing    `json:"timing"`
	// Outputs are the stream's readers, one entry for each kind and destination.
	Outputs []InspectedOutput `json:"outputs"`
}

// InspectedTrack is one incoming track.
type InspectedTrack struct {
	Video bool `json:"video"`
	// Codec is the name in the API, CodecString that of RFC 6381.
	Codec       string `json:"codec"`
	CodecString string `json:"codecString"`
	Kbps        int    `json:"kbps"`
	// Pictures per second, the picture's size in pixels, and whether pictures arrive in another order than they are shown.
	FPS           float64 `json:"fps"`
	Width, Height int
	BFrames       bool `json:"bFrames"`
	// Samples per second, and channels.
	SampleRate, Channels int
	// Units is the number of frames since the broadcast began on this node.
	Units      uint64    `json:"units"`
	LastUnitAt time.Time `json:"lastUnitAt"`
}

// KeyFrames describes the distances between key frames in the last minute.
type KeyFrames struct {
	Average, Minimum, Maximum time.Duration
	LastAt                    time.Time
}

// Timing describes the quality of the encoder's timestamps.
type Timing struct {
	// Offset is how far audio is ahead of video on arrival, Drift how far the encoder's clock has run ahead of ours.
	Offset, Drift time.Duration
	// Jumps is the number of breaks of the timestamps.
	Jumps int
	// Jitter is the mean deviation of arrivals.
	Jitter time.Duration
}

// InspectedOutput is one output.
type InspectedOutput struct {
	// Kind is one of those in the API. Name is the id of a restream's route.
	Kind    string `json:"kind"`
	Name    string `json:"name"`
	Readers int    `json:"readers"`
	Kbps    int    `json:"kbps"`
	Dropped uint64 `json:"dropped"`
}

// HealthPoint is a stream's health at one moment.
type HealthPoint = db.StreamHealthPoint

// InspectedStream is a stream with its measurements.
type InspectedStream struct {
	AdminView
	Inspection

	// At is when the values were measured.
	At time.Time
	// History is the last hour on air, oldest first.
	History []HealthPoint
}

const (
	// healthEvery is the distance of the points of health, and healthSpan the time that they cover.
	healthEvery = 10 * time.Second
	healthSpan  = time.Hour
	// keepHealth is how long the points of a stream off air are kept.
	keepHealth = 24 * time.Hour
)

// RecordHealth writes a point of the health of those of these streams that are on air, and deletes their points of more
// than an hour ago. Points in the same 10 seconds replace each other.
func (s *Service) RecordHealth(ctx context.Context, streamIDs []string) error {
	if len(streamIDs) == 0 {
		return nil
	}
	q, now := db.New(s.config.Pool), s.config.Now()
	p := db.AddStreamHealthParams{At: now.Truncate(healthEvery), KeepSince: now.Add(-healthSpan)}
	for some := range slices.Chunk(streamIDs, viewsAtOnce) {
		rows, err := q.ListStreamsWithPlays(ctx, some)
		if err != nil {
			return fmt.Errorf("list streams by id: %w", err)
		}
		for _, r := range rows {
			if !onAir(r.Stream) || r.Stream.Node != s.config.Node {
				continue
			}
			m, _ := s.config.Engine.Media(r.Stream.ID)
			p.StreamIds, p.States = append(p.StreamIds, r.Stream.ID), append(p.States, health(r.Stream, m).State)
			p.VideoKbps, p.AudioKbps = append(p.VideoKbps, int32(m.VideoKbps)), append(p.AudioKbps, int32(m.AudioKbps))
			p.Fps, p.Viewers = append(p.Fps, m.FPS), append(p.Viewers, int32(m.Viewers)+r.Plays)
		}
	}
	if len(p.StreamIds) == 0 {
		return nil
	}
	if err := q.AddStreamHealth(ctx, p); err != nil {
		return fmt.Errorf("add health of streams: %w", err)
	}
	return nil
}

// shareInspections writes the measurements of this node's streams for the other nodes.
func (s *Service) shareInspections(ctx context.Context, streamIDs []string) error {
	p := db.ShareStreamInspectionsParams{Node: s.config.Node, Now: s.config.Now()}
	for _, id := range streamIDs {
		i, ok := s.config.Engine.Inspect(id)
		if !ok {
			continue
		}
		figures, err := json.Marshal(i)
		if err != nil {
			return fmt.Errorf("encode the measurements of stream %s: %w", id, err)
		}
		p.StreamIds, p.Figures = append(p.StreamIds, id), append(p.Figures, string(figures))
	}
	if len(p.StreamIds) == 0 {
		return nil
	}
	if err := db.New(s.config.Pool).ShareStreamInspections(ctx, p); err != nil {
		return fmt.Errorf("share the measurements of streams: %w", err)
	}
	return nil
}

// GetAdminStreamInspection returns a stream with its measurements: this node's own, or those that its node wrote in the last 10
// seconds. Without any, as for a stream on an SRS server, the measurements are empty.
func (s *Service) GetAdminStreamInspection(ctx context.Context, streamID string) (v InspectedStream, err error) {
	if v.AdminView, err = s.GetAdminStream(ctx, streamID); err != nil {
		return v, err
	}
	q := db.New(s.config.Pool)
	if v.Inspection, v.At, err = s.inspect(ctx, q, v.Stream); err != nil {
		return v, err
	}
	v.History, err = q.ListStreamHealth(ctx, db.ListStreamHealthParams{
		StreamID: streamID, Span: pgtype.Interval{Microseconds: healthSpan.Microseconds(), Valid: true}, MaxRows: int32(healthSpan / healthEvery),
	})
	if err != nil {
		return v, fmt.Errorf("list health of stream: %w", err)
	}
	slices.Reverse(v.History)
	return v, nil
}

func (s *Service) inspect(ctx context.Context, q *db.Queries, row db.Stream) (i Inspection, at time.Time, err error) {
	now := s.config.Now()
	if !onAir(row) && row.PublisherID == nil || row.Node == "" {
		return Inspection{}, now, nil
	}
	if row.Node == s.config.Node {
		i, _ = s.config.Engine.Inspect(row.ID)
		return i, now, nil
	}
	shared, err := q.GetStreamInspection(ctx, db.GetStreamInspectionParams{StreamID: row.ID, Node: row.Node, Since: now.Add(-mediaFresh)})
	if errors.Is(err, pgx.ErrNoRows) {
		return Inspection{}, now, nil
	}
	if err != nil {
		return i, now, fmt.Errorf("get the measurements of a stream: %w", err)
	}
	if err := json.Unmarshal(shared.Figures, &i); err != nil {
		return i, now, fmt.Errorf("read the measurements of stream %s: %w", row.ID, err)
	}
	return i, shared.SeenAt, nil
}
