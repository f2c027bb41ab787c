package bridge

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/bluenviron/mediacommon/v2/pkg/codecs/opus"
	"golang.org/x/time/rate"

	"showfloor/internal/media/hub"
)

const (
	// opusBacklog is how many Opus packets may wait for a process, two seconds or so.
	opusBacklog = 100
	// maxFill is the longest gap that is filled with what the decoder makes up for lost
	// packets; behind a longer one the sound's times begin anew.
	maxFill = time.Second
	// maxSlip is how far the times of packets may differ from the count of samples.
	maxSlip = 10 * time.Millisecond
	// aacFrame is how many samples an AAC frame has, and aacPriming how many come out of the
	// encoder before the first one that went in.
	aacFrame, aacPriming = 1024, 1024
	// maxBehind is how much sound a process may hold back, in samples, before it is replaced:
	// packets that can't be decoded are missing in what comes out.
	maxBehind = audioRate
	// maxMarks is how many of a process's times are kept. Its output is a tenth of a second
	// behind its input.
	maxMarks = 64
)

// silentAAC is a frame of silence: AAC-LC of two channels.
const silentAAC = "\x21\x10\x04\x60\x8c\x1c"

// newAACTrack describes what toAAC makes.
func newAACTrack() (*hub.Track, error) {
	config, err := (&mpeg4audio.AudioSpecificConfig{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: audioRate, ChannelConfig: 2}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("describe AAC: %w", err)
	}
	return &hub.Track{Codec: hub.AAC, Converted: true, AudioConfig: config, SampleRate: audioRate, Channels: 2}, nil
}

// toAAC makes AAC of one publisher's Opus. Its methods are for one goroutine at a time.
type toAAC struct {
	converters Share
	track      *hub.Track
	log        *slog.Logger
	write      func(*hub.Unit) error
	// starts is the pace of processes: what a publisher sends decides how many it takes.
	starts  *rate.Limiter
	encoder *aacEncoder // nil before the first packet, and while no other may be started
	work    sync.WaitGroup
	failed  string // why the last process didn't start, as it was logged
	// floor is the time of the timeline's first frame, which says that there is sound.
	floor time.Duration
}

// newToAAC claims a place for a conversion, until close. write gets the frames, on another
// goroutine.
func newToAAC(c Share, write func(*hub.Unit) error, log *slog.Logger) (*toAAC, error) {
	track, err := newAACTrack()
	if err != nil {
		return nil, err
	}
	if err := c.claim(); err != nil {
		return nil, err
	}
	return &toAAC{converters: c, track: track, log: log, write: write, starts: rate.NewLimiter(rate.Every(startEvery), startsAtOnce)}, nil
}

// put converts a packet whose sound begins at a time.
func (a *toAAC) put(packet []byte, at time.Duration) {
	if len(packet) == 0 || len(packet) > maxOggPacket {
		return
	}
	if a.encoder == nil && a.starts.Allow() {
		a.start()
	}
	if a.encoder != nil && !a.encoder.put(packet, at) {
		a.cut() // the next packet starts another
	}
}

// cut drops what is on its way: the timeline breaks, or the process doesn't keep up.
func (a *toAAC) cut() {
	if a.encoder != nil {
		a.encoder.end()
		a.encoder = nil
	}
}

// close ends it and returns when its processes are gone.
func (a *toAAC) close() {
	a.cut()
	a.work.Wait()
	a.converters.release()
}

func (a *toAAC) start() {
	process, err := a.converters.launch(aacArguments())
	if err != nil {
		if a.failed != err.Error() {
			a.failed = err.Error()
			a.log.Warn("a broadcast's sound is not converted into AAC", "error", err)
		}
		return
	}
	e := &aacEncoder{process: process, in: make(chan []byte, opusBacklog), track: a.track, write: a.write, last: a.floor}
	a.encoder = e
	a.work.Go(func() { e.feed(process.ctx, process.stdin) })
	a.work.Go(func() {
		e.drain(process.stdout)
		e.end()
		process.wait(a.log)
	})
}

// aacArguments make ffmpeg give out each frame as soon as it can. libopus makes sound up for
// lost packets, which ffmpeg's own decoder does not.
func aacArguments() []string {
	return []string{
		"-hide_banner", "-loglevel", "error", "-nostdin",
		"-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0", "-c:a", "libopus", "-f", "ogg", "-i", "pipe:0",
		"-c:a", "aac", "-b:a", "128k", "-ar", strconv.Itoa(audioRate), "-ac", "2", "-f", "adts", "-flush_packets", "1", "pipe:1",
	}
}

// mark says which time a sample of a process's input has.
type mark struct {
	sample int64
	at     time.Duration
}

