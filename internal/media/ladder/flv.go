package ladder

import (
	"encoding/binary"

	"showfloor/internal/media/hub"
)

// FLV tags of video (FLV 10.1, E.4). The names and numbers are those of the specification.
const (
	tagVideo      = 9
	keyFrame      = 1 << 4
	interFrame    = 2 << 4
	codecAVC      = 7
	avcHeader     = 0
	avcPicture    = 1
	tagHeaderSize = 11
	videoHeader   = 5
)

// flvStart is the beginning of a file with a track of H.264: its header and the decoder's configuration, with a time in
// milliseconds.
func flvStart(t *hub.Track, at int64) []byte {
	b := []byte{'F', 'L', 'V', 1, 1, 0, 0, 0, 9, 0, 0, 0, 0}
	// AVCDecoderConfigurationRecord, ISO/IEC 14496-15, 5.3.3.1: NAL units have lengths of four bytes.
	config := []byte{1, t.SPS[1], t.SPS[2], t.SPS[3], 0xFC | 3, 0xE0 | 1}
	config = append(binary.BigEndian.AppendUint16(config, uint16(len(t.SPS))), t.SPS...)
	config = append(config, 1)
	config = append(binary.BigEndian.AppendUint16(config, uint16(len(t.PPS))), t.PPS...)
	return appendTag(b, keyFrame|codecAVC, avcHeader, at, 0, config)
}

// appendPicture appends a picture that is decoded and shown at times in milliseconds.
func appendPicture(b []byte, u *hub.Unit, decoded, shown int64) []byte {
	kind := byte(interFrame)
	if u.Key {
		kind = keyFrame
	}
	return appendTag(b, kind|codecAVC, avcPicture, decoded, shown-decoded, u.Data)
}

func appendTag(b []byte, kind, packet byte, at, offset int64, data []byte) []byte {
	size := videoHeader + len(data)
	b = append(b, tagVideo)
	b = append24(b, size)
	b = append24(b, int(at&0xFFFFFF))
	b = append(b, byte(at>>24), 0, 0, 0, kind, packet)
	b = append24(b, int(offset&0xFFFFFF))
	b = append(b, data...)
	return binary.BigEndian.AppendUint32(b, uint32(tagHeaderSize+size))
}

func append24(b []byte, n int) []byte { return append(b, byte(n>>16), byte(n>>8), byte(n)) }
