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
	packetSize  = 1200 // bytes of RTP, so that every path takes it
	headerSize  = 12
	reportEvery = time.Second
	// startEvery is how often a stream may start a converter, after some at once: each
	// is a process, and what its encoder sends decides how many it takes.
	startEvery   = 2 * time.Second
	startsAtOnce = 4
)

// Payload types of the packets that a Screen is given.
const (
	VideoPayloadType = 96
	AudioPayloadType = 111
)

// Screen is where a stream's media goes in a room. It keeps no reference to what
// it is given.
type Screen interface {
	// Begin is called when another publisher is on air, or its timeline breaks; false
	// means not to show what follows until it is called again.
	Begin() bool
	// Video takes an RTP packet of H.264, Audio one of Opus.
	Video(packet []byte)
	Audio(packet []byte)
	// VideoReport and AudioReport say which wall time belongs to which RTP time.
	VideoReport(r *rtcp.SenderReport)
	AudioReport(r *rtcp.SenderReport)
	// Size says how large the picture is from now on, in pixels.
	Size(width, height int)
	// Unavailable says why a kind of media can't be shown: browsers don't decode it,
	// or this server can't convert it. It may come again.
	Unavailable(video bool, reason Reason)
}

// Reason is why a room can't show a stream's pictures, or its sound.
type Reason struct {
	// Code is one of the codes below; Text is for people.
	Code, Text string
}

// Codes of reasons. Clients act on them: they never change.
const (
	CodeBFrames        = "b_frames"
	CodeVideoCodec     = "video_codec"
	CodeAudioCodec     = "audio_codec"
	CodeAudioConverter = "audio_converter"
)

// Show carries a stream to a screen until the stream is sealed or ctx ends, and
// closes the reader. Video goes as it is where browsers can decode it, and so does
// Opus; AAC is converted.
func Show(ctx context.Context, reader *hub.Reader, screen Screen, converters Share, log *slog.Logger) {
	defer reader.Close()
	show := &show{
		screen: screen, converters: converters, log: log, origin: time.Now(),
		starts: rate.NewLimiter(rate.Every(startEvery), startsAtOnce),
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

// line writes the RTP of one kind of media. It belongs to one goroutine.
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

// at is the RTP timestamp of a media time.
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

// report makes a sender report when one is due; wall is the wall time of the media
// time at.
func (l *line) report(at time.Duration, wall, now time.Time) *rtcp.SenderReport {
	if now.Sub(l.reported) < reportEvery {
		return nil
	}
	l.reported = now
	return &rtcp.SenderReport{SSRC: l.header.SSRC, NTPTime: ntp(wall), RTPTime: l.at(at), PacketCount: l.packets, OctetCount: l.bytes}
}

// ntp is a wall time in the 32.32 bits of RTCP.
func ntp(t time.Time) uint64 {
	const since1900 = 2_208_988_800
	seconds := uint64(t.Unix() + since1900)
	return seconds<<32 | uint64(t.Nanosecond())<<32/uint64(time.Second)
}

// show is one screen's state.
type show struct {
	screen     Screen
	converters Share
	log        *slog.Logger

	epoch uint32
	// origin is the wall time of media time 0 of this screen, and shift what is
	// added to the times of an epoch.
	origin  time.Time
	shift   time.Duration
	started bool
	off     bool // this epoch isn't shown

	picture   line
	sound     line
	payloader codecs.H264Payloader
	videoOn   *hub.Track
	newest    time.Duration // the newest picture's time of this epoch
	shown     bool
	refused   bool // this epoch's video can't be shown
	annexB    []byte
	audioOn   *hub.Track
	converter *converter
	// starts is the pace of converters, refusal why there is none, as it was said last.
	starts  *rate.Limiter
	refusal string
}

// begin starts a new timeline, which goes on from our clock.
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

// startCodes is the unit with start codes instead of lengths, and with the
// parameter sets before a key frame.
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
		s.stopConverter() // the line of sound is nobody else's now
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

// convert hands AAC to the converter, which sends what comes out of it: while there
// is one, the line of sound is its. An encoder whose sound needs a new one over and
// over is silent in between.
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
		s.stopConverter() // the next unit starts another
	}
}

// startConverter starts one, or says once why it can't.
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
