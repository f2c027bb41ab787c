package vod

import (
	"net/url"
	"strings"

	"showfloor/internal/media/recordfile"
)

// Prefix is the beginning of the server's paths.
const Prefix = "/vod/"

// maxToken bounds a playback token in bytes, and maxID a recording's id.
const (
	maxToken = 1024
	maxID    = 64
)

// fileKind is the kind of file that a path names.
type fileKind int

const (
	playlistFile fileKind = iota // a playlist or chaptersName
	mediaFile                    // an init, a segment, a text or a rendition: its content never changes
	assetFile                    // made of the media: pictures, one MP4
	manifestFile                 // a playlist or manifest of a package: its content never changes
)

// location is a parsed path.
type location struct {
	token, recordingID string
	file               string
	kind               fileKind
}

// key is the file's key in the storage.
func (l location) key() string { return recordfile.Key(l.recordingID, l.file) }

// parseLocation parses /vod/{token}/{recordingId}/{file}. Each file has one path: a path with
// percent-encoded characters is wrong, since no name needs them.
func parseLocation(u *url.URL) (l location, ok bool) {
	if u.RawPath != "" {
		return l, false
	}
	rest, ok := strings.CutPrefix(u.Path, Prefix)
	if !ok {
		return l, false
	}
	l.token, rest, ok = strings.Cut(rest, "/")
	if !ok || l.token == "" || len(l.token) > maxToken {
		return l, false
	}
	l.recordingID, l.file, ok = strings.Cut(rest, "/")
	if !ok || !isID(l.recordingID) {
		return l, false
	}
	l.kind, ok = parseFile(l.file)
	return l, ok
}

// isID reports whether a text has the form of an id: only characters without a meaning in paths.
func isID(id string) bool {
	if id == "" || len(id) > maxID {
		return false
	}
	for _, c := range []byte(id) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// Names of playlists, and of the list of chapters, which is served as they are.
const (
	indexName    = recordfile.Index
	chaptersName = "chapters.json"
	videoName    = "video.m3u8"
	audioName    = "audio.m3u8"
	dvrVideoName = "dvr-video.m3u8"
	dvrAudioName = "dvr-audio.m3u8"
)

func parseFile(name string) (fileKind, bool) {
	switch name {
	case indexName, chaptersName, videoName, audioName, dvrVideoName, dvrAudioName:
		return playlistFile, true
	}
	switch {
	case recordfile.IsAsset(name):
		return assetFile, true
	case recordfile.IsMedia(name):
		return mediaFile, true
	}
	if _, ok := textLanguage(name); ok {
		return playlistFile, true
	}
	if recordfile.IsText(name) || recordfile.IsTranscode(name) {
		return mediaFile, true
	}
	if recordfile.IsPackage(name) {
		if recordfile.IsManifest(name) {
			return manifestFile, true
		}
		return mediaFile, true
	}
	return 0, false
}
