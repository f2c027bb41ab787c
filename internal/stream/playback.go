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
		URL:        s.config.PublicURL + "/live/" + s.config.Playback.SignPlayback(v.ID, expires) + "/index.m3u8",
		LowLatency: v.Mode == LowLatency,
		ExpiresAt:  expires,
	}, nil
}
