// Package hub is the pivot of the media plane: one Stream in memory for each
// broadcast that is on air. Every input (RTMP, WebRTC) writes units to a
// Stream, every output (HLS, SFU, restream, recorder) reads from it, so that N
// inputs and M outputs need N + M adapters.
//
// The package knows nothing of routes, tenants or SQL: what it has to report,
// it reports through the callbacks of Config.
package hub

import (
	"strconv"
	"time"
)

// Codec names an elementary stream's coding, in the spelling that the API shows.
type Codec string

// The codecs that at least one output carries.
const (
	H264 Codec = "H264"
	H265 Codec = "H265"
	AAC  Codec = "AAC"
	Opus Codec = "OPUS"
)

// Video tells whether the codec codes pictures; otherwise it codes sound.
func (c Codec) Video() bool { return c == H264 || c == H265 }

// Track is the configuration of one elementary stream. It is immutable: an
// encoder that changes its settings produces units with a new *Track, and an
// output compares the pointer to notice.
type Track struct {
	Codec Codec

	// Parameter sets without start codes, H.264 and H.265 only (VPS: H.265).
	VPS, SPS, PPS []byte
	// Picture size in pixels, after cropping.
	Width, Height int
	// FrameRate in frames per second as the encoder declares it; 0 when it doesn't.
	FrameRate float64

	// AudioConfig is the MPEG-4 AudioSpecificConfig, AAC only.
	AudioConfig []byte
	// Converted marks sound that this server made of the publisher's own, which is in the
	// stream as well. A reader gets one of the two.
	Converted bool
	// SampleRate in Hz of the coded core (without SBR), and number of channels.
	SampleRate, Channels int
}

// qualityOf names the picture by its shorter side, such as 720p; empty for an unknown size.
func qualityOf(t *Track) string {
	lines := min(t.Width, t.Height)
	if lines <= 0 {
		return ""
	}
	return strconv.Itoa(lines) + "p"
}

// Unit is one access unit: a coded picture or one audio frame. It is shared by
// all readers, so neither it nor its Data may be changed after it was written.
type Unit struct {
	Track *Track
	// Epoch grows whenever the timeline breaks: another publisher took over, or
	// the encoder's clock jumped. Times of different epochs can't be compared.
	Epoch uint32
	// DTS and PTS count from an arbitrary origin of the epoch, which all tracks
	// share. DTS never falls within a track and an epoch.
	DTS, PTS time.Duration
	// Key marks a picture from which decoding can start; true for all audio.
	Key bool
	// Data is a sequence of NAL units, each behind its length in 4 bytes
	// (H.264, H.265), one raw AAC frame without ADTS, or one Opus packet.
	Data []byte
	// Arrived is when the last byte of the unit was received.
	Arrived time.Time
}

// Overhead is what a unit takes beside its Data, in bytes, wherever it waits:
// the unit itself, its place in a queue and what allocating rounds up. Without
// it a stranger's units of a byte each would cost a multiple of what is counted.
const Overhead = 200

// Size is the memory that the unit takes, in bytes. Bounds count by it.
func (u *Unit) Size() int { return len(u.Data) + Overhead }
