package segmenter

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h265"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/fmp4/seekablebuffer"
	"github.com/bluenviron/mediacommon/v2/pkg/formats/mp4/codecs"

	"showfloor/internal/media/hub"
)

// Track ids in the files, and time scales in Hz.
const (
	VideoTrackID = 1
	AudioTrackID = 2
	VideoRate    = 90000
	opusRate     = 48000
)

// Configuration is a set of tracks with one initialization section. A part can only be decoded with
// the configuration of its segment.
type Configuration struct {
	ID           int
	Video, Audio *hub.Track // Video is nil without video
	Init         []byte
	// Codecs are the codecs by RFC 6381, separated by commas, video first.
	Codecs string
}

func newConfiguration(id int, video, audio *hub.Track) (*Configuration, error) {
	c := &Configuration{ID: id, Video: video, Audio: audio}
	var err error
	if c.Init, err = c.section(video, audio); err != nil {
		return nil, err
	}
	var names []string
	for _, t := range []*hub.Track{video, audio} {
		if t != nil {
			_, name, _ := describe(t) // section has described it without an error
			names = append(names, name)
		}
	}
	c.Codecs = strings.Join(names, ",")
	return c, nil
}

// VideoInit returns an initialization section for the video track alone; nil without video.
func (c *Configuration) VideoInit() ([]byte, error) {
	if c.Video == nil {
		return nil, nil
	}
	return c.section(c.Video)
}

// AudioInit returns an initialization section for the audio track alone.
func (c *Configuration) AudioInit() ([]byte, error) { return c.section(c.Audio) }

// section writes an initialization section for tracks; nil ones are left out.
func (c *Configuration) section(tracks ...*hub.Track) ([]byte, error) {
	var file fmp4.Init
	for _, t := range tracks {
		if t == nil {
			continue
		}
		codec, _, err := describe(t)
		if err != nil {
			return nil, fmt.Errorf("%s track: %w", t.Codec, err)
		}
		track := &fmp4.InitTrack{ID: AudioTrackID, TimeScale: uint32(AudioRate(t)), Codec: codec}
		if t.Codec.Video() {
			track.ID, track.TimeScale = VideoTrackID, VideoRate
		}
		file.Tracks = append(file.Tracks, track)
	}
	var out seekablebuffer.Buffer
	if err := file.Marshal(&out); err != nil {
		return nil, fmt.Errorf("write initialization section: %w", err)
	}
	return out.Bytes(), nil
}

// Precedes reports whether players of c can continue with the next configuration in the same
// playlist: both have the same kinds of tracks with the same codecs.
func (c *Configuration) Precedes(next *Configuration) bool {
	return codecOf(c.Video) == codecOf(next.Video) && codecOf(c.Audio) == codecOf(next.Audio)
}

func codecOf(t *hub.Track) hub.Codec {
	if t == nil {
		return ""
	}
	return t.Codec
}

// CodecName returns a track's codec by RFC 6381; "" for one that HLS can't carry.
func CodecName(t *hub.Track) string {
	_, name, err := describe(t)
	if err != nil {
		return ""
	}
	return name
}

