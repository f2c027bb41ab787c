package compose

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"showfloor/internal/media/decoder"
	"showfloor/internal/media/trackfile"
)

const (
	// shownPackets bounds the packets that wait for a decoder: a second of a large picture. Further ones are lost.
	shownPackets = 2048
	// shownFrames is how many decoded pictures wait for their time: more than liveDelay of them.
	shownFrames = 20
	// shownWait is how long a missing packet is waited for.
	shownWait = 150 * time.Millisecond
	// askEvery is the shortest time between two requests of a key picture.
	askEvery = 500 * time.Millisecond
	// decoderPause is the time between two starts of a decoder that fails.
	decoderPause = 2 * time.Second
)

// Shown is a track whose pictures are shown. Its methods are safe for concurrent use.
type Shown struct {
	live    *Live
	format  format
	key     func()
	packets chan trackfile.Packet
	ctx     context.Context //nolint:containedctx // ends its goroutines
	cancel  context.CancelFunc
	frames  chan *frame
	spare   chan *image
	done    chan struct{} // closed when run has returned

	// Only feed uses the following.
	clock liveClock
	order reorderer
	asked time.Time

	// Live.mu guards the following.
	now, then *frame // shown, and the one after it
}

func newShown(l *Live, f format, clockRate uint32, key func()) *Shown {
	s := &Shown{
		live: l, format: f, key: key, packets: make(chan trackfile.Packet, shownPackets), frames: make(chan *frame, shownFrames),
		spare: make(chan *image, shownFrames+2), done: make(chan struct{}),
		clock: liveClock{rate: int64(max(clockRate, 1))}, order: reorderer{wait: shownWait},
	}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Packet takes a packet. It copies the payload, and never blocks: packets that come too fast are lost.
func (s *Shown) Packet(sequence uint16, timestamp uint32, marker bool, payload []byte) {
	p := trackfile.Packet{
		Arrived: s.live.since(), Sequence: sequence, Timestamp: timestamp, Marker: marker, Payload: bytes.Clone(payload),
	}
	select {
	case s.packets <- p:
	default:
	}
}

// end ends the decoder, and returns when it has ended.
func (s *Shown) end() {
	s.cancel()
	<-s.done
}

// run decodes until end. A decoder that fails is replaced.
func (s *Shown) run() {
	defer close(s.done)
	for {
		err := guard(s.decode)
		if s.ctx.Err() != nil {
			return
		}
		if errors.Is(err, errPanic) {
			s.live.engine.log.Error("the pictures of a broadcast could not be decoded", "error", err)
		}
		select {
		case <-time.After(decoderPause):
		case <-s.ctx.Done():
			return
		}
	}
}

// decode runs one decoder, which scales the pictures to the output's size, with black bars.
func (s *Shown) decode() error {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	size := fmt.Sprintf("%d:%d", Width, Height)
	p := decoder.Command(ctx, os.TempDir(), liveNice, s.live.engine.ffmpeg, "-hide_banner", "-loglevel", "error", "-threads", "1",
		"-max_alloc", strconv.Itoa(maxAlloc), "-flags", "low_delay", "-protocol_whitelist", "pipe", "-probesize", "32",
		"-analyzeduration", "0", "-f", "ivf", "-copyts", "-i", "pipe:0", "-map", "0:v:0", "-filter_threads", "1",
		"-vf", "scale="+size+":force_original_aspect_ratio=decrease:force_divisible_by=2:flags=fast_bilinear,"+
			"pad="+size+":(ow-iw)/2:(oh-ih)/2,setsar=1,format=yuv420p",
		"-fps_mode", "passthrough", "-enc_time_base", "1/1000", "-c:v", "rawvideo", "-flush_packets", "1",
		"-f", "matroska", "-write_crc32", "0", "-live", "1", "-cluster_size_limit", "1", "pipe:1")
	in, errIn := p.Cmd.StdinPipe()
	out, errOut := p.Cmd.StdoutPipe()
	if err := firstOf(errIn, errOut); err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	// It may run for days, so its CPU time has no limit.
	if err := p.Start(decoder.Limits{Memory: 2 << 30, File: 1 << 20}); err != nil {
		return err
	}
	feeding := make(chan error, 1)
	go func() {
		err := guard(func() error { return s.feed(ctx, in) })
		_ = in.Close() // the decoder may have ended
		cancel()
		feeding <- err
	}()
	readErr := guard(func() error {
		s.pass(ctx, newRawReader(out))
		return nil
	})
	cancel()
	_ = out.Close() // it is ended
	return firstOf(<-feeding, readErr, p.Wait())
}

// feed writes the pictures of the packets to the decoder, as an IVF file.
func (s *Shown) feed(ctx context.Context, to io.Writer) error {
	w := &ivfWriter{to: to, last: -1}
	if err := w.begin(s.format.fourCC); err != nil {
		return err
	}
	pictures := newAssembler(s.format)
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case p := <-s.packets:
			s.order.push(&p, s.clock.place(p.Timestamp, p.Arrived), func(x *placed) { pictures.push(x, w.write) })
			if w.err != nil {
				return w.err
			}
		}
		if now := time.Now(); pictures.waiting && now.Sub(s.asked) >= askEvery {
			s.asked = now
			s.key()
		}
	}
}

// pass passes on the pictures of the decoder until its end.
func (s *Shown) pass(ctx context.Context, in *rawReader) {
	for {
		var pic *image
		select {
		case pic = <-s.spare:
		default:
			pic = newImage(Width, Height)
		}
		at, err := in.next(pic.data)
		if err != nil {
			return
		}
		select {
		case s.frames <- &frame{at, pic}:
		case <-ctx.Done():
			return
		}
	}
}

// advance moves to the last picture up to a time, and reports whether there is one. It doesn't wait for the decoder.
func (s *Shown) advance(to time.Duration) bool {
	for {
		if s.then == nil {
			select {
			case s.then = <-s.frames:
			default:
				return s.now != nil
			}
		}
		if s.then.at > to {
			return s.now != nil
		}
		if s.now != nil {
			select {
			case s.spare <- s.now.pic:
			default:
			}
		}
		s.now, s.then = s.then, nil
	}
}

// ivfWriter writes pictures as an IVF file with times in milliseconds.
type ivfWriter struct {
	to   io.Writer
	last int64 // the last time
	err  error // the first error
}

// begin writes the header. Decoders take the size from the pictures.
func (w *ivfWriter) begin(fourCC string) error {
	head := append([]byte("DKIF\x00\x00\x20\x00"), fourCC...)
	head = binary.LittleEndian.AppendUint16(head, Width)
	head = binary.LittleEndian.AppendUint16(head, Height)
	head = binary.LittleEndian.AppendUint32(head, 1000)
	head = binary.LittleEndian.AppendUint32(head, 1)
	head = binary.LittleEndian.AppendUint64(head, 0) // an unknown number of pictures
	_, err := w.to.Write(head)
	return err
}

// write writes a picture; its time is later than the last one's.
func (w *ivfWriter) write(p *picture) {
	if w.err != nil {
		return
	}
	w.last = max(p.at.Milliseconds(), w.last+1)
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, 12+len(p.data)), uint32(len(p.data)))
	b = binary.LittleEndian.AppendUint64(b, uint64(w.last))
	_, w.err = w.to.Write(append(b, p.data...))
}
