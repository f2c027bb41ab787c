package playtoken

import (
	"strings"

	"showfloor/internal/base/id"
)

// ResourceOf returns the id of the stream or recording that a playback path names in its token: /live/{token}/… or
// /vod/{token}/…. It returns an empty string for any other path. The token's signature isn't checked, so the result only says what a
// request asked for. A query is ignored.
func ResourceOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	kind := id.Stream
	rest, ok := strings.CutPrefix(path, "/live/")
	if !ok {
		kind = id.Recording
		if rest, ok = strings.CutPrefix(path, "/vod/"); !ok {
			return ""
		}
	}
	text, _, ok := strings.Cut(rest, "/")
	if !ok {
		return ""
	}
	b := decode(text)
	if b == nil {
		return ""
	}
	switch b[1] {
	case kindPlayback, kindRoom:
		ok = kind == id.Stream
	case kindRecording:
		ok = kind == id.Recording
	default:
		ok = false
	}
	resourceID := string(b[header : len(b)-macSize])
	if !ok || !kind.Matches(resourceID) {
		return ""
	}
	return resourceID
}
