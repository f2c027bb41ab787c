package mediagate

import (
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
	"showfloor/internal/streams/stream"
)

// inspectionOf converts the hub's measurements.
func inspectionOf(i hub.Inspection) stream.Inspection {
	out := stream.Inspection{Tracks: tracksOf(i), Outputs: make([]stream.InspectedOutput, len(i.Outputs))}
	if k := i.KeyFrames; k != nil {
		out.KeyFrames = &stream.KeyFrames{Average: k.Average, Minimum: k.Minimum, Maximum: k.Maximum, LastAt: k.LastAt}
	}
	if t := i.Timing; t != nil {
		out.Timing = &stream.Timing{Offset: t.Offset, Drift: t.Drift, Jumps: t.Jumps, Jitter: t.Jitter}
	}
	for n, o := range i.Outputs {
		out.Outputs[n] = stream.InspectedOutput{Kind: string(o.Kind), Name: o.Name, Readers: o.Readers, Kbps: o.Kbps, Dropped: o.Dropped}
	}
	return out
}

func tracksOf(i hub.Inspection) []stream.InspectedTrack {
	list := []stream.InspectedTrack{}
	if t := i.Video; t != nil {
		list = append(list, stream.InspectedTrack{
			Video: true, Codec: string(t.Codec), CodecString: segmenter.CodecName(t), Kbps: i.VideoKbps, FPS: i.FPS,
			Width: t.Width, Height: t.Height, BFrames: i.BFrames, Units: i.VideoUnits, LastUnitAt: i.VideoAt,
		})
	}
	if t := i.Audio; t != nil {
		list = append(list, stream.InspectedTrack{
			Codec: string(t.Codec), CodecString: segmenter.CodecName(t), Kbps: i.AudioKbps,
			SampleRate: t.SampleRate, Channels: t.Channels, Units: i.AudioUnits, LastUnitAt: i.AudioAt,
		})
	}
	return list
}
