package restream

import (
	"slices"
	"strings"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

// Preset is a platform whose address is the same for all its users, so that a stream key is enough for a target.
type Preset struct {
	// Platform is the target's platform, and Name its name for people.
	Platform, Name string
	// Address is the address before the stream key, without a slash at the end.
	Address string
}

// Presets returns the known platforms by name. The addresses are those of the platforms' own documentation for encoders. Platforms that
// give each user an address (Instagram, Kick, TikTok, X) can't have one.
func Presets() []Preset {
	return []Preset{
		{"facebook", "Facebook", "rtmps://live-api-s.facebook.com:443/rtmp"},
		{"trovo", "Trovo", "rtmp://livepush.trovo.live/live"},
		{"twitch", "Twitch", "rtmps://ingest.global-contribute.live-video.net:443/app"},
		{"youtube", "YouTube", "rtmps://a.rtmps.youtube.com:443/live2"},
	}
}

// HasPresetServer reports whether a target's address is that of its platform's preset and a stream key. It is false for a deleted target
// and for an address that can't be decrypted.
func (s *Service) HasPresetServer(t db.RestreamTarget) bool {
	if t.Address == nil {
		return false
	}
	address, err := s.config.Box.Open(t.Address, sealContext(t.ID))
	return err == nil && isPresetAddress(t.Platform, string(address))
}

// isPresetAddress reports whether an address is the address of the platform's preset, a slash and a stream key.
func isPresetAddress(platform, address string) bool {
	return slices.ContainsFunc(Presets(), func(p Preset) bool {
		key, ok := strings.CutPrefix(address, p.Address+"/")
		return ok && key != "" && p.Platform == platform
	})
}

// addressOf returns the whole address for a stream key on a platform.
func addressOf(platform, streamKey string) (string, error) {
	var known []string
	for _, p := range Presets() {
		if p.Platform == platform {
			return p.Address + "/" + streamKey, nil
		}
		known = append(known, p.Platform)
	}
	return "", problem.BadField("platform", "must be one of %s with a streamKey; write the whole address into rtmpUrl for any other platform",
		strings.Join(known, ", "))
}
