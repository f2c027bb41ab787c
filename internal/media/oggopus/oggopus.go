// Package oggopus writes Opus frames as an Ogg stream without gaps (RFC 7845).
package oggopus

import (
	"encoding/binary"
	"io"
)

const (
	// Rate is the sample rate of all times, in samples per second.
	Rate = 48_000
	// FrameLength is the length of a frame of silence, in samples.
	FrameLength = Rate / 50
	// Lookahead is the delay of Opus encoders, in samples (RFC 7845, 4.2).
	Lookahead = 312
	// Silence is 20 ms of silence for two channels: a CELT frame (RFC 6716, 3.1) with the silence flag (4.3).
	Silence = "\xFC\xFF\xFE"
)

// Writer writes one stream of two channels. Each frame has a page of its own.
type Writer struct {
	out io.Writer
	ogg ogg
	// written is the time up to which there is sound, in samples.
	written int64
}

// NewWriter writes the headers. Errors of out are lost: it keeps its first one, as a bufio.Writer does.
func NewWriter(out io.Writer) *Writer {
	w := &Writer{out: out, ogg: newOgg(), written: Lookahead}
	// RFC 7845, 5: version 1, two channels, no pre-skip, the rate, no gain, mapping family 0; a comment header without comments.
	head := binary.LittleEndian.AppendUint32([]byte("OpusHead\x01\x02\x00\x00"), Rate)
	w.page(append(head, 0, 0, 0), 0)
	w.page([]byte("OpusTags\x00\x00\x00\x00\x00\x00\x00\x00"), 0)
	return w
}

func (w *Writer) page(packet []byte, granule int64) { _, _ = w.out.Write(w.ogg.page(packet, granule)) }

// Written is the time up to which there is sound, in samples; Lookahead at the beginning.
func (w *Writer) Written() int64 { return w.written }

// Frame appends a frame of n samples, as Samples returns them.
func (w *Writer) Frame(frame []byte, n int64) {
	w.written += n
	w.page(frame, w.written-Lookahead)
}

// Fill appends silence until less than tolerance samples are missing to a time.
func (w *Writer) Fill(to, tolerance int64) {
	for to-w.written >= tolerance {
		w.Frame([]byte(Silence), FrameLength)
	}
}
