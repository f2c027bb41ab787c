package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/streams/recording"
)

// CreateRecordingClip cuts a clip out of a recording.
func (s *Server) CreateRecordingClip(
	ctx context.Context, r api.CreateRecordingClipRequestObject,
) (api.CreateRecordingClipResponseObject, error) {
	v, err := s.areas.Recordings.CreateRecordingClip(ctx, request.Caller(ctx), r.ID, recording.ClipInput{
		Input: recording.Input{Name: orNil(r.Body.Name), Metadata: pairsOf(r.Body.Metadata)},
		From:  recording.Seconds(r.Body.FromSec), To: recording.Seconds(r.Body.ToSec),
	})
	if err != nil {
		return nil, err
	}
	return api.CreateRecordingClip201JSONResponse(toRecording(v)), nil
}

// toClipSource is null for a recording that isn't a clip.
func toClipSource(r db.Recording) nullable.Nullable[api.RecordingClipSource] {
	if r.ClipOf == nil {
		return nullable.NewNullNullable[api.RecordingClipSource]()
	}
	return nullable.NewNullableWithValue(api.RecordingClipSource{
		RecordingID: *r.ClipOf, FromSec: float64(*r.ClipFromMs) / 1000, ToSec: float64(*r.ClipToMs) / 1000,
	})
}
