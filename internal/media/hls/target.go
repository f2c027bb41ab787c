package hls

import (
	"net/url"
	"strconv"
	"strings"
)

// fileKind says what a path names.
type fileKind int

const (
	indexFile fileKind = iota
	mediaFile
	initFile
	segmentFile
	partFile
)

// target is a parsed path.
type target struct {
	token  string
	run    string
	kind   fileKind
	number uint64 // of the init, segment or part
}

func (t target) playlist() bool { return t.kind == indexFile || t.kind == mediaFile }

// maxToken bounds a playback token in bytes.
const maxToken = 1024

// parseTarget reads /live/{token}/index.m3u8 or /live/{token}/{run}/{file}.
func parseTarget(path string) (t target, ok bool) {
	rest, ok := strings.CutPrefix(path, Prefix)
	if !ok {
		return t, false
	}
	t.token, rest, ok = strings.Cut(rest, "/")
	if !ok || t.token == "" || len(t.token) > maxToken {
		return t, false
	}
	if rest == "index.m3u8" {
		return t, true
	}
	var file string
	t.run, file, ok = strings.Cut(rest, "/")
	if !ok || t.run == "" {
		return t, false
	}
	if file == "live.m3u8" {
		t.kind = mediaFile
		return t, true
	}
	name, ok := strings.CutSuffix(file, ".mp4")
	if !ok {
		return t, false
	}
	digits, ok := strings.CutPrefix(name, "part")
	t.kind = partFile
	if !ok {
		digits, ok = strings.CutPrefix(name, "seg")
		t.kind = segmentFile
	}
	if !ok {
		digits, ok = strings.CutPrefix(name, "init")
		t.kind = initFile
	}
	if ok {
		t.number, ok = parseNumber(digits)
	}
	return t, ok
}

// maxNumber bounds sequence numbers, far beyond what a stream reaches.
const maxNumber = 1 << 40

// parseNumber reads a decimal number as we write it: one name for one file.
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
	viewer   string // "": none, or not one of ours
}

// parseReload reads _HLS_msn, _HLS_part, _HLS_skip and viewer. Other
// parameters are ignored.
func parseReload(query string) (q reload, ok bool) {
	q.part = -1
	values, err := url.ParseQuery(query)
	if err != nil {
		return q, false
	}
	if v, there := values["_HLS_msn"]; there {
		q.blocking = true
		if q.msn, ok = parseNumber(v[0]); !ok {
			return q, false
		}
	}
	if v, there := values["_HLS_part"]; there {
		n, fine := parseNumber(v[0])
		if !fine || !q.blocking || n > 1<<20 {
			return q, false
		}
		q.part = int(n)
	}
	switch values.Get("_HLS_skip") {
	case "":
	case "YES", "v2": // v2 would leave date ranges out, too; there are none
		q.skip = true
	default:
		return q, false
	}
	if id := values.Get("viewer"); validViewerID(id) {
		q.viewer = id
	}
	return q, true
}
