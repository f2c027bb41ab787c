package bridge

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/pion/rtcp"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"golang.org/x/time/rate"

	"showfloor/internal/media/hub"
)

const (
	packetSize  = 1200 // bytes of RTP, so that it fits every path
	headerSize  = 12
	reportEvery = time.Second
	// startEvery is the rate limit for starts of converters, for each stream, after
	// maxStartBurst. Each start is a process, and the encoder's media decides how many it needs.
	startEvery    = 2 * time.Second
	maxStartBurst = 4
)

// Payload types of the packets for a Screen.
const (
	VideoPayloadType = 96
	AudioPayloadType = 111
)

// Screen receives a stream's media in a room. It keeps no reference to its arguments.
type Screen interface {
	// Begin is called when another publisher is on air, or the timeline breaks. If it returns
	// false, the media up to the next call isn't shown.
	Begin() bool
	// Video receives an RTP packet of H.264, Audio one of Opus.
	Video(packet []byte)
	Audio(packet []byte)
	// VideoReport and AudioReport receive sender reports, which map RTP times to wall times.
	VideoReport(r *rtcp.SenderReport)
	AudioReport(r *rtcp.SenderReport)
	// Size receives the size of the picture from now on, in pixels.
	Size(width, height int)
	// Unavailable is called when a kind of media can't be shown: browsers don't decode it, or
	// this server can't convert it. It may become available later.
	Unavailable(video bool, reason Reason)
}

// Reason is the reason why a room can't show a stream's video or audio.
type Reason struct {
	// Code is one of the codes below; Text is for users.
	Code, Text string
}

// Codes of reasons. Clients depend on them: they must not change.
const (
	CodeBFrames        = "b_frames"
	CodeVideoCodec     = "video_codec"
	CodeAudioCodec     = "audio_codec"
	CodeAudioConverter = "audio_converter"
)

// Show passes a stream to a screen until the stream is sealed or ctx ends, and closes the
// reader. Opus, and video that browsers can decode, is passed unchanged; AAC is converted.
func Show(ctx context.Context, reader *hub.Reader, screen Screen, converters Share, log *slog.Logger) {
	defer reader.Close()
	show := &show{
		screen: screen, converters: converters, log: log, origin: time.Now(),
		starts: rate.NewLimiter(rate.Every(startEvery), maxStartBurst),
	}
	show.picture = newLine(videoRate, VideoPayloadType)
	show.sound = newLine(audioRate, AudioPayloadType)
	defer show.stopConverter()
	for {
		u, err := reader.Next(ctx)
		if err != nil {
			return
		}
		if u.Epoch != show.epoch || !show.started {
			show.begin(u)
		}
		if show.off {
			continue
		}
		if u.Track.Codec.Video() {
			show.video(u)
		} else {
			show.audio(u)
		}
	}
}

// line writes the RTP packets of one kind of media. Only one goroutine uses it at a time.
type line struct {
	rate     int64
	header   rtp.Header
	base     uint32
	buffer   [packetSize + headerSize]byte
	reported time.Time
	packets  uint32
	bytes    uint32
}

func newLine(rate int64, payloadType uint8) line {
	return line{rate: rate, base: rand.Uint32(), header: rtp.Header{
		Version: 2, PayloadType: payloadType, SSRC: rand.Uint32(), SequenceNumber: uint16(rand.Uint32()),
	}}
}

// at converts a media time to an RTP timestamp.
func (l *line) at(t time.Duration) uint32 {
	return l.base + uint32(t.Microseconds()*l.rate/1_000_000)
}

// send writes one packet.
func (l *line) send(payload []byte, at time.Duration, last bool, write func([]byte)) {
	l.header.Timestamp, l.header.Marker = l.at(at), last
	l.header.SequenceNumber++
	n, err := l.header.MarshalTo(l.buffer[:])
	if err != nil || n+len(payload) > len(l.buffer) {
		return
	}
	n += copy(l.buffer[n:], payload)
	l.packets++
	l.bytes += uint32(len(payload))
	write(l.buffer[:n])
}

// report returns a sender report when one is due; wall is the wall time of the media time at.
func (l *line) report(at time.Duration, wall, now time.Time) *rtcp.SenderReport {
	if now.Sub(l.reported) < reportEvery {
		return nil
	}
	l.reported = now
	return &rtcp.SenderReport{SSRC: l.header.SSRC, NTPTime: ntp(wall), RTPTime: l.at(at), PacketCount: l.packets, OctetCount: l.bytes}
}

// ntp converts a wall time to the 64-bit NTP format of RTCP.
func ntp(t time.Time) uint64 {
	const since1900 = 2_208_988_800
	seconds := uint64(t.Unix() + since1900)
	return seconds<<32 | uint64(t.Nanosecond())<<32/uint64(time.Second)
}

