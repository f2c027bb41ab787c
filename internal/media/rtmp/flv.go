package rtmp

import (
	"errors"
	"fmt"

	"showfloor/internal/media/hub"
)

// tagKind is the kind of data in an audio or video message.
type tagKind byte

const (
	tagIgnored tagKind = iota // an end of sequence, metadata, another track
	tagConfig                 // a sequence header
	tagFrame
)

// tag is a parsed body of an audio or video message. data is a slice of the body.
type tag struct {
	kind  tagKind
	codec hub.Codec
	key   bool  // video: as marked by the encoder
	cts   int32 // video: composition time offset in milliseconds
	data  []byte
}

// unsupportedError is a codec that no output supports.
type unsupportedError struct{ name string }

func (e *unsupportedError) Error() string {
	return e.name + " can't be carried: send H.264 or H.265 video with AAC or Opus audio"
}

var errShortTag = errors.New("truncated audio or video message")

// Packet types of enhanced RTMP v2. Audio and video have the same ones, except for multitrack
// and for frames without composition time.
const (
	exSequenceStart = 0
	exCodedFrames   = 1
	exCodedFramesX  = 3 // video only
	exModEx         = 7

	exMultitrackAudio = 5
	exMultitrackVideo = 6
)

// parseVideo parses a video message (FLV 10.1, E.4.3, and enhanced RTMP).
func parseVideo(body []byte) (tag, error) {
	if len(body) == 0 {
		return tag{}, nil
	}
	frameType := body[0] >> 4 & 7
	if frameType == 5 {
		return tag{}, nil // a command for players, without a picture
	}
	t := tag{key: frameType == 1}
	if body[0]&0x80 != 0 {
		return parseEnhanced(t, body[0]&0x0F, body[1:], exMultitrackVideo)
	}
	switch id := body[0] & 0x0F; id {
	case 7:
		t.codec = hub.H264
	case 12: // not standardized, but used before enhanced RTMP
		t.codec = hub.H265
	default:
		return tag{}, &unsupportedError{legacyVideoName(id)}
	}
	if len(body) < 5 {
		return tag{}, errShortTag
	}
	switch body[1] {
	case 0:
		t.kind = tagConfig
	case 1:
		t.kind = tagFrame
	}
	t.cts, t.data = int24(body[2:]), body[5:]
	return t, nil
}

// parseAudio parses an audio message (FLV 10.1, E.4.2, and enhanced RTMP).
func parseAudio(body []byte) (tag, error) {
	if len(body) == 0 {
		return tag{}, nil
	}
	switch id := body[0] >> 4; id {
	case 9:
		return parseEnhanced(tag{key: true}, body[0]&0x0F, body[1:], exMultitrackAudio)
	case 10:
	default:
		return tag{}, &unsupportedError{legacyAudioName(id)}
	}
	if len(body) < 2 {
		return tag{}, errShortTag
	}
	t := tag{codec: hub.AAC, key: true, data: body[2:]}
	switch body[1] {
	case 0:
		t.kind = tagConfig
	case 1:
		t.kind = tagFrame
	}
	return t, nil
}

// parseEnhanced parses the rest of an enhanced message after its first byte.
func parseEnhanced(t tag, packet byte, b []byte, multitrack byte) (tag, error) {
	packet, b, err := skipModifiers(packet, b)
	if err != nil {
		return tag{}, err
	}
	if packet == multitrack {
		return parseMultitrack(t, b)
	}
	if len(b) < 4 {
		return tag{}, errShortTag
	}
	if t.codec, err = codecByFourCC(string(b[:4])); err != nil {
		return tag{}, err
	}
	return parsePacket(t, packet, b[4:])
}

