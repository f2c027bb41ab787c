package bridge

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os/exec"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/bluenviron/mediacommon/v2/pkg/codecs/mpeg4audio"
	"github.com/pion/webrtc/v4/pkg/media/oggreader"

	"showfloor/internal/base/fairshare"
	"showfloor/internal/media/decoder"
	"showfloor/internal/media/hub"
)

const (
	// aacBacklog is how many AAC frames may wait for a converter, about two seconds. A
	// converter that is further behind is replaced.
	aacBacklog = 100
	// opusFrame is the duration of one Opus packet of a converter.
	opusFrame = 20 * time.Millisecond
	// maxGap is how far the audio's times may jump within one converter: it counts samples and
	// knows no times.
	maxGap = 150 * time.Millisecond
)

// Reasons why audio can't be converted.
var (
	errNoConverter  = errors.New("this server has no ffmpeg to convert AAC to a codec that browsers play: watch by HLS, or send Opus")
	errAllConverted = errors.New("the limit of streams with converted sound is reached, in total or for this tenant: " +
		"watch by HLS, or send Opus")
)

// Converters runs the processes that convert audio, up to a bound: AAC to Opus for each stream
// that is watched in its room on this node, and Opus to AAC for each broadcast from a room.
type Converters struct {
	program string
	// running has a place for each conversion, by tenant. A conversion keeps its place while it
	// has no process, between two processes.
	running *fairshare.Places[string]
	started atomic.Uint64
}

// few is the number of conversions of a tenant below which it may take one of the last places.
const few = 2

// NewConverters looks up ffmpeg; without it every conversion is refused. bound is how many
// conversions may run at a time; the last quarter is for tenants that have fewer than two.
func NewConverters(bound int) *Converters {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		program = ""
	}
	return &Converters{program: program, running: fairshare.New[string](bound, bound/4, few)}
}

// Running returns the number of current conversions.
func (c *Converters) Running() int { return c.running.Taken() }

// Started returns how many processes have been started.
func (c *Converters) Started() uint64 { return c.started.Load() }

// Share is a tenant's share of the converters.
type Share struct {
	*Converters

	tenantID string
}

// For returns a tenant's share.
func (c *Converters) For(tenantID string) Share { return Share{c, tenantID} }

// claim takes a place for a conversion; release frees it.
func (s Share) claim() error {
	if s.program == "" {
		return errNoConverter
	}
	if !s.running.Take(s.tenantID) {
		return errAllConverted
	}
	return nil
}

func (s Share) release() { s.running.Release(s.tenantID) }

// process is one ffmpeg process. Its goroutines end with ctx.
type process struct {
	ctx    context.Context
	cancel context.CancelFunc
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	said   *tail
}

// launch starts ffmpeg. The caller must call wait.
func (c *Converters) launch(arguments []string) (*process, error) {
	ctx, cancel := context.WithCancel(context.Background())
	p := &process{ctx: ctx, cancel: cancel, said: &tail{}}
	p.cmd = exec.CommandContext(ctx, c.program, arguments...)
	p.cmd.Env = decoder.Environment()
	p.cmd.Stderr = p.said
	var errIn, errOut error
	p.stdin, errIn = p.cmd.StdinPipe()
	p.stdout, errOut = p.cmd.StdoutPipe()
	if err := errors.Join(errIn, errOut); err != nil {
		cancel()
		return nil, fmt.Errorf("open pipes: %w", err)
	}
	if err := p.cmd.Start(); err != nil {
		cancel()
		return nil, fmt.Errorf("start ffmpeg: %w", err)
	}
	c.started.Add(1)
	return p, nil
}

// wait kills the process and returns when it has ended.
func (p *process) wait(log *slog.Logger) {
	p.cancel()
	if err := p.cmd.Wait(); err != nil && len(p.said.text) > 0 {
		log.Warn("ffmpeg ended", "error", err, "said", string(p.said.text))
	}
}

// converter is one process that converts AAC to Opus. Only one goroutine may call write and
// follows.
type converter struct {
	in   chan *hub.Unit
	stop func() // idempotent; returns when the process and its goroutines have ended

	config mpeg4audio.AudioSpecificConfig
	first  time.Duration // the time of the first frame
	frame  time.Duration
	frames int64
	dead   chan struct{} // closed when the process has ended
}

