package handlers

import (
	"context"
	"math"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/stream"
)

// defaultPlayback is the lifetime of a playback URL if the request has no body,
// because the validator can't fill in the document's default then.
const defaultPlayback = time.Hour

// ListStreams lists the tenant's streams.
func (s *Server) ListStreams(ctx context.Context, r api.ListStreamsRequestObject) (api.ListStreamsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Stream)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Streams.ListStreams(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v stream.View) string { return v.ID })
	return api.ListStreams200JSONResponse{Body: each(views, toStream), Headers: api.ListStreams200ResponseHeaders{Link: link}}, nil
}

// CreateStream creates a stream. The validator has filled in the document's
// defaults, so no field with one is nil.
func (s *Server) CreateStream(ctx context.Context, r api.CreateStreamRequestObject) (api.CreateStreamResponseObject, error) {
	v, err := s.areas.Streams.CreateStream(ctx, request.Caller(ctx), stream.Input{
		Name: r.Body.Name, Mode: string(*r.Body.Mode), ProjectID: r.Body.ProjectID,
		ReconnectWindow: *r.Body.ReconnectWindowSec, RecordingEnabled: *r.Body.RecordingEnabled, Metadata: pairsOf(r.Body.Metadata),
		Renditions: renditionsOf(r.Body.Renditions),
		Show: stream.Show{
			ScheduledAt: instant(orNil(r.Body.ScheduledAt)), PosterURL: orNil(r.Body.PosterURL),
			ProductIDs: listOrNil(r.Body.ProductIds), PublicReplay: orNil(r.Body.PublicReplay),
		},
	})
	if err != nil {
		return nil, err
	}
	return api.CreateStream201JSONResponse(toStream(v)), nil
}

// GetStream returns a stream.
func (s *Server) GetStream(ctx context.Context, r api.GetStreamRequestObject) (api.GetStreamResponseObject, error) {
	v, err := s.areas.Streams.GetStream(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetStream200JSONResponse(toStream(v)), nil
}

// UpdateStream changes a stream's name, show, renditions and metadata.
func (s *Server) UpdateStream(ctx context.Context, r api.UpdateStreamRequestObject) (api.UpdateStreamResponseObject, error) {
	v, err := s.areas.Streams.UpdateStream(ctx, request.Caller(ctx), r.ID, stream.Change{
		Name: r.Body.Name, Renditions: renditionsOf(r.Body.Renditions), Metadata: pairsOf(r.Body.Metadata), Show: func(show *stream.Show) {
			replace(&show.ScheduledAt, r.Body.ScheduledAt, func(t timestamp.Time) *time.Time { return instant(&t) })
			replace(&show.PosterURL, r.Body.PosterURL, func(address string) *string { return &address })
			replace(&show.ProductIDs, r.Body.ProductIds, func(ids []string) []string { return ids })
			replace(&show.PublicReplay, r.Body.PublicReplay, func(public bool) *bool { return &public })
		},
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateStream200JSONResponse(toStream(v)), nil
}

// RotateStreamKey replaces the stream key. Only this answer contains the new one.
func (s *Server) RotateStreamKey(ctx context.Context, r api.RotateStreamKeyRequestObject) (api.RotateStreamKeyResponseObject, error) {
	v, err := s.areas.Streams.RotateStreamKey(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.RotateStreamKey201JSONResponse(toStream(v)), nil
}

// CreatePlaybackURL returns a signed playback URL.
func (s *Server) CreatePlaybackURL(ctx context.Context, r api.CreatePlaybackURLRequestObject) (api.CreatePlaybackURLResponseObject, error) {
	life := defaultPlayback
	if r.Body != nil && r.Body.ExpiresInSec != nil {
		life = time.Duration(*r.Body.ExpiresInSec) * time.Second
	}
	p, err := s.areas.Streams.CreatePlaybackURL(ctx, request.Caller(ctx), r.ID, life)
	if err != nil {
		return nil, err
	}
	return api.CreatePlaybackURL201JSONResponse(toPlaybackURL(p)), nil
}

func toStream(v stream.View) api.Stream {
	return api.Stream{
		ID: v.ID, Name: v.Name, Mode: api.StreamMode(v.Mode), Status: api.StreamStatus(v.Status),
		StreamKey: v.Key, IngestURL: v.IngestURL, ProjectID: orNull(v.ProjectID),
		ReconnectWindowSec: int(v.ReconnectWindowSec), RecordingEnabled: v.RecordingEnabled,
		ViewerCount: v.Viewers, Health: toStreamHealth(v.Health),
		StartedAt: timeOrNull(v.StartedAt), EndedAt: timeOrNull(v.EndedAt),
		ScheduledAt: timeOrNull(v.ScheduledAt), PosterURL: orNull(v.PosterURL), ProductIds: listOrNull(v.ProductIds),
		PublicReplay: orNull(v.PublicReplay), Renditions: each(stream.RenditionsOf(v.Stream), toStreamRendition),
		Metadata:  toMetadata(v.Metadata),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

func toStreamHealth(h stream.Health) api.StreamHealth {
	notices := make([]api.StreamNotice, len(h.Notices))
	for i, n := range h.Notices {
		notices[i] = api.StreamNotice{Code: api.StreamNoticeCode(n.Code), Message: n.Message}
	}
	return api.StreamHealth{
		State: api.StreamHealthState(h.State), Reason: orNull(h.Reason),
		VideoKbps: h.Media.VideoKbps, AudioKbps: h.Media.AudioKbps, Fps: float32(math.Round(h.Media.FPS*10) / 10),
		Width: h.Media.Width, Height: h.Media.Height,
		VideoCodec: textOrNull(h.Media.VideoCodec), AudioCodec: textOrNull(h.Media.AudioCodec),
		Notices: notices, Ladder: toStreamLadder(h),
	}
}

// toStreamLadder is null without renditions.
func toStreamLadder(h stream.Health) nullable.Nullable[api.StreamLadder] {
	if h.Media.Ladder == "" {
		return nullable.NewNullNullable[api.StreamLadder]()
	}
	return nullable.NewNullableWithValue(api.StreamLadder{State: api.StreamLadderState(h.Media.Ladder), Reason: orNull(h.LadderReason)})
}

func toStreamRendition(r stream.Rendition) api.StreamRendition {
	return api.StreamRendition{Height: r.Height, VideoKbps: r.VideoKbps}
}

// renditionsOf converts renditions; nil if the field is absent. A bitrate of 0 is the default of its height.
func renditionsOf(list []api.StreamRenditionInput) []stream.Rendition {
	if list == nil {
		return nil
	}
	return each(list, func(r api.StreamRenditionInput) stream.Rendition {
		out := stream.Rendition{Height: r.Height}
		if r.VideoKbps != nil {
			out.VideoKbps = *r.VideoKbps
		}
		return out
	})
}
