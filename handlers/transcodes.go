package handlers

import (
	"context"
	"time"

	"showfloor/gen/api"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/transcode"
)

// CreateTranscode adds a job that makes renditions of a recording.
func (s *Server) CreateTranscode(ctx context.Context, r api.CreateTranscodeRequestObject) (api.CreateTranscodeResponseObject, error) {
	in := transcode.Input{Container: transcode.MP4}
	if r.Body != nil {
		in.Container = string(valueOr(r.Body.Container, api.TranscodeContainerMP4))
		in.Renditions = each(r.Body.Renditions, fromRenditionInput)
	}
	v, err := s.areas.Transcodes.CreateTranscode(ctx, request.Caller(ctx), r.ID, in)
	if err != nil {
		return nil, err
	}
	return api.CreateTranscode201JSONResponse(toTranscode(v)), nil
}

// ListRecordingTranscodes lists the transcodes of a recording.
func (s *Server) ListRecordingTranscodes(
	ctx context.Context, r api.ListRecordingTranscodesRequestObject,
) (api.ListRecordingTranscodesResponseObject, error) {
	size := pageSize(r.Params.Limit)
	cursor, err := after(r.Params.Cursor, id.Transcode)
	if err != nil {
		return nil, err
	}
	views, err := s.areas.Transcodes.ListTranscodes(ctx, request.Caller(ctx), r.ID, cursor, size+1)
	if err != nil {
		return nil, err
	}
	views, link := page(ctx, s, views, size, func(v transcode.View) string { return v.ID })
	return api.ListRecordingTranscodes200JSONResponse{
		Body: each(views, toTranscode), Headers: api.ListRecordingTranscodes200ResponseHeaders{Link: link},
	}, nil
}

// GetTranscode returns a job.
func (s *Server) GetTranscode(ctx context.Context, r api.GetTranscodeRequestObject) (api.GetTranscodeResponseObject, error) {
	v, err := s.areas.Transcodes.GetTranscode(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.GetTranscode200JSONResponse(toTranscode(v)), nil
}

// CancelTranscode ends a job.
func (s *Server) CancelTranscode(ctx context.Context, r api.CancelTranscodeRequestObject) (api.CancelTranscodeResponseObject, error) {
	v, err := s.areas.Transcodes.CancelTranscode(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.CancelTranscode201JSONResponse(toTranscode(v)), nil
}

func fromRenditionInput(in api.RenditionInput) transcode.Rendition {
	r := transcode.Rendition{
		Name: valueOr(in.Name, ""), Height: in.Height, VideoCodec: string(valueOr(in.VideoCodec, api.RenditionVideoCodecH264)),
		VideoKbps: valueOr(in.VideoKbps, 0), AudioKbps: valueOr(in.AudioKbps, transcode.DefaultAudioKbps),
	}
	if in.Fps != nil {
		r.FPS = new(float64(*in.Fps))
	}
	return r
}

func toTranscode(v transcode.View) api.Transcode {
	return api.Transcode{
		ID: v.ID, RecordingID: v.RecordingID, Status: api.MediaJobStatus(v.Status), Progress: int(v.Progress),
		Container: api.TranscodeContainer(v.Container), Renditions: each(v.Renditions, toRendition), Outputs: each(v.Files, toTranscodeOutput),
		Error: orNull(v.Error), StartedAt: timeOrNull(v.StartedAt), FinishedAt: timeOrNull(v.FinishedAt),
		CreatedAt: timestamp.From(v.CreatedAt), UpdatedAt: timestamp.From(v.UpdatedAt),
	}
}

func toRendition(r transcode.Rendition) api.Rendition {
	out := api.Rendition{
		Name: r.Name, Height: r.Height, VideoCodec: api.RenditionVideoCodec(r.VideoCodec), VideoKbps: r.VideoKbps, AudioKbps: r.AudioKbps,
	}
	if r.FPS == nil {
		out.Fps.SetNull()
	} else {
		out.Fps.Set(float32(*r.FPS))
	}
	return out
}

func toTranscodeOutput(f transcode.File) api.TranscodeOutput {
	return api.TranscodeOutput{
		Name: f.Name, URL: f.URL, URLExpiresAt: timestamp.From(f.Expires), Width: f.Width, Height: f.Height,
		VideoCodec: api.RenditionVideoCodec(f.VideoCodec), VideoKbps: f.VideoKbps, AudioKbps: f.AudioKbps,
		DurationSec: float32(f.Duration.Seconds()), SizeBytes: f.Size,
	}
}

// ReportTranscode stores a report of an outside transcoder.
func (s *Server) ReportTranscode(ctx context.Context, r api.ReportTranscodeRequestObject) (api.ReportTranscodeResponseObject, error) {
	report := transcode.Report{Report: mediajob.Report{Status: string(r.Body.Status), Progress: r.Body.Progress, Error: r.Body.Error}}
	for _, o := range r.Body.Outputs {
		report.Files = append(report.Files, transcode.Reported{URL: o.URL, Output: transcode.Output{
			Name: o.Name, Width: o.Width, Height: o.Height, VideoKbps: valueOr(o.VideoKbps, 0), AudioKbps: valueOr(o.AudioKbps, 0),
			Duration: time.Duration(float64(o.DurationSec) * float64(time.Second)), Size: o.SizeBytes,
		}})
	}
	changed, err := s.areas.Transcodes.ReportTranscode(ctx, r.ID, report)
	if err != nil {
		return nil, err
	}
	return api.ReportTranscode201JSONResponse{Changed: changed}, nil
}
