package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/recording"
)

// ListRecordingTextTracks lists the text tracks of a recording.
func (s *Server) ListRecordingTextTracks(
	ctx context.Context, r api.ListRecordingTextTracksRequestObject,
) (api.ListRecordingTextTracksResponseObject, error) {
	list, err := s.areas.Recordings.ListRecordingTextTracks(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.ListRecordingTextTracks200JSONResponse(each(list, toTextTrack)), nil
}

// PutRecordingTextTrack adds or replaces a text track of a recording.
func (s *Server) PutRecordingTextTrack(
	ctx context.Context, r api.PutRecordingTextTrackRequestObject,
) (api.PutRecordingTextTrackResponseObject, error) {
	in := recording.TextInput{Language: r.Language, Name: r.Body.Name, Kind: recording.Subtitles, Content: r.Body.Content}
	if r.Body.Kind != nil {
		in.Kind = string(*r.Body.Kind)
	}
	t, err := s.areas.Recordings.PutRecordingTextTrack(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	return api.PutRecordingTextTrack200JSONResponse(toTextTrack(t)), nil
}

// DeleteRecordingTextTrack deletes a text track of a recording.
func (s *Server) DeleteRecordingTextTrack(
	ctx context.Context, r api.DeleteRecordingTextTrackRequestObject,
) (api.DeleteRecordingTextTrackResponseObject, error) {
	t, err := s.areas.Recordings.DeleteRecordingTextTrack(ctx, request.Caller(ctx), r.ID, r.Language)
	if err != nil {
		return nil, err
	}
	return api.DeleteRecordingTextTrack200JSONResponse(toTextTrack(t)), nil
}

func toTextTrack(t recording.TextTrack) api.RecordingTextTrack {
	return api.RecordingTextTrack{
		Language: t.Language, Name: t.Name, Kind: api.TextTrackKind(t.Kind), CueCount: int(t.Cues), SizeBytes: t.SizeBytes,
		CreatedAt: timestamp.From(t.CreatedAt), UpdatedAt: timestamp.From(t.UpdatedAt),
	}
}
