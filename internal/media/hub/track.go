// Package hub connects the inputs and outputs of media: it has one Stream in memory for each
// broadcast on air. Every input (RTMP, WebRTC) writes units to a Stream, every output (HLS,
// SFU, restream, recorder) reads from it, so that N inputs and M outputs need N + M adapters.
//
// The package knows no routes, tenants or SQL. It reports through the callbacks of Config.
package hub

import (
	"strconv"
	"time"
)

// Codec is the name of an elementary stream's codec, as the API spells it.
type Codec string

// The codecs that at least one output supports.
const (
	H264 Codec = "H264"
	H265 Codec = "H265"
	AAC  Codec = "AAC"
	Opus Codec = "OPUS"
)

// Video reports whether it is a video codec; otherwise it is an audio codec.
func (c Codec) Video() bool { return c == H264 || c == H265 }

// Track is the configuration of one elementary stream. It is immutable: after a change of an
// encoder's settings, units have a new *Track, and outputs compare the pointer.
type Track struct {
	Codec Codec

	// Parameter sets without start codes, H.264 and H.265 only (VPS: H.265).
	VPS, SPS, PPS []byte
	// Picture size in pixels, after cropping.
	Width, Height int
	// FrameRate in frames per second, as declared by the encoder; 0 if it isn't.
	FrameRate float64

	// Rendition is the name of the rendition whose pictures these are; empty for the publisher's own.
	Rendition string

	// AudioConfig is the MPEG-4 AudioSpecificConfig, AAC only.
	AudioConfig []byte
	// Converted marks audio that this server converted from the publisher's own, which is in
	// the stream as well. A reader gets one of the two.
	Converted bool
	// SampleRate in Hz of the coded core (without SBR), and number of channels.
	SampleRate, Channels int
}

// qualityOf names a picture size by its shorter side, such as 720p; empty for an unknown size.
func qualityOf(t *Track) string {
	lines := min(t.Width, t.Height)
	if lines <= 0 {
		return ""
	}
	return strconv.Itoa(lines) + "p"
}

// Unit is one access unit: a coded picture or one audio frame. All readers share it, so neither
// the unit nor its Data may be changed after Write.
type Unit struct {
	Track *Track
	// Epoch increases whenever the timeline breaks: another publisher took over, or the
	// encoder's clock jumped. Times of different epochs aren't comparable.
	Epoch uint32
	// DTS and PTS count from an arbitrary origin of the epoch, which all tracks share. DTS
	// never decreases within a track and an epoch.
	DTS, PTS time.Duration
	// Key marks a picture from which decoding can start; true for all audio.
	Key bool
	// Data is a sequence of NAL units, each after its length in 4 bytes (H.264, H.265), one raw
	// AAC frame without ADTS, or one Opus packet. The empty unit of a rendition ends its pictures up to the next key picture.
	Data []byte
	// Arrived is when the input received the last byte of the unit. An input that leaves data unread, see
	// Publisher.Idle, sets the time at which it read that byte.
	Arrived time.Time
}

// Overhead is the memory that a queued unit uses beside its Data, in bytes: the unit itself,
// its entry in a queue, and the rounding of allocations. Without it, a publisher that sends
// units of one byte would use many times the memory that is counted for it.
const Overhead = 200

// Size is the memory that the unit uses, in bytes, for comparison with bounds.
func (u *Unit) Size() int { return len(u.Data) + Overhead }
