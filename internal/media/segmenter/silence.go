package segmenter

import (
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"

	"showfloor/internal/media/hub"
)

// silence is one coded frame of silence for an audio track.
type silence struct {
	data   []byte
	length int64 // in the track's time scale
}

// Silence returns one coded frame of silence for a track's decoder, and its duration.
func Silence(t *hub.Track) (frame []byte, duration time.Duration) {
	s := silenceOf(t)
	return s.data, span(s.length, AudioRate(t))
}

// silenceOf returns silence for the track's decoder. describe must accept t.
func silenceOf(t *hub.Track) silence {
	if t.Codec == hub.Opus {
		return opusSilence(t.Channels)
	}
	var c mpeg4audio.AudioSpecificConfig
	_ = c.Unmarshal(t.AudioConfig) // describe has parsed it
	return silence{data: aacSilence(c.ChannelConfig), length: audioFrame(t, nil)}
}

// opusSilence is a CELT frame of 20 ms (RFC 6716, 3.1: configuration 31) that begins
// with the silence flag (4.3).
func opusSilence(channels int) silence {
	toc := byte(31 << 3)
	if channels == 2 {
		toc |= 1 << 2
	}
	return silence{data: []byte{toc, 0xFF, 0xFE}, length: opusRate / 50}
}

// comfortNoise is an Opus packet without a frame (RFC 6716, 3.2.1): the decoder continues with
// the background noise that it has learnt. It fills the pauses of an encoder with DTX, which
// sends almost nothing during silence: digital silence between its updates would make the
// background pump.
func comfortNoise(last []byte) silence {
	data := []byte{last[0] &^ 3} // one frame
	return silence{data: data, length: audioFrame(&hub.Track{Codec: hub.Opus}, data)}
}

// isDTX reports whether an Opus packet only announces a pause.
func isDTX(packet []byte) bool { return len(packet) <= 2 }

// Syntactic elements of AAC, ISO/IEC 14496-3, Table 4.85.
const (
	aacSCE = 0 // a channel
	aacCPE = 1 // a pair of channels
	aacLFE = 3
	aacEnd = 7
)

// aacLayout returns the elements of a channel configuration (ISO/IEC 14496-3, Table 1.19).
func aacLayout(channelConfig uint8) []byte {
	switch channelConfig {
	case 1:
		return []byte{aacSCE}
	case 2:
		return []byte{aacCPE}
	case 3:
		return []byte{aacSCE, aacCPE}
	case 4:
		return []byte{aacSCE, aacCPE, aacSCE}
	case 5:
		return []byte{aacSCE, aacCPE, aacCPE}
	case 6:
		return []byte{aacSCE, aacCPE, aacCPE, aacLFE}
	default: // 7
		return []byte{aacSCE, aacCPE, aacCPE, aacCPE, aacLFE}
	}
}

// aacSilence is a raw_data_block (ISO/IEC 14496-3, 4.4.2.1) whose channels have no spectrum: a
// long block with max_sfb 0. It is valid for frames of 1024 and 960 samples, and with SBR and PS,
// whose decoders continue without their side information.
func aacSilence(channelConfig uint8) []byte {
	var w bitWriter
	var tags [8]uint64
	for _, element := range aacLayout(channelConfig) {
		w.bits(uint64(element), 3)
		w.bits(tags[element], 4)
		tags[element]++
		if element == aacCPE {
			w.bits(1, 1) // common_window
			aacWindow(&w)
			w.bits(0, 2) // ms_mask_present
			aacChannel(&w, false)
			aacChannel(&w, false)
			continue
		}
		aacChannel(&w, true)
	}
	w.bits(aacEnd, 3)
	return w.buf
}

// aacWindow writes ics_info: reserved bit, ONLY_LONG_SEQUENCE, sine window, max_sfb 0,
// no prediction.
func aacWindow(w *bitWriter) { w.bits(0, 1+2+1+6+1) }

// aacChannel writes an individual_channel_stream: global_gain, ics_info unless the
// pair shares it, and no pulses, noise shaping or gain control.
func aacChannel(w *bitWriter, window bool) {
	w.bits(0, 8)
	if window {
		aacWindow(w)
	}
	w.bits(0, 3)
}
