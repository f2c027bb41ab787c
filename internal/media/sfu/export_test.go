package sfu

import (
	"fmt"

	"github.com/pion/webrtc/v4"

	"showfloor/internal/media/sfu/forward"
)

// RenewPlayback checks the expiry of the playback URLs in a room, as the server does every 15 s.
func (s *Server) RenewPlayback(roomID string) {
	done := make(chan struct{})
	r := s.room(roomID)
	r.box.post(func() {
		defer close(done)
		r.ticks -= r.ticks % renewEvery
		r.renewPlayback()
	})
	<-done
}

// Fill adds n tracks of the server's own to a room, half of them audio and half video, and returns
// them.
func (s *Server) Fill(roomID string, n int) []*forward.Track {
	var list []*forward.Track
	var all []*track
	for i := range n {
		t := &track{
			id: newTrackID(), source: sourceMicrophone, kind: kindAudio, userID: fmt.Sprintf("u%d", i/2),
			codec: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2},
		}
		kind := forward.Audio
		if i%2 == 1 {
			t.source, t.kind, kind = sourceCamera, kindVideo, forward.Video
			t.codec = webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
		}
		t.fwd = forward.NewTrack(forward.TrackConfig{
			ID: t.id, Kind: kind, MimeType: t.codec.MimeType, ClockRate: t.codec.ClockRate, RequestKeyFrame: func(int) {},
		})
		all, list = append(all, t), append(list, t.fwd)
	}
	done := make(chan struct{})
	r := s.room(roomID)
	r.box.post(func() {
		for _, t := range all {
			r.add(t)
		}
		close(done)
	})
	<-done
	return list
}
