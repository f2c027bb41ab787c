package bridge

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/h264"
	"github.com/pion/rtp"
	"github.com/pion/rtp/codecs"
	"github.com/pion/webrtc/v4"
	"github.com/pion/webrtc/v4/pkg/media"
	"github.com/pion/webrtc/v4/pkg/media/samplebuilder"

	"showfloor/internal/media/hub"
)

const (
	// keyFrameEvery is how often a key frame is requested from a browser: it sends none by
	// itself, and segments of the playlists begin with one.
	keyFrameEvery = 2 * time.Second
	// maxLateVideo and maxLateAudio bound the packets of a picture or frame, and how many
	// packets a missing one is waited for.
	maxLateVideo, maxLateAudio = 1024, 32
	// maxWait is how long pictures wait for a missing packet before they are dropped, if maxBegun
	// pictures have begun meanwhile. In a quiet stream, maxLateVideo packets are half a minute.
	maxWait, maxBegun = time.Second, 4
	// maxUnmarked is how many pictures in a row may have no mark before marks are ignored.
	maxUnmarked          = 30
	videoRate, audioRate = 90_000, 48_000
	maxPictureSide       = 8192 // pixels
	maxParameterSet      = 1 << 10
)

// Feed writes a host's media, H.264 and Opus, to a stream of the hub. It is safe for concurrent
// use.
type Feed struct {
	out      *hub.Publisher
	keyFrame func()

	mu       sync.Mutex
	origin   time.Time
	picture  side
	sound    side
	video    *hub.Track
	sps, pps []byte
	audio    *hub.Track
	declared bool   // the outputs have an audio track
	aac      *toAAC // nil if the audio isn't converted
	silenced bool   // the outputs of AAC have an audio track
	// waiting: packets were lost, and decoding can only continue with the next key frame.
	waiting bool
	// marks: the encoder marks the last packet of each picture. unmarked counts pictures without a
	// mark since the last one with it.
	marks    bool
	unmarked int
	asked    time.Time // when a key frame was last requested
	dropped  uint64
}

// side is the state of one kind of media.
type side struct {
	clock   clock
	packets *samplebuilder.SampleBuilder
	last    time.Duration
	// ssrc is that of the track, if cut: packets of another one are ignored.
	ssrc uint32
	cut  bool
	// begun counts the timestamps since the last complete picture, newest is the last of them, and
	// waited is when the first of them arrived.
	begun  int
	newest uint32
	waited time.Duration
	// arrived is when the last packet arrived, and complete when the one before it did, both
	// since the feed's origin. A picture or frame is known to be complete when the next one
	// begins, which may be after a long pause.
	arrived, complete time.Duration
}

// NewFeed returns a feed. keyFrame requests a key frame from the browser and must not block.
func NewFeed(out *hub.Publisher, keyFrame func()) *Feed {
	f := &Feed{out: out, keyFrame: keyFrame, waiting: true}
	f.picture.clock.rate, f.sound.clock.rate = videoRate, audioRate
	f.restartVideo()
	f.sound.packets = newAudioBuilder()
	f.audio = &hub.Track{Codec: hub.Opus, SampleRate: audioRate, Channels: 2}
	return f
}

// ConvertSound also writes the audio in AAC, for players, recorders and other platforms that
// don't support Opus. It must be called before the first packet. The error says why there is no
// AAC: no ffmpeg, or too many conversions on this node.
func (f *Feed) ConvertSound(c Share, log *slog.Logger) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	aac, err := newToAAC(c, f.out.Write, log)
	if err != nil {
		return err
	}
	f.aac = aac
	f.out.ConvertSound(hub.AAC)
	return nil
}

// Close ends the conversion and returns when its process has ended. No packets may be written
// after it.
func (f *Feed) Close() {
	f.mu.Lock()
	aac := f.aac
	f.aac = nil
	f.mu.Unlock()
	if aac != nil {
		aac.close()
	}
}

// Carries reports whether a feed accepts a codec, by its name in SDP.
func Carries(mimeType string) bool {
	return strings.EqualFold(mimeType, webrtc.MimeTypeH264) || strings.EqualFold(mimeType, webrtc.MimeTypeOpus)
}

// CutVideo announces that the next video packet is of another track, such as the screen's
// instead of the camera's. Packets of other SSRCs are ignored from now on: those of the former track
// may still be on their way.
func (f *Feed) CutVideo(ssrc uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.restartVideo()
	f.picture.ssrc, f.picture.cut = ssrc, true
	f.picture.clock.started, f.marks, f.unmarked = false, false, 0
}

