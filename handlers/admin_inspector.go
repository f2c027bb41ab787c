package handlers

import (
	"context"
	"math"
	"time"

	"github.com/oapi-codegen/nullable"

	"showfloor/gen/api"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/streams/stream"
)

// ListAdminStreamInspections lists the state of the streams on air.
func (s *Server) ListAdminStreamInspections(
	ctx context.Context, r api.ListAdminStreamInspectionsRequestObject,
) (api.ListAdminStreamInspectionsResponseObject, error) {
	page, err := pageOf(r.Params.Page, r.Params.PageSize)
	if err != nil {
		return nil, err
	}
	views, total, err := s.areas.Streams.ListAdminLiveStreams(ctx, nil, skipOf(page), int32(page.Size))
	if err != nil {
		return nil, err
	}
	return api.ListAdminStreamInspections200JSONResponse{
		Items: each(views, toInspectionRow), Page: page.Number, PageSize: page.Size, Total: int(total),
	}, nil
}

// GetAdminStreamInspection returns a stream's measurements.
func (s *Server) GetAdminStreamInspection(
	ctx context.Context, r api.GetAdminStreamInspectionRequestObject,
) (api.GetAdminStreamInspectionResponseObject, error) {
	v, err := s.areas.Console.GetAdminStreamInspection(ctx, r.StreamID)
	if err != nil {
		return nil, err
	}
	return api.GetAdminStreamInspection200JSONResponse{
		At: timestamp.From(v.At), Stream: s.toAdminStream(v.AdminView), Publisher: toStreamPublisher(v.Publisher),
		Tracks: each(v.Tracks, toInspectedTrack), KeyFrames: toKeyFrameStats(v.KeyFrames), Timing: toTimingStats(v.Timing),
		Outputs: each(v.Outputs, toInspectedOutput), HealthHistory: each(v.History, toStreamHealthPoint),
	}, nil
}

func toInspectionRow(v stream.AdminView) api.StreamInspectionRow {
	row := api.StreamInspectionRow{
		StreamID: v.ID, TenantID: v.TenantID, TenantName: v.TenantName, Name: v.Name, Status: api.StreamStatus(v.Status),
		Health: toStreamHealth(v.Health), ViewerCount: v.Viewers, StartedAt: timeOrNull(v.StartedAt),
		Source: nullable.NewNullNullable[api.StreamPublisherSource](), Node: nullable.NewNullNullable[string](),
	}
	if p := v.Publisher; p != nil {
		row.Source, row.Node = nullable.NewNullableWithValue(toPublisherSource(p.Source)), nullable.NewNullableWithValue(p.Node)
	}
	return row
}

func toInspectedTrack(t stream.InspectedTrack) api.InspectedTrack {
	out := api.InspectedTrack{
		Kind: api.InspectedTrackKindAUDIO, Codec: t.Codec, CodecString: t.CodecString, BitrateKbps: t.Kbps,
		Fps: nullable.NewNullNullable[float32](), Width: nullable.NewNullNullable[int](), Height: nullable.NewNullNullable[int](),
		BFrames: nullable.NewNullNullable[bool](), SampleRateHz: nullable.NewNullNullable[int](), Channels: nullable.NewNullNullable[int](),
		Units: int64(t.Units), LastUnitAt: timestamp.From(t.LastUnitAt),
	}
	if !t.Video {
		out.SampleRateHz, out.Channels = nullable.NewNullableWithValue(t.SampleRate), nullable.NewNullableWithValue(t.Channels)
		return out
	}
	out.Kind = api.InspectedTrackKindVIDEO
	out.Fps, out.BFrames = nullable.NewNullableWithValue(tenths(t.FPS)), nullable.NewNullableWithValue(t.BFrames)
	out.Width, out.Height = nullable.NewNullableWithValue(t.Width), nullable.NewNullableWithValue(t.Height)
	return out
}

func toKeyFrameStats(k *stream.KeyFrames) nullable.Nullable[api.KeyFrameStats] {
	if k == nil {
		return nullable.NewNullNullable[api.KeyFrameStats]()
	}
	seconds := func(d time.Duration) float32 { return float32(max(d, 0).Round(time.Millisecond).Seconds()) }
	return nullable.NewNullableWithValue(api.KeyFrameStats{
		AverageSec: seconds(k.Average), MinimumSec: seconds(k.Minimum), MaximumSec: seconds(k.Maximum), LastAt: timestamp.From(k.LastAt),
	})
}

func toTimingStats(t *stream.Timing) nullable.Nullable[api.TimingStats] {
	if t == nil {
		return nullable.NewNullNullable[api.TimingStats]()
	}
	return nullable.NewNullableWithValue(api.TimingStats{
		AvOffsetMs: int(t.Offset.Milliseconds()), DriftMs: int(t.Drift.Milliseconds()), Jumps: t.Jumps,
		ArrivalJitterMs: tenths(float64(t.Jitter) / float64(time.Millisecond)),
	})
}

func toInspectedOutput(o stream.InspectedOutput) api.InspectedOutput {
	return api.InspectedOutput{
		Kind: api.InspectedOutputKind(o.Kind), Name: textOrNull(o.Name), Readers: o.Readers, BitrateKbps: o.Kbps, DroppedUnits: int64(o.Dropped),
	}
}

func toStreamHealthPoint(p stream.HealthPoint) api.StreamHealthPoint {
	return api.StreamHealthPoint{
		At: timestamp.From(p.At), State: api.StreamHealthState(p.State), VideoKbps: int(p.VideoKbps), AudioKbps: int(p.AudioKbps),
		Fps: tenths(p.Fps), ViewerCount: int(p.Viewers),
	}
}

// tenths rounds to one decimal.
func tenths(n float64) float32 { return float32(math.Round(n*10) / 10) }
