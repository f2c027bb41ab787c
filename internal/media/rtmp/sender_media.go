package rtmp

import (
	"encoding/binary"
	"fmt"

	"github.com/bluenviron/gortmplib/pkg/amf0"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"

	"showfloor/internal/media/hub"
)

// FourCCs of enhanced RTMP that a Sender can send, if the server announced them.
const (
	FourCCHEVC = "hvc1"
	FourCCOpus = "Opus"
)

// Codec ids of FLV 10.1 in onMetaData, and of frames of enhanced RTMP: there the FourCC is the id.
const (
	codecAVC = 7
	codecAAC = 10
)

// Metadata describes the stream to the server (@setDataFrame, onMetaData). Either track may be nil. The rates are in kbit/s; 0 if they
// are unknown.
func (s *Sender) Metadata(video, audio *hub.Track, videoKbps, audioKbps int) error {
	list := amf0.ECMAArray{{Key: "duration", Value: float64(0)}, {Key: "encoder", Value: "Showfloor"}}
	if video != nil {
		list = append(list,
			amf0.ObjectEntry{Key: "width", Value: float64(video.Width)},
			amf0.ObjectEntry{Key: "height", Value: float64(video.Height)},
			amf0.ObjectEntry{Key: "videocodecid", Value: codecID(video.Codec)},
			amf0.ObjectEntry{Key: "videodatarate", Value: float64(videoKbps)},
		)
		if video.FrameRate > 0 {
			list = append(list, amf0.ObjectEntry{Key: "framerate", Value: video.FrameRate})
		}
	}
	if audio != nil {
		list = append(list,
			amf0.ObjectEntry{Key: "audiocodecid", Value: codecID(audio.Codec)},
			amf0.ObjectEntry{Key: "audiodatarate", Value: float64(audioKbps)},
			amf0.ObjectEntry{Key: "audiosamplerate", Value: float64(audio.SampleRate)},
			amf0.ObjectEntry{Key: "audiosamplesize", Value: float64(16)},
			amf0.ObjectEntry{Key: "audiochannels", Value: float64(audio.Channels)},
			amf0.ObjectEntry{Key: "stereo", Value: audio.Channels > 1},
		)
	}
	body, err := amf0.Data{"@setDataFrame", "onMetaData", list}.Marshal()
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	const typeDataAMF0 = 18
	return s.gather(chunkStreamData, typeDataAMF0, 0, nil, body)
}

func codecID(c hub.Codec) float64 {
	fourCC := func(name string) float64 { return float64(binary.BigEndian.Uint32([]byte(name))) }
	switch c {
	case hub.H265:
		return fourCC(FourCCHEVC)
	case hub.Opus:
		return fourCC(FourCCOpus)
	case hub.AAC:
		return codecAAC
	}
	return codecAVC
}

// Header sends the sequence header of a track. at is in milliseconds.
func (s *Sender) Header(t *hub.Track, at uint32) error {
	switch t.Codec {
	case hub.H264:
		config, err := avcConfig(t)
		if err != nil {
			return err
		}
		return s.gather(chunkStreamVideo, typeVideo, at, []byte{1<<4 | codecAVC, 0, 0, 0, 0}, config)
	case hub.H265:
		config, err := hevcConfig(t)
		if err != nil {
			return err
		}
		return s.gather(chunkStreamVideo, typeVideo, at, enhanced(0x80|1<<4|exSequenceStart, FourCCHEVC), config)
	case hub.AAC:
		return s.gather(chunkStreamAudio, typeAudio, at, []byte{aacTag, 0}, t.AudioConfig)
	case hub.Opus:
		return s.gather(chunkStreamAudio, typeAudio, at, enhanced(opusTag|exSequenceStart, FourCCOpus), opusConfig(t))
	}
	return fmt.Errorf("no sequence header for %s", t.Codec)
}

// First bytes of audio messages: AAC (FLV 10.1, E.4.2.1: 44 kHz, 16 bits and stereo for all AAC), and enhanced RTMP.
const (
	aacTag  = 10<<4 | 3<<2 | 1<<1 | 1
	opusTag = 9 << 4
)

