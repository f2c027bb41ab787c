package stream

import (
	"context"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// PlaybackURL is a URL to watch a stream, valid until ExpiresAt.
type PlaybackURL struct {
	URL        string
	LowLatency bool
	ExpiresAt  time.Time
	// DVR is the URL of the current recording from its start; nil while the stream isn't recorded.
	DVR *string
	// Thumbnail is the URL of the newest picture.
	Thumbnail string
}

// CreatePlaybackURL signs a URL for one of the tenant's streams, on air or not.
func (s *Service) CreatePlaybackURL(ctx context.Context, c tenancy.Caller, streamID string, life time.Duration) (PlaybackURL, error) {
	v, err := s.GetStream(ctx, c, streamID)
	if err != nil {
		return PlaybackURL{}, err
	}
	expires := s.config.Now().Add(life).Truncate(time.Second)
	dvr, err := s.config.Recordings.DVRURL(ctx, c.TenantID, v.ID, expires)
	if err != nil {
		return PlaybackURL{}, err
	}
	token := s.config.Playback.SignPlayback(v.ID, expires)
	return PlaybackURL{
		URL:        s.playbackURL(token),
		Thumbnail:  s.thumbnailURL(token),
		LowLatency: v.Mode == LowLatency,
		ExpiresAt:  expires,
		DVR:        dvr,
	}, nil
}

// RoomPlayback returns the URLs at which participants of a stream's room play it, as RoomPlaybackURL does.
func (s *Service) RoomPlayback(ctx context.Context, st db.Stream) (PlaybackURL, error) {
	url, expires := s.RoomPlaybackURL(st.ID)
	dvr, err := s.config.Recordings.DVRURL(ctx, st.TenantID, st.ID, expires)
	if err != nil {
		return PlaybackURL{}, err
	}
	return PlaybackURL{
		URL: url, Thumbnail: s.thumbnailURL(s.config.Playback.SignPlayback(st.ID, expires)), LowLatency: st.Mode == LowLatency,
		ExpiresAt: expires, DVR: dvr,
	}, nil
}

// roomPlayback is the minimum life of a room's playback URL. For the same time all
// participants get the same URL, so that shared caches work.
const roomPlayback = 5 * time.Minute

// RoomPlaybackURL returns the URL at which participants of a stream's room play it
// by HLS, and when it expires: in 5 to 10 minutes. A removed participant can watch
// until then. It doesn't block, and doesn't check that the stream exists.
func (s *Service) RoomPlaybackURL(streamID string) (url string, expires time.Time) {
	expires = s.config.Now().Truncate(roomPlayback).Add(2 * roomPlayback)
	return s.playbackURL(s.config.Playback.SignRoomPlayback(streamID, expires)), expires
}

func (s *Service) thumbnailURL(token string) string {
	return s.config.PublicURL + "/live/" + token + "/thumbnail.jpg"
}

func (s *Service) playbackURL(token string) string {
	return s.config.PublicURL + "/live/" + token + "/index.m3u8"
}
