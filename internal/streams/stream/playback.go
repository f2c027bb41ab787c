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
	return s.playback(ctx, v.Stream, s.config.Now().Add(life).Truncate(time.Second))
}

// ShowPlayback returns the URLs at which the viewers of a show play its stream. All viewers get the same ones, which expire in 5 to 10
// minutes. In contrast to RoomPlaybackURL, a viewer who watches then can continue to the end of the broadcast.
func (s *Service) ShowPlayback(ctx context.Context, st db.Stream) (PlaybackURL, error) {
	return s.playback(ctx, st, s.sharedExpiry())
}

// sharedExpiry is when the URLs expire that all participants of a room get now.
func (s *Service) sharedExpiry() time.Time {
	return s.config.Now().Truncate(roomPlayback).Add(2 * roomPlayback)
}

// playback signs the URLs of a stream.
func (s *Service) playback(ctx context.Context, st db.Stream, expires time.Time) (PlaybackURL, error) {
	dvr, err := s.config.Recordings.DVRURL(ctx, st.TenantID, st.ID, expires)
	if err != nil {
		return PlaybackURL{}, err
	}
	token := s.config.Playback.SignPlayback(st.ID, expires)
	return PlaybackURL{
		URL: s.playbackURL(token), Thumbnail: s.pictureURL(token), LowLatency: st.Mode == LowLatency,
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
	expires = s.sharedExpiry()
	return s.playbackURL(s.config.Playback.SignRoomPlayback(streamID, expires)), expires
}

// AdminPictureURL returns the URL of the newest picture of a stream, for the platform's admins; nil off air. It expires in 5 to 10
// minutes, and all of them get the same one meanwhile. It opens no video, so that an admin is not a viewer.
func (s *Service) AdminPictureURL(st db.Stream) *string {
	if !onAir(st) {
		return nil
	}
	return new(s.pictureURL(s.config.Playback.SignPicture(st.ID, s.sharedExpiry())))
}

func (s *Service) pictureURL(token string) string {
	return s.config.PublicURL + "/live/" + token + "/thumbnail.jpg"
}

func (s *Service) playbackURL(token string) string {
	return s.config.PublicURL + "/live/" + token + "/index.m3u8"
}
