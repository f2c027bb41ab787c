package vod

import (
	"net/url"
	"strconv"
	"strings"
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
	playlistFile fileKind = iota
	mediaFile             // an init or a segment: its content never changes
	assetFile             // made of the media: pictures, one MP4
)

// location is a parsed path.
type location struct {
	token, recordingID string
	file               string
	kind               fileKind
}

// key is the file's key in the storage.
func (l location) key() string { return "recordings/" + l.recordingID + "/" + l.file }

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

// Names of playlists.
const (
	indexName    = "index.m3u8"
	videoName    = "video.m3u8"
	audioName    = "audio.m3u8"
	dvrVideoName = "dvr-video.m3u8"
	dvrAudioName = "dvr-audio.m3u8"
)

func parseFile(name string) (fileKind, bool) {
	switch name {
	case indexName, videoName, audioName, dvrVideoName, dvrAudioName:
		return playlistFile, true
	case "video.mp4", "poster.jpg", "storyboard.vtt":
		return assetFile, true
	}
	if _, ok := textLanguage(name); ok {
		return playlistFile, true
	}
	if isTextName(name) {
		return mediaFile, true
	}
	if digits, ok := strings.CutPrefix(name, "storyboard-"); ok {
		digits, ok = strings.CutSuffix(digits, ".jpg")
		return assetFile, ok && isNumber(digits)
	}
	take, rest, ok := strings.Cut(name, "-")
	if !ok || !isNumber(take) {
		return 0, false
	}
	number, track, ok := strings.Cut(rest, "-")
	if !ok {
		return 0, false
	}
	extension := ".m4s"
	if digits, init := strings.CutPrefix(number, "init"); init {
		number, extension = digits, ".mp4"
	}
	return mediaFile, isNumber(number) && (track == "v"+extension || track == "a"+extension)
}

// isNumber reports whether a text is a decimal number from 1 without leading zeros, so that each
// file has one name.
func isNumber(s string) bool {
	const longest = 10
	if s == "" || len(s) > longest || s[0] == '0' {
		return false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return true
}

// InitName is the name of an initialization section's file.
func InitName(take, number int, video bool) string {
	return string(appendInitName(nil, take, number, trackOf(video)))
}

// SegmentName is the name of a segment's file.
func SegmentName(take, number int, video bool) string {
	return string(appendSegmentName(nil, take, number, trackOf(video)))
}

func trackOf(video bool) track {
	if video {
		return videoTrack
	}
	return audioTrack
}

// track is the letter of a rendition in file names.
type track byte

const (
	videoTrack track = 'v'
	audioTrack track = 'a'
)

func appendInitName(b []byte, take, number int, of track) []byte {
	b = strconv.AppendInt(b, int64(take), 10)
	b = append(b, "-init"...)
	b = strconv.AppendInt(b, int64(number), 10)
	return append(b, '-', byte(of), '.', 'm', 'p', '4')
}

func appendSegmentName(b []byte, take, number int, of track) []byte {
	b = strconv.AppendInt(b, int64(take), 10)
	b = append(b, '-')
	b = strconv.AppendInt(b, int64(number), 10)
	return append(b, '-', byte(of), '.', 'm', '4', 's')
}
