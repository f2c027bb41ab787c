package rtmp

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"

	"showfloor/internal/media/hub"
)

const (
	maxAudioConfig = 256    // bytes
	maxCTS         = 10_000 // milliseconds
	// A source whose time jumps more often than this is unusable.
	maxJumps   = 60
	jumpWindow = time.Minute
)

// mediaError is the reason why an accepted publisher's media isn't supported.
type mediaError struct{ reason string }

func (e *mediaError) Error() string { return e.reason }

// IsMediaError reports whether an error means that the media itself is not supported, so that another attempt has the same result.
func IsMediaError(err error) bool {
	_, ok := errors.AsType[*mediaError](err)
	return ok || errors.Is(err, ErrFLV)
}

// Output receives units: a *hub.Publisher, or the reader of a file.
type Output interface {
	// Write takes a unit. An error ends the source.
	Write(u *hub.Unit) error
	// Discontinuity announces that the times of the following units aren't comparable with those before.
	Discontinuity()
}

// feed converts audio and video messages to units. One goroutine uses it.
type feed struct {
	out   Output
	times timeline

	video       *videoConfig
	videoRecord []byte // the sequence header of video
	audio       *hub.Track
	audioRecord []byte

	jumps      int
	jumpsSince time.Time
	// dropped counts pictures and audio frames that were malformed or came before their
	// sequence header.
	dropped uint64
}

// onVideo handles a video message's body, which the feed then owns. An error ends the
// publisher; a malformed picture is only dropped.
func (f *feed) onVideo(clock uint32, body []byte, arrived time.Time) error {
	t, err := parseVideo(body)
	if err != nil {
		return f.refuse(err)
	}
	t.data = own(t.data, body)
	switch t.kind {
	case tagConfig:
		return f.videoHeader(t)
	case tagFrame:
		return f.picture(t, clock, arrived)
	}
	return nil
}

// onAudio is like onVideo, for audio messages.
func (f *feed) onAudio(clock uint32, body []byte, arrived time.Time) error {
	t, err := parseAudio(body)
	if err != nil {
		return f.refuse(err)
	}
	t.data = own(t.data, body)
	switch t.kind {
	case tagConfig:
		return f.audioHeader(t)
	case tagFrame:
		if f.audio == nil || f.audio.Codec != t.codec || len(t.data) == 0 {
			f.dropped++
			return nil
		}
		return f.write(audioClock, clock, &hub.Unit{Track: f.audio, Key: true, Data: t.data, Arrived: arrived}, 0)
	}
	return nil
}

// own copies data that is less than half of its message, such as one track of many: queues
// count the data by its length, but would keep the whole message in memory.
func own(data, body []byte) []byte {
	if 2*len(data) < cap(body) {
		return bytes.Clone(data)
	}
	return data
}

// refuse ends the publisher for unsupported codecs; other errors are only counted.
func (f *feed) refuse(err error) error {
	if u, ok := errors.AsType[*unsupportedError](err); ok {
		return &mediaError{u.Error()}
	}
	f.dropped++
	return nil
}

func (f *feed) videoHeader(t tag) error {
	if len(t.data) == 0 {
		return nil
	}
	if f.video != nil && f.video.track.Codec == t.codec && bytes.Equal(f.videoRecord, t.data) {
		return nil
	}
	parse := parseAVCConfig
	if t.codec == hub.H265 {
		parse = parseHEVCConfig
	}
	config, err := parse(t.data)
	if err != nil {
		return &mediaError{fmt.Sprintf("the video's sequence header is unusable: %v", err)}
	}
	f.video, f.videoRecord = config, t.data
	return nil
}

func (f *feed) picture(t tag, clock uint32, arrived time.Time) error {
	if f.video == nil || f.video.track.Codec != t.codec {
		f.dropped++
		return nil
	}
	p, ok := checkPicture(t.data, t.codec, f.video.lengthSize)
	if !ok {
		f.dropped++
		return nil
	}
	// A frame that the encoder marks as a key frame is one only if its content agrees.
	key := p.random || t.key && p.recovery
	if key && len(f.video.extra) > 0 {
		p.data = slices.Concat(f.video.extra, p.data)
	}
	cts := t.cts
	if abs(cts) > maxCTS {
		cts = 0
	}
	u := &hub.Unit{Track: f.video.track, Key: key, Data: p.data, Arrived: arrived}
	return f.write(videoClock, clock, u, time.Duration(cts)*time.Millisecond)
}

func (f *feed) audioHeader(t tag) error {
	if len(t.data) == 0 {
		return nil
	}
	if f.audio != nil && f.audio.Codec == t.codec && bytes.Equal(f.audioRecord, t.data) {
		return nil
	}
	parse := parseAACConfig
	if t.codec == hub.Opus {
		parse = parseOpusConfig
	}
	track, err := parse(t.data)
	if err != nil {
		return &mediaError{fmt.Sprintf("the audio's sequence header is unusable: %v", err)}
	}
	f.audio, f.audioRecord = track, t.data
	return nil
}

func parseAACConfig(b []byte) (*hub.Track, error) {
	if len(b) > maxAudioConfig {
		return nil, fmt.Errorf("%d bytes of AAC configuration", len(b))
	}
	var c mpeg4audio.AudioSpecificConfig
	if err := c.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("AAC configuration: %w", err)
	}
	channels := int(c.ChannelConfig)
	switch channels {
	case 0:
		return nil, errors.New("AAC with channels by program config element")
	case 7:
		channels = 8
	}
	if c.SampleRate < 7350 || c.SampleRate > 96000 {
		return nil, fmt.Errorf("AAC with %d Hz", c.SampleRate)
	}
	return &hub.Track{
		Codec: hub.AAC, AudioConfig: bytes.Clone(b),
		SampleRate: c.SampleRate, Channels: channels,
	}, nil
}

func parseOpusConfig(b []byte) (*hub.Track, error) {
	var h opus.IDHeader
	if len(b) > maxAudioConfig {
		return nil, fmt.Errorf("%d bytes of Opus header", len(b))
	}
	if err := h.Unmarshal(b); err != nil {
		return nil, fmt.Errorf("reading the Opus header: %w", err)
	}
	if h.ChannelCount < 1 || h.ChannelCount > 8 {
		return nil, fmt.Errorf("%d channels of Opus", h.ChannelCount)
	}
	return &hub.Track{Codec: hub.Opus, SampleRate: 48000, Channels: int(h.ChannelCount)}, nil
}

// write sets the times of a unit and writes it to the hub.
func (f *feed) write(track int, clock uint32, u *hub.Unit, offset time.Duration) error {
	dts, placement := f.times.place(track, clock)
	switch placement {
	case dropped:
		f.dropped++
		return nil
	case jumped:
		if u.Arrived.Sub(f.jumpsSince) > jumpWindow {
			f.jumps, f.jumpsSince = 0, u.Arrived
		}
		if f.jumps++; f.jumps > maxJumps {
			return &mediaError{"the timestamps jump all the time"}
		}
		f.out.Discontinuity()
	}
	u.DTS, u.PTS = dts, dts+offset
	return f.out.Write(u)
}