// aacEncoder is one process.
type aacEncoder struct {
	process *process
	in      chan []byte
	track   *hub.Track
	write   func(*hub.Unit) error

	mu    sync.Mutex
	over  bool
	marks []mark
	fed   int64         // samples that went in
	made  int64         // and came out
	last  time.Duration // DTS of the last frame that was passed on
}

// put hands a packet to the process; false when it doesn't keep up or has ended.
func (e *aacEncoder) put(packet []byte, at time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Before its first frame a process starts; the backlog bounds how long that takes.
	if e.over || e.made > 0 && e.fed-e.made > maxBehind+aacPriming {
		return false
	}
	switch gap := at - e.next(); {
	case len(e.marks) == 0 || gap > maxFill || gap < -maxSlip:
		e.mark(at)
	case gap > maxSlip:
		// The first byte of a packet without any more stands for a frame that was lost
		// (RFC 6716, section 3.2.1: a frame of no bytes).
		for lost := []byte{packet[0] &^ 3}; at-e.next() > maxSlip; {
			if !e.send(lost) {
				return false
			}
		}
	}
	return e.send(packet)
}

// next is the time behind all that went in.
func (e *aacEncoder) next() time.Duration {
	if len(e.marks) == 0 {
		return 0
	}
	return e.at(e.fed)
}

// at is the time of a sample.
func (e *aacEncoder) at(sample int64) time.Duration {
	m := e.marks[0]
	for _, next := range e.marks[1:] {
		if next.sample > sample {
			break
		}
		m = next
	}
	return m.at + time.Duration(sample-m.sample)*time.Second/audioRate
}

// mark has the next packet begin at a time that doesn't follow from the count of samples.
func (e *aacEncoder) mark(at time.Duration) {
	if len(e.marks) == maxMarks {
		e.marks = append(e.marks[:0], e.marks[1:]...)
	}
	e.marks = append(e.marks, mark{e.fed, at})
}

func (e *aacEncoder) send(packet []byte) bool {
	samples := opus.PacketDuration2(packet)
	if samples <= 0 {
		return true // no packet of Opus
	}
	select {
	case e.in <- packet:
		e.fed += samples
		return true
	default:
		return false
	}
}

// end keeps back what may still come out, and ends the process.
func (e *aacEncoder) end() {
	e.mu.Lock()
	e.over = true
	e.mu.Unlock()
	e.process.cancel()
}

// feed writes packets to the process.
func (e *aacEncoder) feed(ctx context.Context, stdin io.WriteCloser) {
	defer stdin.Close()
	ogg := &oggWriter{out: stdin}
	if ogg.head() != nil {
		return
	}
	for {
		select {
		case packet := <-e.in:
			if ogg.packet(packet, opus.PacketDuration2(packet)) != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// drain reads frames from the process and passes them on.
func (e *aacEncoder) drain(stdout io.Reader) {
	in := bufio.NewReader(stdout)
	for {
		frame, err := readADTS(in)
		if err != nil || !e.pass(frame) {
			return
		}
	}
}

// pass writes a frame to the stream; false when no more are wanted. The stream is written to
// under the lock, so that nothing comes after end.
func (e *aacEncoder) pass(frame []byte) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.over {
		return false
	}
	first := e.made - aacPriming
	e.made += aacFrame
	if len(e.marks) == 0 || first < 0 {
		return true // before the first sample
	}
	at := e.at(first)
	if last := e.marks[len(e.marks)-1]; first+aacFrame <= last.sample && last.at-at > maxFill {
		return true // it came out only now that the sound goes on: too late for anybody
	}
	if at < e.last {
		return true // more sound than time
	}
	e.last = at
	return e.write(&hub.Unit{Track: e.track, Key: true, DTS: at, PTS: at, Data: frame}) == nil
}

var errNoADTS = errors.New("not an ADTS frame")

// readADTS reads one AAC frame (ISO/IEC 13818-7, section 6.2).
func readADTS(in *bufio.Reader) ([]byte, error) {
	head, err := in.Peek(7)
	if err != nil {
		return nil, fmt.Errorf("read ADTS: %w", err)
	}
	if head[0] != 0xFF || head[1]&0xF6 != 0xF0 {
		return nil, errNoADTS
	}
	length := int(head[3]&3)<<11 | int(head[4])<<3 | int(head[5])>>5
	skip := 7
	if head[1]&1 == 0 {
		skip = 9 // with a checksum
	}
	if length <= skip {
		return nil, errNoADTS
	}
	frame := make([]byte, length)
	if _, err := io.ReadFull(in, frame); err != nil {
		return nil, fmt.Errorf("read ADTS: %w", err)
	}
	return frame[skip:], nil
}