// show is the state of one screen.
type show struct {
	screen     Screen
	converters Share
	log        *slog.Logger

	epoch uint32
	// origin is the wall time of media time 0 of this screen, and shift is added to the times
	// of the current epoch.
	origin  time.Time
	shift   time.Duration
	started bool
	off     bool // the screen doesn't want this epoch

	picture   line
	sound     line
	payloader codecs.H264Payloader
	videoOn   *hub.Track
	newest    time.Duration // the newest picture's time in this epoch
	shown     bool
	refused   bool // this epoch's video can't be shown
	annexB    []byte
	audioOn   *hub.Track
	converter *converter
	// starts limits the starts of converters; refusal is the last reported reason why there is
	// none.
	starts  *rate.Limiter
	refusal string
}

// begin starts a new timeline, by the arrival of its first unit.
func (s *show) begin(u *hub.Unit) {
	s.epoch, s.started = u.Epoch, true
	s.shift = u.Arrived.Sub(s.origin) - u.DTS
	s.newest, s.refused, s.shown = 0, false, false
	s.stopConverter()
	s.audioOn, s.videoOn, s.refusal = nil, nil, ""
	s.off = !s.screen.Begin()
}

func (s *show) video(u *hub.Unit) {
	if s.refused {
		return
	}
	if u.Track.Codec != hub.H264 {
		s.refuseVideo(CodeVideoCodec, string(u.Track.Codec)+" is not decoded by every browser: watch by HLS, or send H.264")
		return
	}
	if s.shown && u.PTS < s.newest {
		s.refuseVideo(CodeBFrames,
			"pictures don't come in the order in which they are shown: watch by HLS, or switch B-frames off in the encoder")
		return
	}
	s.newest, s.shown = u.PTS, true
	if u.Track != s.videoOn {
		s.videoOn = u.Track
		s.screen.Size(u.Track.Width, u.Track.Height)
	}
	at := u.PTS + s.shift
	payloads := s.payloader.Payload(packetSize-headerSize, s.startCodes(u))
	for i, p := range payloads {
		s.picture.send(p, at, i == len(payloads)-1, s.screen.Video)
	}
	if r := s.picture.report(at, s.origin.Add(at), time.Now()); r != nil {
		s.screen.VideoReport(r)
	}
}

func (s *show) refuseVideo(code, text string) {
	s.refused = true
	s.screen.Unavailable(true, Reason{code, text})
}

// startCodes returns the unit with start codes instead of lengths, and with the parameter sets
// before a key frame.
func (s *show) startCodes(u *hub.Unit) []byte {
	b := s.annexB[:0]
	add := func(nal []byte) { b = append(append(b, 0, 0, 0, 1), nal...) }
	if u.Key {
		add(u.Track.SPS)
		add(u.Track.PPS)
	}
	for data := u.Data; len(data) > 4; {
		n := int(binary.BigEndian.Uint32(data))
		if n < 1 || n > len(data)-4 {
			break
		}
		add(data[4 : 4+n])
		data = data[4+n:]
	}
	s.annexB = b
	return b
}

func (s *show) audio(u *hub.Unit) {
	if u.Track.Codec != hub.AAC {
		s.stopConverter() // the converter must not write to the audio line any more
	}
	switch {
	case u.Track.Codec == hub.Opus && u.Track.Channels <= 2:
		s.sendSound(u.Data, u.PTS+s.shift)
	case u.Track.Codec == hub.AAC:
		s.convert(u)
	case u.Track != s.audioOn:
		s.audioOn = u.Track
		s.screen.Unavailable(false, Reason{CodeAudioCodec, "browsers play Opus of one or two channels: watch by HLS, or send AAC"})
	}
}

func (s *show) sendSound(packet []byte, at time.Duration) {
	if len(packet) > packetSize-headerSize {
		return
	}
	s.sound.send(packet, at, false, s.screen.Audio)
	if r := s.sound.report(at, s.origin.Add(at), time.Now()); r != nil {
		s.screen.AudioReport(r)
	}
}

// convert passes AAC to the converter, whose output is sent to the audio line. If an encoder's
// audio needs new converters too often, it is silent in between.
func (s *show) convert(u *hub.Unit) {
	if s.converter == nil || u.Track != s.audioOn || !s.converter.follows(u.PTS) {
		s.stopConverter()
		s.audioOn = u.Track
		if !s.starts.Allow() {
			return
		}
		s.startConverter(u.Track)
	}
	if s.converter != nil && !s.converter.write(u) {
		s.stopConverter() // the next unit starts another one
	}
}

// startConverter starts a converter, or reports once why that fails.
func (s *show) startConverter(track *hub.Track) {
	shift := s.shift
	var err error
	s.converter, err = s.converters.start(track, func(packet []byte, at time.Duration) { s.sendSound(packet, at+shift) }, s.log)
	if err == nil {
		s.refusal = ""
		return
	}
	if s.refusal == err.Error() {
		return
	}
	s.refusal = err.Error()
	s.log.Warn("a stream's sound is not converted for its room", "error", err)
	s.screen.Unavailable(false, Reason{CodeAudioConverter, s.refusal})
}

func (s *show) stopConverter() {
	if s.converter != nil {
		s.converter.stop()
		s.converter = nil
	}
}
