package hls

import (
	"net/url"
	"strconv"
	"strings"
)

// fileKind is the kind of file that a path names.
type fileKind int

const (
	indexFile fileKind = iota
	mediaFile
	initFile
	segmentFile
	partFile
	thumbnailFile
)

// location is a parsed path.
type location struct {
	token string
	run   string
	// edition is the name of the source or a rendition.
	edition string
	kind    fileKind
	number  uint64 // of the init, segment or part
}

func (l location) playlist() bool { return l.kind == indexFile || l.kind == mediaFile }

// sourceEdition names the publisher's media without transcoding.
const sourceEdition = "source"

// maxToken bounds a playback token in bytes.
const maxToken = 1024

// thumbnailName is the file name of a stream's newest picture.
const thumbnailName = "thumbnail.jpg"

// parseLocation parses /live/{token}/index.m3u8, /live/{token}/thumbnail.jpg or /live/{token}/{run}/{edition}/{file}.
func parseLocation(path string) (l location, ok bool) {
	rest, ok := strings.CutPrefix(path, Prefix)
	if !ok {
		return l, false
	}
	l.token, rest, ok = strings.Cut(rest, "/")
	if !ok || l.token == "" || len(l.token) > maxToken {
		return l, false
	}
	switch rest {
	case "index.m3u8":
		return l, true
	case thumbnailName:
		l.kind = thumbnailFile
		return l, true
	}
	var file string
	l.run, file, ok = strings.Cut(rest, "/")
	if !ok || !isRun(l.run) {
		return l, false
	}
	l.edition, file, ok = strings.Cut(file, "/")
	if !ok || !isEdition(l.edition) {
		return l, false
	}
	if file == "live.m3u8" {
		l.kind = mediaFile
		return l, true
	}
	name, ok := strings.CutSuffix(file, ".mp4")
	if !ok {
		return l, false
	}
	digits, ok := strings.CutPrefix(name, "part")
	l.kind = partFile
	if !ok {
		digits, ok = strings.CutPrefix(name, "seg")
		l.kind = segmentFile
	}
	if !ok {
		digits, ok = strings.CutPrefix(name, "init")
		l.kind = initFile
	}
	if ok {
		l.number, ok = parseNumber(digits)
	}
	return l, ok
}

// isRun reports whether a string has the form of a run's name: only characters without a meaning
// in URLs, since an edge puts it into the URL of a request to another node.
func isRun(run string) bool {
	const longest = 32
	if run == "" || len(run) > longest {
		return false
	}
	for _, c := range []byte(run) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// isEdition reports whether a string has the form of an edition's name: source, or a number of lines such as 480p.
func isEdition(name string) bool {
	if name == sourceEdition {
		return true
	}
	lines, ok := strings.CutSuffix(name, "p")
	n, number := parseNumber(lines)
	return ok && number && n <= maxLines
}

// maxLines bounds the lines of a rendition.
const maxLines = 9999

// maxNumber bounds sequence numbers, far above those of any stream.
const maxNumber = 1 << 40

// parseNumber parses a decimal number without leading zeros, so that each file has one name.
func parseNumber(s string) (uint64, bool) {
	if s == "" || len(s) > 13 || (len(s) > 1 && s[0] == '0') {
		return 0, false
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(s, 10, 64)
	return n, err == nil && n < maxNumber
}

// reload is a parsed query of a media playlist.
type reload struct {
	blocking bool
	msn      uint64
	part     int // -1: the whole segment
	skip     bool
}

// maxParts bounds the index of a part in its segment, above that of any segment.
const maxParts = 1000

// parseReload parses _HLS_msn, _HLS_part and _HLS_skip. Other parameters are ignored.
func parseReload(values url.Values) (q reload, ok bool) {
	q.part = -1
	if v, there := values["_HLS_msn"]; there {
		q.blocking = true
		if q.msn, ok = parseNumber(v[0]); !ok {
			return q, false
		}
	}
	if v, there := values["_HLS_part"]; there {
		n, fine := parseNumber(v[0])
		if !fine || !q.blocking || n > maxParts {
			return q, false
		}
		q.part = int(n)
	}
	switch values.Get("_HLS_skip") {
	case "":
	case "YES", "v2": // v2 would also skip date ranges, of which there are none
		q.skip = true
	default:
		return q, false
	}
	return q, true
}
