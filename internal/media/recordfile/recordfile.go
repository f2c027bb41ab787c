// Package recordfile names the files of recordings, in the storage and in playlists.
package recordfile

import (
	"slices"
	"strconv"
	"strings"
)

// Track is the letter of a track in file names.
type Track byte

// The tracks of a segment.
const (
	Video Track = 'v'
	Audio Track = 'a'
)

// Folder is the prefix of the keys of a recording's files, without a slash at the end.
func Folder(recordingID string) string { return "recordings/" + recordingID }

// Key is the key of a recording's file in the storage.
func Key(recordingID, name string) string { return Folder(recordingID) + "/" + name }

// Names of the playlist in playback URLs, and of the files that are made of a recording.
const (
	Index      = "index.m3u8"
	Poster     = "poster.jpg"
	Storyboard = "storyboard.vtt"
	MP4        = "video.mp4"
)

// Sheet is the name of sheet n of the storyboard, from 1.
func Sheet(n int) string { return "storyboard-" + strconv.Itoa(n) + ".jpg" }

// SeparateTrack is the name of the file with the sound of one participant in a part of a session's recording, such as
// 1-track2-KEY.m4a. Both numbers are from 1. key is the recording's secret of letters and digits: the name
// can't be guessed from the video's URL.
func SeparateTrack(part, number int, key string) string {
	return strconv.Itoa(part) + "-" + trackPrefix + strconv.Itoa(number) + "-" + key + trackExtension
}

// TextFolder is the folder of a version of a text track.
func TextFolder(version string) string { return textFolder + version }

// Text is the name of the file of a version of a text track for a part of the recording, from 1.
func Text(version string, part int) string {
	return TextFolder(version) + "/" + strconv.Itoa(part) + TextExtension
}

// TranscodeFolder is the folder of the files that a transcode has made.
func TranscodeFolder(transcodeID string) string { return transcodeFolder + transcodeID }

// Transcode is the name of a file that a transcode has made; extension is MP4Extension or TSExtension.
func Transcode(transcodeID, rendition, extension string) string {
	return TranscodeFolder(transcodeID) + "/" + rendition + extension
}

// PackageFolder is the folder of the files of a package.
func PackageFolder(packageID string) string { return packageFolder + packageID }

// Package is the name of a file of a package.
func Package(packageID, file string) string { return PackageFolder(packageID) + "/" + file }

// Extensions of the files of transcodes and packages.
const (
	MP4Extension  = ".mp4"
	TSExtension   = ".ts"
	HLSExtension  = ".m3u8"
	DASHExtension = ".mpd"
	TextExtension = ".vtt"
	// SegmentExtension is that of segments which outside packagers make.
	SegmentExtension = ".m4s"
)

const (
	transcodeFolder = "transcodes/"
	packageFolder   = "packages/"
)

const (
	textFolder = "text/"

	trackPrefix    = "track"
	trackExtension = ".m4a"
)

// InitOfTake is the name within its take of a track of an initialization section, such as init1-v.mp4.
func InitOfTake(number int, of Track) string { return string(appendInit(nil, number, of)) }

// SegmentOfTake is the name within its take of a track of a segment, such as 1-v.m4s.
func SegmentOfTake(number int, of Track) string { return string(appendSegment(nil, number, of)) }

// OfTake is the name in the recording of a file with a name within a take.
func OfTake(take int, name string) string { return strconv.Itoa(take) + "-" + name }

// Init is the name of a track of an initialization section in the recording, such as 1-init1-v.mp4.
func Init(take, number int, of Track) string { return string(AppendInit(nil, take, number, of)) }

// Segment is the name of a track of a segment in the recording, such as 1-1-v.m4s.
func Segment(take, number int, of Track) string { return string(AppendSegment(nil, take, number, of)) }

// AppendInit appends what Init returns.
func AppendInit(b []byte, take, number int, of Track) []byte {
	return appendInit(append(strconv.AppendInt(b, int64(take), 10), '-'), number, of)
}