// restartVideo forgets the packets that wait. Decoding continues with the next key frame.
func (f *Feed) restartVideo() {
	f.picture.packets = samplebuilder.New(maxLateVideo, newFragments(), videoRate, samplebuilder.WithRTPHeaders(true))
	f.picture.begun, f.waiting = 0, true
}

// CutAudio is like CutVideo, for audio.
func (f *Feed) CutAudio(ssrc uint32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sound.packets = newAudioBuilder()
	f.sound.ssrc, f.sound.cut = ssrc, true
	f.sound.clock.started = false
}

func newAudioBuilder() *samplebuilder.SampleBuilder {
	return samplebuilder.New(maxLateAudio, &codecs.OpusPacket{}, audioRate)
}

// Video writes a packet of H.264. An error is the hub's: this publisher no longer has the
// stream.
func (f *Feed) Video(p *rtp.Packet, arrived time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ask(arrived)
	if err := f.take(&f.picture, p, arrived, f.writePicture); err != nil {
		return err
	}
	if v := &f.picture; v.begun >= maxBegun && v.arrived-v.waited > maxWait {
		f.dropped += uint64(v.begun)
		f.restartVideo() // a packet is missing
	}
	return nil
}

// Audio writes a packet of Opus; errors are as for Video.
func (f *Feed) Audio(p *rtp.Packet, arrived time.Time) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.take(&f.sound, p, arrived, f.writeSound)
}

// ask requests a key frame when one is due.
func (f *Feed) ask(now time.Time) {
	pause := keyFrameEvery
	if f.waiting {
		pause /= 4
	}
	if now.Sub(f.asked) >= pause {
		f.asked = now
		f.keyFrame()
	}
}

// take orders the packets, and passes on pictures and frames that are complete, which is known
// when the next one begins. It copies the packet's payload, since the builder keeps it.
func (f *Feed) take(s *side, p *rtp.Packet, arrived time.Time, write func(*media.Sample, time.Time) error) error {
	if len(p.Payload) == 0 || s.cut && p.SSRC != s.ssrc {
		return nil // padding, or of a former track
	}
	if f.origin.IsZero() {
		f.origin = arrived
	}
	if !s.clock.started {
		// Place the first packet by its arrival: a key frame of many packets ends much later.
		s.clock.place(p.Timestamp, arrived.Sub(f.origin))
		s.arrived = arrived.Sub(f.origin)
	}
	s.complete, s.arrived = s.arrived, arrived.Sub(f.origin)
	if s.begun == 0 {
		s.waited = s.arrived
	}
	if s.begun == 0 || p.Timestamp != s.newest {
		s.newest = p.Timestamp
		s.begun++
	}
	s.packets.Push(&rtp.Packet{Header: p.Header, Payload: bytes.Clone(p.Payload)})
	for sample := s.packets.Pop(); sample != nil; sample = s.packets.Pop() {
		s.begun = 0
		if err := write(sample, arrived); err != nil {
			return err
		}
	}
	return nil
}

// silentOpus is 20 ms of silence for two channels: a CELT frame (RFC 6716, 3.1) that begins
// with the silence flag (4.3).
const silentOpus = "\xFC\xFF\xFE"