// skipModifiers skips ModEx prefixes, such as nanosecond offsets.
func skipModifiers(packet byte, b []byte) (byte, []byte, error) {
	for packet == exModEx {
		if len(b) < 1 {
			return 0, nil, errShortTag
		}
		size := int(b[0]) + 1
		b = b[1:]
		if size == 256 {
			if len(b) < 2 {
				return 0, nil, errShortTag
			}
			size = int(b[0])<<8 + int(b[1]) + 1
			b = b[2:]
		}
		if len(b) < size+1 {
			return 0, nil, errShortTag
		}
		packet, b = b[size]&0x0F, b[size+1:]
	}
	return packet, b, nil
}

// parseMultitrack parses track 0 and ignores the others: a stream has one video track and one
// audio track.
func parseMultitrack(t tag, b []byte) (tag, error) {
	if len(b) < 1 {
		return tag{}, errShortTag
	}
	layout, packet := b[0]>>4, b[0]&0x0F
	b = b[1:]
	var fourCC string
	next := func(n int) []byte {
		if len(b) < n {
			return nil
		}
		head := b[:n]
		b = b[n:]
		return head
	}
	if layout != 2 {
		fourCC = string(next(4))
	}
	for len(b) > 0 {
		if layout == 2 {
			fourCC = string(next(4))
		}
		id := next(1)
		size := len(b)
		if layout != 0 {
			head := next(3)
			if head == nil {
				return tag{}, errShortTag
			}
			size = int(uint24(head))
		}
		data := next(size)
		if id == nil || data == nil || len(fourCC) < 4 {
			return tag{}, errShortTag
		}
		if id[0] == 0 {
			var err error
			if t.codec, err = codecByFourCC(fourCC); err != nil {
				return tag{}, err
			}
			return parsePacket(t, packet, data)
		}
	}
	return tag{}, nil
}

func parsePacket(t tag, packet byte, b []byte) (tag, error) {
	video := t.codec.Video()
	switch {
	case packet == exSequenceStart:
		t.kind = tagConfig
	case packet == exCodedFrames && video:
		if len(b) < 3 {
			return tag{}, errShortTag
		}
		t.kind, t.cts = tagFrame, int24(b)
		b = b[3:]
	case packet == exCodedFrames, packet == exCodedFramesX && video:
		t.kind = tagFrame
	}
	t.data = b
	return t, nil
}

func codecByFourCC(fourCC string) (hub.Codec, error) {
	switch fourCC {
	case "avc1":
		return hub.H264, nil
	case "hvc1":
		return hub.H265, nil
	case "mp4a":
		return hub.AAC, nil
	case "Opus":
		return hub.Opus, nil
	}
	names := map[string]string{
		"av01": "AV1", "vp09": "VP9", "vp08": "VP8", "vvc1": "H.266",
		".mp3": "MP3", "ac-3": "AC-3", "ec-3": "E-AC-3", "fLaC": "FLAC",
	}
	if name, ok := names[fourCC]; ok {
		return "", &unsupportedError{name}
	}
	return "", &unsupportedError{fmt.Sprintf("codec %q", fourCC)}
}

func legacyVideoName(id byte) string {
	names := map[byte]string{
		1: "JPEG", 2: "Sorenson H.263", 3: "Screen video", 4: "VP6", 5: "VP6 with alpha",
		6: "Screen video 2", 8: "H.263", 9: "MPEG-4 Part 2", 13: "AV1",
	}
	if name, ok := names[id]; ok {
		return name
	}
	return fmt.Sprintf("FLV video codec %d", id)
}

func legacyAudioName(id byte) string {
	names := map[byte]string{
		0: "PCM", 1: "ADPCM", 2: "MP3", 3: "PCM", 4: "Nellymoser 16 kHz", 5: "Nellymoser 8 kHz",
		6: "Nellymoser", 7: "G.711 A-law", 8: "G.711 mu-law", 11: "Speex", 13: "Opus without enhanced RTMP",
		14: "MP3 8 kHz",
	}
	if name, ok := names[id]; ok {
		return name
	}
	return fmt.Sprintf("FLV audio codec %d", id)
}

// int24 reads a signed number of three bytes.
func int24(b []byte) int32 { return int32(uint24(b)<<8) >> 8 }
