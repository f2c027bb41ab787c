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
	// opusBacklog is how many Opus packets may wait for a process, about two seconds.
	opusBacklog = 100
	// maxFill is the longest gap that is filled by the decoder's loss concealment. After a
	// longer one, the audio's times restart.
	maxFill = time.Second
	// maxSlip is how far the times of packets may differ from the count of samples.
	maxSlip = 10 * time.Millisecond
	// aacFrame is the number of samples in an AAC frame, and aacPriming how many samples the
	// encoder puts out before the first input sample.
	aacFrame, aacPriming = 1024, 1024
	// maxBehind is how much audio a process may hold back, in samples, before it is replaced:
	// packets that it can't decode are missing in its output.
	maxBehind = audioRate
	// maxMarks is how many of a process's times are kept. Its output is a tenth of a second
	// behind its input.
	maxMarks = 64
)

// silentAAC is a frame of silence: AAC-LC of two channels.
const silentAAC = "\x21\x10\x04\x60\x8c\x1c"

// newAACTrack returns the track of toAAC's output.
func newAACTrack() (*hub.Track, error) {
	config, err := (&mpeg4audio.AudioSpecificConfig{Type: mpeg4audio.ObjectTypeAACLC, SampleRate: audioRate, ChannelConfig: 2}).Marshal()
	if err != nil {
		return nil, fmt.Errorf("describe AAC: %w", err)
	}
	return &hub.Track{Codec: hub.AAC, Converted: true, AudioConfig: config, SampleRate: audioRate, Channels: 2}, nil
}

// toAAC converts one publisher's Opus to AAC. Its methods must not be called concurrently.
type toAAC struct {
	converters Share
	track      *hub.Track
	log        *slog.Logger
	write      func(*hub.Unit) error
	// starts limits the starts of processes: the publisher's media decides how many are needed.
	starts  *rate.Limiter
	encoder *aacEncoder // nil before the first packet, and while starts allows no other one
	work    sync.WaitGroup
	failed  string // why the last process didn't start, as logged
	// floor is the time of the timeline's first frame, which is silence.
	floor time.Duration
}

// newToAAC claims a place for a conversion, until close. write receives the frames, on another
// goroutine.
func newToAAC(c Share, write func(*hub.Unit) error, log *slog.Logger) (*toAAC, error) {
	track, err := newAACTrack()
	if err != nil {
		return nil, err
	}
	if err := c.claim(); err != nil {
		return nil, err
	}
	return &toAAC{converters: c, track: track, log: log, write: write, starts: rate.NewLimiter(rate.Every(startEvery), maxStartBurst)}, nil
}

// put converts a packet whose audio begins at a time.
func (a *toAAC) put(packet []byte, at time.Duration) {
	if len(packet) == 0 || len(packet) > maxOggPacket {
		return
	}
	if a.encoder == nil && a.starts.Allow() {
		a.start()
	}
	if a.encoder != nil && !a.encoder.put(packet, at) {
		a.cut() // the next packet starts another one
	}
}

// cut drops the audio in the process: the timeline breaks, or the process is too slow.
func (a *toAAC) cut() {
	if a.encoder != nil {
		a.encoder.end()
		a.encoder = nil
	}
}

// close ends the conversion and returns when its processes have ended.
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

// aacArguments make ffmpeg write each frame as soon as possible. libopus conceals lost packets,
// which ffmpeg's own decoder doesn't.
func aacArguments() []string {
	return []string{
		"-hide_banner", "-loglevel", "error", "-nostdin",
		"-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0", "-c:a", "libopus", "-f", "ogg", "-i", "pipe:0",
		"-c:a", "aac", "-b:a", "128k", "-ar", strconv.Itoa(audioRate), "-ac", "2", "-f", "adts", "-flush_packets", "1", "pipe:1",
	}
}

// mark assigns a time to a sample of a process's input.
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
	fed   int64         // samples of input
	made  int64         // samples of output
	last  time.Duration // DTS of the last written frame
}

// put queues a packet for the process; false when the process is too slow or has ended.
func (e *aacEncoder) put(packet []byte, at time.Duration) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	// Before its first frame, a process is starting; the backlog bounds that time.
	if e.over || e.made > 0 && e.fed-e.made > maxBehind+aacPriming {
		return false
	}
	switch gap := at - e.next(); {
	case len(e.marks) == 0 || gap > maxFill || gap < -maxSlip:
		e.mark(at)
	case gap > maxSlip:
		// The first byte of a packet by itself stands for a lost frame (RFC 6716, section
		// 3.2.1: a frame without bytes).
		for lost := []byte{packet[0] &^ 3}; at-e.next() > maxSlip; {
			if !e.send(lost) {
				return false
			}
		}
	}
	return e.send(packet)
}

// next is the time after all input.
func (e *aacEncoder) next() time.Duration {
	if len(e.marks) == 0 {
		return 0
	}
	return e.at(e.fed)
}

// at returns the time of a sample.
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

// mark sets the time of the next packet, if it doesn't follow from the count of samples.
func (e *aacEncoder) mark(at time.Duration) {
	if len(e.marks) == maxMarks {
		e.marks = append(e.marks[:0], e.marks[1:]...)
	}
	e.marks = append(e.marks, mark{e.fed, at})
}

func (e *aacEncoder) send(packet []byte) bool {
	samples := opus.PacketDuration2(packet)
	if samples <= 0 {
		return true // not a packet of Opus
	}
	select {
	case e.in <- packet:
		e.fed += samples
		return true
	default:
		return false
	}
}

// end discards further output, and ends the process.
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

// drain reads frames from the process and writes them to the stream.
func (e *aacEncoder) drain(stdout io.Reader) {
	in := bufio.NewReader(stdout)
	for {
		frame, err := readADTS(in)
		if err != nil || !e.pass(frame) {
			return
		}
	}
}

// pass writes a frame to the stream; false when no more are wanted. It writes under the lock,
// so that no frame comes after end.
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
		return true // the process held it back during a pause: too late
	}
	if at < e.last {
		return true // more audio than time
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