// declareSound writes a frame of silence with the first picture, unless there was audio before.
// Outputs that can't add a track later then have an audio track when a microphone is switched
// on.
func (f *Feed) declareSound(s *media.Sample, arrived time.Time) error {
	if f.declared {
		return nil
	}
	f.declared = true
	at, _ := f.picture.clock.place(s.PacketTimestamp, f.picture.complete)
	f.sound.last = at
	u := &hub.Unit{Track: f.audio, Key: true, DTS: at, PTS: at, Arrived: arrived, Data: []byte(silentOpus)}
	if err := f.out.Write(u); err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

func (f *Feed) writeSound(s *media.Sample, arrived time.Time) error {
	f.declared = true
	u := &hub.Unit{Track: f.audio, Key: true, Data: s.Data}
	if err := f.write(&f.sound, s, arrived, u); err != nil {
		return err
	}
	if f.aac != nil {
		f.aac.put(s.Data, u.PTS)
	}
	return nil
}

// declareAAC writes a frame of silence with the first picture or audio. The conversion's first
// frame comes a fifth of a second later, and outputs can't add a track.
func (f *Feed) declareAAC(at time.Duration, arrived time.Time) error {
	if f.aac == nil || f.silenced {
		return nil
	}
	f.silenced, f.aac.floor = true, at
	return f.out.Write(&hub.Unit{Track: f.aac.track, Key: true, DTS: at, PTS: at, Arrived: arrived, Data: []byte(silentAAC)})
}

func (f *Feed) writePicture(s *media.Sample, arrived time.Time) error {
	p, err := cutPicture(s.Data)
	if err != nil {
		f.lose()
		return nil //nolint:nilerr // untrusted media may be damaged; the next key frame repairs it
	}
	if s.PrevDroppedPackets > 0 {
		f.lose()
	}
	if f.truncated(s) {
		f.lose()
		return nil
	}
	if err := f.configure(p); err != nil || f.video == nil {
		f.lose()
		return nil //nolint:nilerr // as above
	}
	if f.waiting && !p.key || len(p.data) == 0 {
		f.dropped++
		return nil
	}
	f.waiting = false
	if err := f.declareSound(s, arrived); err != nil {
		return err
	}
	return f.write(&f.picture, s, arrived, &hub.Unit{Track: f.video, Key: p.key, Data: p.data})
}

// truncated reports whether the last packets of a picture are missing. The forwarder numbers packets
// without gaps across a mute and a switch, so a picture that either cuts off looks complete otherwise.
// An encoder that doesn't mark the last packet of each picture, as RFC 6184, 5.1 demands, is exempt.
func (f *Feed) truncated(s *media.Sample) bool {
	if len(s.RTPHeaders) > 0 && s.RTPHeaders[len(s.RTPHeaders)-1].Marker {
		f.marks, f.unmarked = true, 0
		return false
	}
	f.unmarked++
	f.marks = f.marks && f.unmarked < maxUnmarked
	return f.marks
}

// lose drops a picture and waits for the next key frame.
func (f *Feed) lose() {
	f.waiting = true
	f.dropped++
}

// write sets the time of a unit and writes it to the hub.
func (f *Feed) write(side *side, s *media.Sample, arrived time.Time, u *hub.Unit) error {
	at, broken := side.clock.place(s.PacketTimestamp, side.complete)
	if broken {
		if f.aac != nil {
			f.aac.cut()
		}
		f.silenced = false
		f.out.Discontinuity()
		// The other track restarts as well: times of one epoch share their origin.
		f.picture.clock.started, f.sound.clock.started = side == &f.picture, side == &f.sound
		f.picture.last, f.sound.last = 0, 0
	}
	side.last = max(side.last, at)
	u.DTS, u.PTS, u.Arrived = side.last, side.last, arrived
	err := f.declareAAC(side.last, arrived)
	if err == nil {
		err = f.out.Write(u)
	}
	if err != nil {
		return fmt.Errorf("write to the stream: %w", err)
	}
	return nil
}

// configure handles the picture's parameter sets. If they have changed, it makes a new track.
func (f *Feed) configure(p picture) error {
	if p.sps == nil || p.pps == nil || bytes.Equal(p.sps, f.sps) && bytes.Equal(p.pps, f.pps) {
		return nil
	}
	var sps h264.SPS
	if err := sps.Unmarshal(p.sps); err != nil {
		return fmt.Errorf("H.264 parameter set: %w", err)
	}
	w, h := sps.Width(), sps.Height()
	if w <= 0 || h <= 0 || w > maxPictureSide || h > maxPictureSide {
		return fmt.Errorf("a picture of %d by %d", w, h)
	}
	f.sps, f.pps = p.sps, p.pps
	f.video = &hub.Track{Codec: hub.H264, SPS: p.sps, PPS: p.pps, Width: w, Height: h, FrameRate: sps.FPS()}
	return nil
}

// picture is one access unit, with its parameter sets separated.
type picture struct {
	key      bool
	sps, pps []byte
	data     []byte
}

var errDamaged = errors.New("damaged picture")

// cutPicture parses NAL units after lengths of 4 bytes. Of each kind of parameter set it keeps
// the last one.
func cutPicture(b []byte) (p picture, err error) {
	for len(b) > 0 {
		if len(b) < 5 {
			return p, errDamaged
		}
		n := int(binary.BigEndian.Uint32(b))
		if n < 1 || n > len(b)-4 {
			return p, errDamaged
		}
		nal, whole := b[4:4+n], b[:4+n]
		b = b[4+n:]
		switch h264.NALUType(nal[0] & 0x1F) {
		case h264.NALUTypeSPS:
			if n > maxParameterSet {
				return p, errDamaged
			}
			p.sps = bytes.Clone(nal)
		case h264.NALUTypePPS:
			if n > maxParameterSet {
				return p, errDamaged
			}
			p.pps = bytes.Clone(nal)
		case h264.NALUTypeAccessUnitDelimiter, h264.NALUTypeFillerData:
		case h264.NALUTypeIDR:
			p.key = true
			p.data = append(p.data, whole...)
		default:
			p.data = append(p.data, whole...)
		}
	}
	return p, nil
}
