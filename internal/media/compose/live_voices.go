package compose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"showfloor/internal/media/decoder"
	"showfloor/internal/media/oggopus"
)

const (
	// liveVoices is how many voices are mixed at the same time. Rooms forward the eight loudest of their guests.
	liveVoices = 8
	// liveJitter is the time from the arrival of a packet of sound to its decoding. Later packets take their places meanwhile.
	liveJitter = 150 * time.Millisecond
	// mixEvery is how often voices are decoded.
	mixEvery = 20 * time.Millisecond
	// liveQueue bounds the packets of a voice that wait, and laneQueue the writes to a decoder.
	liveQueue, laneQueue = 100, 100
	// laneIdle is for how long a lane without packets stays with its voice.
	laneIdle = 500 * time.Millisecond
	// soundBytes is the least size of a packet with sound. Silent clients send shorter ones, and keep no lane.
	soundBytes = 8
	// soundKept bounds the mixed sound that waits for the encoder, in samples, and mixerPause is the time between two starts of a
	// mixer that fails.
	soundKept  = 2 * soundRate
	mixerPause = time.Second
	// sampleSize is the size of a sample of two channels with 16 bits, in bytes.
	sampleSize = 4
)

// LiveVoice is a track of sound. Its methods are safe for concurrent use.
type LiveVoice struct {
	mixer *mixer

	// mixer.mu guards the following.
	clock   liveClock
	lane    *liveLane // nil while it has none
	arrived time.Duration
	closed  bool
}

// liveFrame is a frame of Opus with its time, in samples.
type liveFrame struct {
	at, n int64
	data  []byte
}

// liveLane is an input of the mixer: Opus without gaps. Voices take turns.
type liveLane struct {
	voice *LiveVoice
	queue []liveFrame // sorted by time
	// written is the time up to which there is sound, in samples.
	written int64
	pages   bytes.Buffer
	ogg     *oggopus.Writer // to pages
	out     chan []byte
}

// mixer decodes and mixes voices in a process of its own.
type mixer struct {
	engine *Engine
	began  time.Time // of the clock

	mu    sync.Mutex
	lanes [liveVoices]*liveLane // without outputs while there is no process

	// pcm is the mixed sound from the sample at on.
	pcm []byte
	at  int64
}

func newMixer(e *Engine, began time.Time) *mixer {
	m := &mixer{engine: e, began: began}
	for i := range m.lanes {
		m.lanes[i] = &liveLane{}
	}
	return m
}

// Voice adds a voice. While eight voices speak, a further one isn't mixed until one of them is silent.
func (l *Live) Voice() *LiveVoice {
	return &LiveVoice{mixer: l.mixer, clock: liveClock{rate: soundRate}}
}

// Packet takes a packet of Opus, and copies its payload. It never blocks: packets that come too fast or too late are lost.
func (v *LiveVoice) Packet(timestamp uint32, payload []byte) {
	n := oggopus.Samples(payload)
	if n <= 0 {
		return
	}
	m := v.mixer
	arrived := time.Since(m.began)
	m.mu.Lock()
	defer m.mu.Unlock()
	sounds := len(payload) >= soundBytes
	if v.closed || v.lane == nil && !sounds || !m.seat(v, arrived) {
		return
	}
	if sounds {
		v.arrived = arrived
	}
	f := liveFrame{samplesOf(v.clock.place(timestamp, arrived)), n, bytes.Clone(payload)}
	q := v.lane.queue
	i := len(q)
	for i > 0 && q[i-1].at > f.at {
		i--
	}
	if len(q) >= liveQueue || i > 0 && q[i-1].at == f.at {
		return
	}
	v.lane.queue = slices.Insert(q, i, f)
}

// Close ends the voice.
func (v *LiveVoice) Close() {
	v.mixer.mu.Lock()
	defer v.mixer.mu.Unlock()
	v.closed = true
	if v.lane != nil {
		v.lane.voice, v.lane = nil, nil
	}
}