// describe returns a track's codec for the initialization section, and its name by RFC 6381.
//
//nolint:ireturn // it is mediacommon's own sum of codecs
func describe(t *hub.Track) (codecs.Codec, string, error) {
	switch t.Codec {
	case hub.H264:
		var sps h264.SPS
		if err := sps.Unmarshal(t.SPS); err != nil {
			return nil, "", fmt.Errorf("SPS: %w", err)
		}
		if len(t.PPS) == 0 || len(t.SPS) < 4 {
			return nil, "", errors.New("incomplete parameter sets")
		}
		return &codecs.H264{SPS: t.SPS, PPS: t.PPS}, "avc1." + hex.EncodeToString(t.SPS[1:4]), nil
	case hub.H265:
		var sps h265.SPS
		if err := sps.Unmarshal(t.SPS); err != nil {
			return nil, "", fmt.Errorf("SPS: %w", err)
		}
		if len(t.PPS) == 0 || len(t.VPS) == 0 {
			return nil, "", errors.New("incomplete parameter sets")
		}
		return &codecs.H265{VPS: t.VPS, SPS: t.SPS, PPS: t.PPS}, hevcName(t.SPS), nil
	case hub.AAC:
		var c mpeg4audio.AudioSpecificConfig
		if err := c.Unmarshal(t.AudioConfig); err != nil {
			return nil, "", fmt.Errorf("AudioSpecificConfig: %w", err)
		}
		if c.SampleRate <= 0 || c.ChannelConfig == 0 {
			return nil, "", errors.New("no sample rate or no channels")
		}
		kind := c.Type
		if c.ExtensionType != 0 { // SBR, PS
			kind = c.ExtensionType
		}
		return &codecs.MPEG4Audio{Config: c}, fmt.Sprintf("mp4a.40.%d", kind), nil
	case hub.Opus:
		if t.Channels < 1 || t.Channels > 2 {
			return nil, "", fmt.Errorf("%d channels of unknown order", t.Channels)
		}
		return &codecs.Opus{ChannelCount: t.Channels}, "opus", nil
	}
	return nil, "", errors.New("not a codec that HLS carries")
}

// hevcName returns the codec's name by ISO/IEC 14496-15, E.3.
func hevcName(sps []byte) string {
	p := h264.EmulationPreventionRemove(sps)
	if len(p) < 15 {
		return "hvc1"
	}
	p = p[3:] // after the NAL header and ids, profile_tier_level begins
	space := []string{"", "A", "B", "C"}[p[0]>>6]
	tier := "L"
	if p[0]&0x20 != 0 {
		tier = "H"
	}
	compatible := uint32(p[1])<<24 | uint32(p[2])<<16 | uint32(p[3])<<8 | uint32(p[4])
	name := fmt.Sprintf("hvc1.%s%d.%x.%s%d", space, p[0]&0x1f, bits.Reverse32(compatible), tier, p[11])
	constraints := []byte(name)
	for _, c := range bytes.TrimRight(p[5:11], "\x00") {
		constraints = fmt.Appendf(constraints, ".%x", c)
	}
	return string(constraints)
}

// AudioRate is the time scale of an audio track in Hz.
func AudioRate(t *hub.Track) int {
	if t.Codec == hub.AAC {
		var c mpeg4audio.AudioSpecificConfig
		if c.Unmarshal(t.AudioConfig) == nil {
			return c.SampleRate
		}
	}
	return opusRate
}

// audioFrame is the duration of an audio frame in the track's time scale.
func audioFrame(t *hub.Track, data []byte) int64 {
	if t.Codec == hub.Opus {
		return max(opus.PacketDuration2(data), 1)
	}
	var c mpeg4audio.AudioSpecificConfig
	if c.Unmarshal(t.AudioConfig) == nil && c.FrameLengthFlag {
		return 960
	}
	return 1024
}

// SameCoding reports whether both tracks can share an initialization section.
func SameCoding(a, b *hub.Track) bool {
	if a == b {
		return true
	}
	if a == nil || b == nil {
		return false
	}
	return a.Codec == b.Codec && a.Channels == b.Channels &&
		bytes.Equal(a.VPS, b.VPS) && bytes.Equal(a.SPS, b.SPS) && bytes.Equal(a.PPS, b.PPS) &&
		bytes.Equal(a.AudioConfig, b.AudioConfig)
}

// ticks converts a time to a time scale, rounded to the nearest tick. Seconds and the rest are
// converted separately: the product would overflow after a day.
func ticks(d time.Duration, rate int) int64 {
	s := d / time.Second
	rest := d % time.Second
	half := time.Second / 2
	if rest < 0 {
		half = -half
	}
	return int64(s)*int64(rate) + int64((rest*time.Duration(rate)+half)/time.Second)
}

// span converts ticks of a time scale to a time.
func span(t int64, rate int) time.Duration {
	return time.Duration(t/int64(rate))*time.Second +
		time.Duration(t%int64(rate))*time.Second/time.Duration(rate)
}
