package handlers

import (
	"context"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/rooms/session"
	"showfloor/internal/streams/recording"
)

// StartSessionRecording begins to record a session.
func (s *Server) StartSessionRecording(
	ctx context.Context, r api.StartSessionRecordingRequestObject,
) (api.StartSessionRecordingResponseObject, error) {
	in := session.RecordingInput{Layout: string(api.SessionRecordingLayoutComposite)}
	if r.Body != nil {
		in.Metadata = pairsOf(r.Body.Metadata)
		if r.Body.Layout != nil {
			in.Layout = string(*r.Body.Layout)
		}
		in.SeparateTracks = r.Body.SeparateTracks != nil && *r.Body.SeparateTracks
	}
	row, err := s.areas.Sessions.StartRecording(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	v, err := s.sessionRecording(ctx, row)
	return api.StartSessionRecording201JSONResponse(v), err
}

// StopSessionRecording stops recording a session.
func (s *Server) StopSessionRecording(
	ctx context.Context, r api.StopSessionRecordingRequestObject,
) (api.StopSessionRecordingResponseObject, error) {
	row, err := s.areas.Sessions.StopRecording(ctx, request.Caller(ctx), r.ID, r.RecID)
	if err != nil {
		return nil, err
	}
	v, err := s.sessionRecording(ctx, row)
	return api.StopSessionRecording201JSONResponse(v), err
}

// ListSessionRecordings lists the recordings of one session.
func (s *Server) ListSessionRecordings(
	ctx context.Context, r api.ListSessionRecordingsRequestObject,
) (api.ListSessionRecordingsResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Recording)
	if err != nil {
		return nil, err
	}
	c := request.Caller(ctx)
	if err := s.areas.Sessions.CheckExists(ctx, c, r.ID); err != nil {
		return nil, err
	}
	views, err := s.areas.Recordings.ListSessionRecordings(ctx, c, r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v recording.View) string { return v.ID })
	return api.ListSessionRecordings200JSONResponse{
		Body:    each(views, func(v recording.View) api.SessionRecording { return toSessionRecording(v, true) }),
		Headers: api.ListSessionRecordings200ResponseHeaders{Link: link},
	}, nil
}

// sessionRecording converts a recording for the caller of a request.
func (s *Server) sessionRecording(ctx context.Context, row db.Recording) (api.SessionRecording, error) {
	v, err := s.areas.Recordings.SessionView(ctx, row)
	if err != nil {
		return api.SessionRecording{}, err
	}
	return toSessionRecording(v, request.Caller(ctx).Participant == nil), nil
}

// toSessionRecording converts a recording of a session; participants don't see its metadata.
func toSessionRecording(v recording.View, withMetadata bool) api.SessionRecording {
	out := api.SessionRecording{
		ID: v.ID, SessionID: *v.SessionID, State: api.SessionRecordingState(session.RecordingState(v.Status)),
		Layout: api.SessionRecordingLayout(*v.Layout), SeparateTracks: v.SeparateTracks, Tracks: toTracks(v.Tracks),
		PlaybackURL: orNull(v.URL), DurationSec: toSeconds(v.DurationMs),
		SizeBytes: orNull(v.SizeBytes), Error: orNull(v.Error), IncompleteReason: orNull(incompleteReason(v.Recording)),
		StartedAt: timestamp.From(v.StartedAt), StoppedAt: timeOrNull(v.EndedAt),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
	if withMetadata {
		out.Metadata = new(toMetadata(v.Metadata))
	}
	return out
}

// toTracks converts the tracks of a recording; nil becomes null.
func toTracks(list []recording.TrackURL) nullable.Nullable[[]api.SessionRecordingTrack] {
	if list == nil {
		return nullable.NewNullNullable[[]api.SessionRecordingTrack]()
	}
	return nullable.NewNullableWithValue(each(list, func(t recording.TrackURL) api.SessionRecordingTrack {
		return api.SessionRecordingTrack{
			UserID: t.UserID, Name: orNull(t.Name), URL: t.URL, URLExpiresAt: timestamp.From(t.ExpiresAt),
			StartSec: t.Start.Seconds(), DurationSec: t.Length.Seconds(), SizeBytes: t.Bytes,
		}
	}))
}