// seat gives a voice a lane; false if all are in use. The caller holds mu.
func (m *mixer) seat(v *LiveVoice, now time.Duration) bool {
	if v.lane != nil {
		return true
	}
	for _, l := range m.lanes {
		if l.voice != nil && now-l.voice.arrived < laneIdle || l.voice == nil && len(l.queue) > 0 {
			continue
		}
		if l.voice != nil {
			l.voice.lane = nil
		}
		l.voice, v.lane = v, l
		return true
	}
	return false
}

func samplesOf(at time.Duration) int64 {
	return int64(at/time.Second)*soundRate + int64(at%time.Second)*soundRate/int64(time.Second)
}

// run mixes until ctx ends. A process that fails is replaced.
func (m *mixer) run(ctx context.Context) {
	for {
		err := guard(func() error { return m.mix(ctx) })
		if ctx.Err() != nil {
			return
		}
		m.engine.log.Warn("the mixer of a broadcast ended and is started again", "error", err)
		select {
		case <-time.After(mixerPause):
		case <-ctx.Done():
			return
		}
	}
}

// mixerArguments are those of the process: its inputs are at the descriptors from 3 on.
func mixerArguments() []string {
	args := []string{"-hide_banner", "-loglevel", "error", "-nostdin"}
	// amix counts samples: aresample adds those of frames that the decoder refuses.
	var filters, inputs strings.Builder
	for i := range liveVoices {
		args = append(args, "-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0",
			"-protocol_whitelist", "pipe", "-f", "ogg", "-i", fmt.Sprintf("pipe:%d", 3+i))
		fmt.Fprintf(&filters, "[%d:a]aresample=async=1[v%d];", i, i)
		fmt.Fprintf(&inputs, "[v%d]", i)
	}
	// The limiter keeps several loud voices from being cut off.
	return append(args, "-filter_complex_threads", "1", "-filter_complex",
		fmt.Sprintf("%s%samix=inputs=%d:normalize=0,alimiter=level=disabled:limit=0.95[a]", filters.String(), inputs.String(), liveVoices),
		"-map", "[a]",
		"-f", "s16le", "-ar", "48000", "-ac", "2", "-flush_packets", "1", "pipe:1")
}

// mix runs one process.
func (m *mixer) mix(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(ctx, os.TempDir(), liveNice, m.engine.ffmpeg, mixerArguments()...)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	var theirs, ours []*os.File
	closeAll := func(list []*os.File) {
		for _, f := range list {
			_ = f.Close() // the process may have ended
		}
	}
	for range m.lanes {
		r, w, err := os.Pipe()
		if err != nil {
			closeAll(theirs)
			closeAll(ours)
			return fmt.Errorf("open a pipe: %w", err)
		}
		theirs, ours = append(theirs, r), append(ours, w)
	}
	p.Cmd.ExtraFiles = theirs
	err = p.Start(decoder.Limits{Memory: 4 << 30, File: 1 << 20})
	closeAll(theirs)
	if err != nil {
		closeAll(ours)
		return err
	}
	var work sync.WaitGroup
	at := m.open()
	for i, l := range m.lanes {
		work.Go(func() {
			if pump(ctx, ours[i], l.out) != nil {
				cancel()
			}
		})
	}
	work.Go(func() {
		w := newWatch(liveStall, cancel)
		w.in = out
		_ = guard(func() error { return m.collect(w, at) }) // why is in its exit status
		cancel()
	})
	lateErr := m.feed(ctx)
	cancel()
	closeAll(ours)
	work.Wait()
	return firstOf(lateErr, p.Wait())
}

