package stream

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
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
		URL:        s.config.PublicURL + "/live/" + s.playbackToken(v.ID, expires) + "/index.m3u8",
		LowLatency: v.Mode == LowLatency,
		ExpiresAt:  expires,
	}, nil
}

const (
	// tokenMAC is the length of a playback token's code: 128 bits.
	tokenMAC = 16
	// tokenExpiry is the length of its expiry, seconds since 1970.
	tokenExpiry = 8
)

// errBadPlaybackToken says no more than that to whoever tries tokens.
var errBadPlaybackToken = errors.New("this playback URL is not valid")

// playbackToken is base64url of stream id, expiry and code: it stands in the
// path, so that everything a playlist names inherits it.
func (s *Service) playbackToken(streamID string, expires time.Time) string {
	b := binary.BigEndian.AppendUint64([]byte(streamID), uint64(expires.Unix()))
	return base64.RawURLEncoding.EncodeToString(append(b, s.tokenCode(b)...))
}

// CheckPlaybackToken tells which stream a token opens, and until when. An
// expired token is still named with its expiry, so that the caller can say so.
func (s *Service) CheckPlaybackToken(token string) (streamID string, expires time.Time, err error) {
	b, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(b) <= tokenExpiry+tokenMAC {
		return "", time.Time{}, errBadPlaybackToken
	}
	signed, code := b[:len(b)-tokenMAC], b[len(b)-tokenMAC:]
	if !hmac.Equal(code, s.tokenCode(signed)) {
		return "", time.Time{}, errBadPlaybackToken
	}
	cut := len(signed) - tokenExpiry
	return string(signed[:cut]), time.Unix(int64(binary.BigEndian.Uint64(signed[cut:])), 0).UTC(), nil
}

func (s *Service) tokenCode(signed []byte) []byte {
	m := hmac.New(sha256.New, s.config.PlaybackKey)
	m.Write(signed)
	return m.Sum(nil)[:tokenMAC]
}
