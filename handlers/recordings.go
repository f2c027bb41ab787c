package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/recording"
)

// ListRecordings lists the tenant's recordings.
func (s *Server) ListRecordings(ctx context.Context, r api.ListRecordingsRequestObject) (api.ListRecordingsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Recording)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Recordings.ListRecordings(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v recording.View) string { return v.ID })
	return api.ListRecordings200JSONResponse{Body: each(views, toRecording), Headers: api.ListRecordings200ResponseHeaders{Link: link}}, nil
}

// ListStreamRecordings lists the recordings of one stream.
func (s *Server) ListStreamRecordings(
	ctx context.Context, r api.ListStreamRecordingsRequestObject,
) (api.ListStreamRecordingsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Recording)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Recordings.ListStreamRecordings(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v recording.View) string { return v.ID })
	return api.ListStreamRecordings200JSONResponse{
		Body: each(views, toRecording), Headers: api.ListStreamRecordings200ResponseHeaders{Link: link},
	}, nil
}

// GetRecording returns a recording.
func (s *Server) GetRecording(ctx context.Context, r api.GetRecordingRequestObject) (api.GetRecordingResponseObject, error) {
	v, err := s.areas.Recordings.GetRecording(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetRecording200JSONResponse(toRecording(v)), nil
}

// StartRecording starts recording a stream.
func (s *Server) StartRecording(ctx context.Context, r api.StartRecordingRequestObject) (api.StartRecordingResponseObject, error) {
	var in recording.Input
	if r.Body != nil {
		in = recording.Input{Name: orNil(r.Body.Name), Metadata: pairsOf(r.Body.Metadata)}
	}
	v, err := s.areas.Recordings.StartRecording(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	return api.StartRecording201JSONResponse(toRecording(v)), nil
}

// StopRecording stops recording a stream.
func (s *Server) StopRecording(ctx context.Context, r api.StopRecordingRequestObject) (api.StopRecordingResponseObject, error) {
	v, err := s.areas.Recordings.StopRecording(ctx, request.Caller(ctx), r.ID, r.RecID)
	if err != nil {
		return nil, err
	}
	return api.StopRecording201JSONResponse(toRecording(v)), nil
}

// UpdateRecording changes a recording's name and metadata.
func (s *Server) UpdateRecording(ctx context.Context, r api.UpdateRecordingRequestObject) (api.UpdateRecordingResponseObject, error) {
	v, err := s.areas.Recordings.UpdateRecording(ctx, request.Caller(ctx), r.ID, recording.Change{
		Rename: r.Body.Name.IsSpecified(), Name: orNil(r.Body.Name), Metadata: pairsOf(r.Body.Metadata),
	})
	if err != nil {
		return nil, err
	}
	return api.UpdateRecording200JSONResponse(toRecording(v)), nil
}

// DeleteRecording deletes a recording.
func (s *Server) DeleteRecording(ctx context.Context, r api.DeleteRecordingRequestObject) (api.DeleteRecordingResponseObject, error) {
	v, err := s.areas.Recordings.DeleteRecording(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.DeleteRecording200JSONResponse(toRecording(v)), nil
}

// GetRecordingPlaybackURL returns a signed playback URL.
func (s *Server) GetRecordingPlaybackURL(
	ctx context.Context, r api.GetRecordingPlaybackURLRequestObject,
) (api.GetRecordingPlaybackURLResponseObject, error) {
	p, err := s.areas.Recordings.GetRecordingPlaybackURL(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetRecordingPlaybackURL200JSONResponse{
		URL: p.URL, Type: api.RecordingPlaybackTypeHLS, ExpiresAt: timestamp.From(p.ExpiresAt),
		PosterURL: orNull(p.PosterURL), StoryboardURL: orNull(p.StoryboardURL), Mp4URL: orNull(p.MP4URL),
		Tracks: toTracks(p.Tracks),
	}, nil
}

// FinalizeRecording stores the result of an outside recorder.
func (s *Server) FinalizeRecording(ctx context.Context, r api.FinalizeRecordingRequestObject) (api.FinalizeRecordingResponseObject, error) {
	changed, err := s.areas.Recordings.FinalizeRecording(ctx, r.ID, recording.Report{
		Ready: r.Body.Status == api.RecordingFinalStatusReady, PlaylistURL: r.Body.PlaylistURL, DurationSec: r.Body.DurationSec,
		SizeBytes: r.Body.SizeBytes, Error: r.Body.Error,
	})
	if err != nil {
		return nil, err
	}
	return api.FinalizeRecording201JSONResponse{Changed: changed}, nil
}

func toRecording(v recording.View) api.Recording {
	return api.Recording{
		ID: v.ID, StreamID: orNull(v.StreamID), SessionID: orNull(v.SessionID), Name: orNull(v.Name), Status: api.RecordingStatus(v.Status),
		URL: orNull(v.URL), URLExpiresAt: timeOrNull(v.URLExpires), DurationSec: toSeconds(v.DurationMs), SizeBytes: orNull(v.SizeBytes),
		ProductTimeline: each(v.Timeline, toTimelineEntry), Error: orNull(v.Error), IncompleteReason: orNull(incompleteReason(v.Recording)),
		StartedAt: timestamp.From(v.StartedAt), EndedAt: timeOrNull(v.EndedAt), RetainUntil: timeOrNull(v.RetainUntil),
		ClipOf:   toClipSource(v.Recording),
		Metadata: toMetadata(v.Metadata), CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

func toTimelineEntry(p recording.Pin) api.ProductTimelineEntry {
	return api.ProductTimelineEntry{TS: p.TS, ProductID: p.ProductID}
}

// incompleteReason is nil unless something of the recording can, or could, be played.
func incompleteReason(r db.Recording) *string {
	if r.Status != recording.Ready && r.Status != recording.Deleted {
		return nil
	}
	return r.IncompleteReason
}

// toSeconds converts milliseconds; nil becomes null.
func toSeconds(ms *int64) nullable.Nullable[float64] {
	if ms == nil {
		return nullable.NewNullNullable[float64]()
	}
	return nullable.NewNullableWithValue(float64(*ms) / 1000)
}