// AppendSegment appends what Segment returns.
func AppendSegment(b []byte, take, number int, of Track) []byte {
	return appendSegment(append(strconv.AppendInt(b, int64(take), 10), '-'), number, of)
}

func appendInit(b []byte, number int, of Track) []byte {
	b = strconv.AppendInt(append(b, "init"...), int64(number), 10)
	return append(b, '-', byte(of), '.', 'm', 'p', '4')
}

func appendSegment(b []byte, number int, of Track) []byte {
	b = strconv.AppendInt(b, int64(number), 10)
	return append(b, '-', byte(of), '.', 'm', '4', 's')
}

// IsMedia reports whether a name has the form that Init or Segment returns.
func IsMedia(name string) bool {
	take, rest, ok := strings.Cut(name, "-")
	if !ok || !isNumber(take) {
		return false
	}
	number, track, ok := strings.Cut(rest, "-")
	if !ok {
		return false
	}
	extension := ".m4s"
	if digits, init := strings.CutPrefix(number, "init"); init {
		number, extension = digits, ".mp4"
	}
	return isNumber(number) && (track == string(Video)+extension || track == string(Audio)+extension)
}

// IsAsset reports whether a name is one of a file that is made of a recording.
func IsAsset(name string) bool {
	switch name {
	case Poster, Storyboard, MP4:
		return true
	}
	if part, rest, ok := strings.Cut(name, "-"+trackPrefix); ok {
		number, key, _ := strings.Cut(rest, "-")
		key, ok := strings.CutSuffix(key, trackExtension)
		return ok && isNumber(part) && isNumber(number) && isAlphanumeric(key)
	}
	digits, ok := strings.CutPrefix(name, "storyboard-")
	if !ok {
		return false
	}
	digits, ok = strings.CutSuffix(digits, ".jpg")
	return ok && isNumber(digits)
}

// IsTranscode reports whether a name has the form that Transcode returns.
func IsTranscode(name string) bool {
	return isInFolder(name, transcodeFolder, MP4Extension, TSExtension)
}

// IsPackage reports whether a name is that of a file that packages may have.
func IsPackage(name string) bool {
	return IsManifest(name) || isInFolder(name, packageFolder, MP4Extension, SegmentExtension, TextExtension)
}

// IsManifest reports whether a name is that of a playlist or manifest of a package.
func IsManifest(name string) bool {
	return isInFolder(name, packageFolder, HLSExtension, DASHExtension)
}

// TextPlaylist is the name of the playlist of a recording's text track.
func TextPlaylist(language string) string { return "text-" + language + HLSExtension }

// isInFolder reports whether a name is <folder><word>/<word><extension>.
func isInFolder(name, folder string, extensions ...string) bool {
	name, ok := strings.CutPrefix(name, folder)
	if !ok {
		return false
	}
	id, name, ok := strings.Cut(name, "/")
	if !ok || !isWord(id) {
		return false
	}
	base, extension, ok := strings.Cut(name, ".")
	return ok && isWord(base) && slices.Contains(extensions, "."+extension)
}

// isWord reports whether a text has only letters, digits, "_" and "-", and begins with a letter or digit.
func isWord(s string) bool {
	return s != "" && s[0] != '_' && s[0] != '-' && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '_' && c != '-'
	})
}

// IsText reports whether a name has the form that Text returns.
func IsText(name string) bool {
	name, ok := strings.CutPrefix(name, textFolder)
	if !ok {
		return false
	}
	version, number, ok := strings.Cut(name, "/")
	if !ok || version == "" || strings.ContainsFunc(version, func(c rune) bool {
		return (c < '0' || c > '9') && (c < 'a' || c > 'z') && c != '_'
	}) {
		return false
	}
	number, ok = strings.CutSuffix(number, TextExtension)
	return ok && isNumber(number)
}

// isNumber reports whether a text is a decimal number from 1 without leading zeros, so that each file has one name.
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

func isAlphanumeric(text string) bool {
	return text != "" && !strings.ContainsFunc(text, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}
