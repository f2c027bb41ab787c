package stream

import (
	"context"
	"time"

	"showfloor/internal/account"
)

// PlaybackURL is where a stream can be watched until ExpiresAt.
type PlaybackURL struct {
	URL        string
	LowLatency bool
	ExpiresAt  time.Time
}

// CreatePlaybackURL signs a URL for one of the tenant's streams, on air or not.
func (s *Service) CreatePlaybackURL(ctx context.Context, c account.Caller, streamID string, life time.Duration) (PlaybackURL, error) {
	v, err := s.GetStream(ctx, c, streamID)
	if err != nil {
		return PlaybackURL{}, err
	}
	expires := s.config.Now().Add(life).Truncate(time.Second)
	return PlaybackURL{
		URL:        s.playbackURL(v.ID, expires),
		LowLatency: v.Mode == LowLatency,
		ExpiresAt:  expires,
	}, nil
}

// roomPlayback is how long at least a participant of a stream's room may use a playback
// URL. All participants get the same URL for as long, so that caches work.
const roomPlayback = 30 * time.Minute

// RoomPlaybackURL is where participants of a stream's room play it by HLS, and until when:
// 30 to 60 minutes from now. It neither blocks nor looks whether there is such a stream.
func (s *Service) RoomPlaybackURL(streamID string) (url string, expires time.Time) {
	expires = s.config.Now().Truncate(roomPlayback).Add(2 * roomPlayback)
	return s.playbackURL(streamID, expires), expires
}

func (s *Service) playbackURL(streamID string, expires time.Time) string {
	return s.config.PublicURL + "/live/" + s.config.Playback.SignPlayback(streamID, expires) + "/index.m3u8"
}