// Unit adds a unit, unchanged, to those that Flush sends. at is its decoding time and offset its composition time offset, in milliseconds.
func (s *Sender) Unit(u *hub.Unit, at uint32, offset int32) error {
	frame := byte(2 << 4)
	if u.Key {
		frame = 1 << 4
	}
	switch u.Track.Codec {
	case hub.H264:
		return s.gather(chunkStreamVideo, typeVideo, at, []byte{frame | codecAVC, 1, byte(offset >> 16), byte(offset >> 8), byte(offset)}, u.Data)
	case hub.H265:
		return s.gather(chunkStreamVideo, typeVideo, at, append24(enhanced(0x80|frame|exCodedFrames, FourCCHEVC), uint32(offset)), u.Data)
	case hub.AAC:
		return s.gather(chunkStreamAudio, typeAudio, at, []byte{aacTag, 1}, u.Data)
	case hub.Opus:
		return s.gather(chunkStreamAudio, typeAudio, at, enhanced(opusTag|exCodedFrames, FourCCOpus), u.Data)
	}
	return fmt.Errorf("no message for %s", u.Track.Codec)
}

// enhanced returns the head of a message of enhanced RTMP: its first byte and the FourCC.
func enhanced(first byte, fourCC string) []byte {
	return append(append(make([]byte, 0, 8), first), fourCC...)
}

// avcConfig returns the AVCDecoderConfigurationRecord of a track (ISO 14496-15, 5.3.3.1).
func avcConfig(t *hub.Track) ([]byte, error) {
	var sps h264.SPS
	if err := sps.Unmarshal(t.SPS); err != nil {
		return nil, fmt.Errorf("H.264 parameter set: %w", err)
	}
	b := []byte{1, t.SPS[1], t.SPS[2], t.SPS[3], 0xFC | 3, 0xE0 | 1}
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(t.SPS))), t.SPS...)
	b = append(b, 1)
	b = append(binary.BigEndian.AppendUint16(b, uint16(len(t.PPS))), t.PPS...)
	switch sps.ProfileIdc {
	case 100, 110, 122, 144:
		b = append(b, 0xFC|byte(sps.ChromaFormatIdc), 0xF8|byte(sps.BitDepthLumaMinus8), 0xF8|byte(sps.BitDepthChromaMinus8), 0)
	}
	return b, nil
}

// hevcConfig returns the HEVCDecoderConfigurationRecord of a track (ISO 14496-15, 8.3.3.1).
func hevcConfig(t *hub.Track) ([]byte, error) {
	var sps h265.SPS
	if err := sps.Unmarshal(t.SPS); err != nil {
		return nil, fmt.Errorf("H.265 parameter set: %w", err)
	}
	plain := h264.EmulationPreventionRemove(t.SPS)
	const general = 3 // profile, compatibility, constraints and level: 12 bytes behind the NAL unit's header and one byte
	if len(plain) < general+12 {
		return nil, errShortConfig
	}
	b := append([]byte{1}, plain[general:general+12]...)
	b = append(b, 0xF0, 0, 0xFC, 0xFC|byte(sps.ChromaFormatIdc), 0xF8|byte(sps.BitDepthLumaMinus8), 0xF8|byte(sps.BitDepthChromaMinus8), 0, 0)
	b = append(b, 1<<3|3, 3) // one temporal layer, lengths of four bytes; three arrays
	for _, x := range []struct {
		kind h265.NALUType
		set  []byte
	}{{h265.NALUType_VPS_NUT, t.VPS}, {h265.NALUType_SPS_NUT, t.SPS}, {h265.NALUType_PPS_NUT, t.PPS}} {
		b = append(b, 0x80|byte(x.kind), 0, 1)
		b = append(binary.BigEndian.AppendUint16(b, uint16(len(x.set))), x.set...)
	}
	return b, nil
}

// opusConfig returns the identification header of an Opus track (RFC 7845, section 5.1).
func opusConfig(t *hub.Track) []byte {
	b := append([]byte("OpusHead"), 1, byte(t.Channels), 0, 0)
	b = binary.LittleEndian.AppendUint32(b, uint32(t.SampleRate))
	return append(b, 0, 0, 0)
}
