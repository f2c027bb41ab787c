package blob

import (
	"fmt"
	"path"
	"strings"
)

// MaxKey is the greatest length of a key in bytes. With the longest prefix it stays below the 1024 bytes of S3.
const MaxKey = 512

// maxPart is the greatest length of a part in bytes: the limit of names in most file systems.
const maxPart = 255

// CheckKey returns ErrKey unless the key consists of parts with slashes between, such as "recordings/rec_1/init.mp4". A
// part has 1 to 255 of the characters A–Z, a–z, 0–9, ".", "_" and "-", and doesn't begin with a dot.
func CheckKey(key string) error {
	if key == "" || len(key) > MaxKey {
		return fmt.Errorf("%w: it must have 1 to %d bytes", ErrKey, MaxKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "" || len(part) > maxPart || part[0] == '.' || strings.ContainsFunc(part, notInKeys) {
			return fmt.Errorf("%w %q", ErrKey, key)
		}
	}
	return nil
}

func notInKeys(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-'
}

// ContentType returns the media type of a file by its key's extension, application/octet-stream for others. Both
// storages use it, so the type doesn't depend on the machine's table or on what the bucket's owner has set.
func ContentType(key string) string {
	switch path.Ext(key) {
	case ".mp4", ".m4v", ".m4s":
		return "video/mp4"
	case ".m4a":
		return "audio/mp4"
	case ".m3u8":
		return "application/vnd.apple.mpegurl"
	case ".mpd":
		return "application/dash+xml"
	case ".vtt":
		return "text/vtt; charset=utf-8"
	case ".jpg", ".jpeg":
		return "image/jpeg"
	case ".png":
		return "image/png"
	case ".webp":
		return "image/webp"
	case ".json":
		return "application/json"
	case ".txt":
		return "text/plain; charset=utf-8"
	case ".ts":
		return "video/mp2t"
	case ".flv":
		return "video/x-flv"
	case ".webm":
		return "video/webm"
	default:
		return "application/octet-stream"
	}
}