// pump writes to a file until ctx ends.
func pump(ctx context.Context, to io.Writer, queue <-chan []byte) error {
	for {
		select {
		case b := <-queue:
			if _, err := to.Write(b); err != nil {
				return err
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// open begins all lanes at the current time, and returns it in samples.
func (m *mixer) open() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	at := m.due()
	for _, l := range m.lanes {
		l.pages.Reset()
		l.written, l.ogg, l.out = at, oggopus.NewWriter(&l.pages), make(chan []byte, laneQueue)
		l.out <- l.taken()
	}
	return at
}

// due is the time up to which lanes are to be written, in samples.
func (m *mixer) due() int64 { return samplesOf(max(time.Since(m.began)-liveJitter, 0)) }

// feed writes the lanes until ctx ends, or the process doesn't read them.
func (m *mixer) feed(ctx context.Context) error {
	tick := time.NewTicker(mixEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
		if !m.write() {
			return errLate
		}
	}
}

// write writes the sound that is due; false if a lane isn't read.
func (m *mixer) write() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	to := m.due()
	for _, l := range m.lanes {
		b := l.until(to)
		if len(b) == 0 {
			continue
		}
		select {
		case l.out <- b:
		default:
			return false
		}
	}
	return true
}

// until returns the pages up to a time: frames at their times, and silence between them.
func (l *liveLane) until(to int64) []byte {
	for l.written < to {
		data, n := []byte(oggopus.Silence), int64(oggopus.FrameLength)
		for len(l.queue) > 0 && l.written-l.queue[0].at >= maxShift {
			l.queue = l.queue[1:] // too late
		}
		if len(l.queue) > 0 && l.queue[0].at-l.written < maxShift {
			data, n = l.queue[0].data, l.queue[0].n
			l.queue = l.queue[1:]
		}
		l.written += n
		l.ogg.Frame(data, n)
	}
	return l.taken()
}

// taken returns the pages that are written, and forgets them.
func (l *liveLane) taken() []byte {
	b := bytes.Clone(l.pages.Bytes())
	l.pages.Reset()
	return b
}

// collect keeps the output of a process that begins at a sample.
func (m *mixer) collect(out io.Reader, at int64) error {
	buffer := make([]byte, 16<<10)
	kept := 0 // bytes of an incomplete sample
	for {
		n, err := out.Read(buffer[kept:])
		n += kept
		whole := n - n%sampleSize
		m.keep(at, buffer[:whole])
		at += int64(whole / sampleSize)
		kept = copy(buffer, buffer[whole:n])
		if err != nil {
			return err
		}
	}
}

// keep appends sound that begins at a sample. Sound that was taken already is left out, and a gap becomes silence.
func (m *mixer) keep(at int64, pcm []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	end := m.at + int64(len(m.pcm)/sampleSize)
	if at > end+soundKept {
		m.pcm, m.at, end = m.pcm[:0], at, at
	}
	if at > end {
		m.pcm = append(m.pcm, make([]byte, (at-end)*sampleSize)...)
	} else if skip := (end - at) * sampleSize; skip > 0 {
		pcm = pcm[min(skip, int64(len(pcm))):]
	}
	m.pcm = append(m.pcm, pcm...)
	if over := len(m.pcm) - soundKept*sampleSize; over > 0 {
		m.pcm, m.at = append(m.pcm[:0], m.pcm[over:]...), m.at+int64(over/sampleSize)
	}
}

// take fills data with the sound from a sample on; silence where there is none.
func (m *mixer) take(data []byte, at int64) {
	clear(data)
	m.mu.Lock()
	defer m.mu.Unlock()
	off := (at - m.at) * sampleSize
	if off < 0 {
		if -off < int64(len(data)) {
			copy(data[-off:], m.pcm)
		}
	} else if off < int64(len(m.pcm)) {
		copy(data, m.pcm[off:])
	}
	next := at + int64(len(data)/sampleSize)
	if drop := (next - m.at) * sampleSize; drop >= int64(len(m.pcm)) {
		m.pcm, m.at = m.pcm[:0], max(next, m.at)
	} else if drop > 0 {
		m.pcm, m.at = append(m.pcm[:0], m.pcm[drop:]...), next
	}
}