// start runs a process for a track. out is called with each converted packet, on a goroutine of
// the converter.
func (s Share) start(track *hub.Track, out func(packet []byte, at time.Duration), log *slog.Logger) (*converter, error) {
	if err := s.claim(); err != nil {
		return nil, err
	}
	v := &converter{in: make(chan *hub.Unit, aacBacklog), dead: make(chan struct{})}
	if err := v.config.Unmarshal(track.AudioConfig); err != nil || v.config.SampleRate <= 0 {
		s.release()
		return nil, fmt.Errorf("the stream's sound can't be read: %w", err)
	}
	v.frame = 1024 * time.Second / time.Duration(v.config.SampleRate)
	if err := v.run(s, out, log); err != nil {
		s.release()
		return nil, err
	}
	return v, nil
}

// arguments make ffmpeg write each packet as soon as possible, on an Ogg page of its own.
func arguments() []string {
	return []string{
		"-hide_banner", "-loglevel", "error", "-nostdin",
		"-fflags", "nobuffer", "-flags", "low_delay", "-probesize", "32", "-analyzeduration", "0", "-f", "aac", "-i", "pipe:0",
		"-c:a", "libopus", "-b:a", "128k", "-ar", strconv.Itoa(audioRate), "-ac", "2", "-frame_duration", "20",
		"-f", "ogg", "-page_duration", strconv.FormatInt(opusFrame.Microseconds(), 10), "-flush_packets", "1", "pipe:1",
	}
}

func (v *converter) run(s Share, out func([]byte, time.Duration), log *slog.Logger) error {
	p, err := s.launch(arguments())
	if err != nil {
		return err
	}
	ready := make(chan struct{}) // closed when first is set
	var work sync.WaitGroup
	work.Go(func() { v.feed(p.ctx, p.stdin, ready) })
	work.Go(func() {
		v.drain(p.ctx, p.stdout, ready, out)
		p.wait(log) // also if the output ended by itself
		s.release()
		close(v.dead)
	})
	v.stop = sync.OnceFunc(func() {
		p.cancel()
		work.Wait()
	})
	return nil
}

// maxSaid is how much of a process's error output is kept, in bytes: it writes a line for each
// frame that it can't decode.
const maxSaid = 1 << 10

// tail keeps the last maxSaid bytes that are written to it.
type tail struct{ text []byte }

func (t *tail) Write(b []byte) (int, error) {
	t.text = append(t.text, b...)
	if more := len(t.text) - maxSaid; more > 0 {
		t.text = append(t.text[:0], t.text[more:]...)
	}
	return len(b), nil
}

// feed writes frames to the process.
func (v *converter) feed(ctx context.Context, stdin io.WriteCloser, ready chan<- struct{}) {
	defer stdin.Close()
	announce := sync.OnceFunc(func() { close(ready) })
	for {
		select {
		case u := <-v.in:
			announce()
			packets := mpeg4audio.ADTSPackets{{
				Type: v.config.Type, SampleRate: v.config.SampleRate, ChannelConfig: v.config.ChannelConfig, AU: u.Data,
			}}
			b, err := packets.Marshal()
			if err != nil {
				continue // the frame is too large for ADTS: skip it
			}
			if _, err := stdin.Write(b); err != nil {
				return
			}
		case <-ctx.Done():
			return
		}
	}
}

// drain reads packets from the process and passes them to out with their times.
func (v *converter) drain(ctx context.Context, stdout io.Reader, ready <-chan struct{}, out func([]byte, time.Duration)) {
	select {
	case <-ready:
	case <-ctx.Done():
		return
	}
	ogg, head, err := oggreader.NewWith(stdout)
	if err != nil {
		return
	}
	skip := time.Duration(head.PreSkip) * time.Second / audioRate
	for n := int64(0); ; {
		packet, _, err := ogg.ParseNextPage()
		if err != nil {
			return
		}
		if len(packet) >= 8 && string(packet[:8]) == "OpusTags" {
			continue
		}
		out(packet, v.first+time.Duration(n*int64(opusFrame))-skip)
		n++
	}
}

// write queues a frame for the process; false when the process is too slow or has ended.
func (v *converter) write(u *hub.Unit) bool {
	if v.frames == 0 {
		v.first = u.PTS
	}
	select {
	case <-v.dead:
		return false
	default:
	}
	select {
	case v.in <- u:
		v.frames++
		return true
	default:
		return false
	}
}

// follows reports whether a frame continues the previous ones.
func (v *converter) follows(pts time.Duration) bool {
	if v.frames == 0 {
		return true
	}
	gap := pts - (v.first + time.Duration(v.frames)*v.frame)
	return gap > -maxGap && gap < maxGap
}
