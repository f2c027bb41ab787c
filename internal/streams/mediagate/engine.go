package mediagate

import (
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/stream"
)

// Engine implements stream.Engine with the hub.
type Engine struct{ Hub *hub.Hub }

var _ stream.Engine = Engine{}

// Media implements stream.Engine.
func (e Engine) Media(streamID string) (stream.Media, bool) {
	s, ok := e.Hub.Stream(streamID)
	if !ok {
		return stream.Media{}, false
	}
	st := s.Stats()
	return stream.Media{
		VideoKbps: st.VideoKbps, AudioKbps: st.AudioKbps, FPS: st.FPS, Width: st.Width, Height: st.Height,
		VideoCodec: string(st.VideoCodec), AudioCodec: string(st.AudioCodec), Viewers: st.Viewers,
		BFrames: st.BFrames, KeyInterval: st.KeyInterval, Ladder: string(st.Ladder),
	}, true
}

// Inspect implements stream.Engine.
func (e Engine) Inspect(streamID string) (stream.Inspection, bool) {
	s, ok := e.Hub.Stream(streamID)
	if !ok {
		return stream.Inspection{}, false
	}
	return inspectionOf(s.Inspect()), true
}

// Viewers implements stream.Engine.
func (e Engine) Viewers(tenantID string) int { return e.Hub.Viewers(tenantID) }

// Seal implements stream.Engine.
func (e Engine) Seal(streamID string) { e.Hub.Stop(streamID, hub.ErrStopped) }

// Withdraw implements stream.Engine.
func (e Engine) Withdraw(streamID string) { e.Hub.Stop(streamID, hub.ErrWithdrawn) }
