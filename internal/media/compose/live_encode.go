package compose

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"showfloor/internal/media/decoder"
)

const (
	// liveKbps is the bitrate of the pictures, and keyEvery the distance of key pictures, in pictures.
	liveKbps = 2500
	keyEvery = 2 * FrameRate
	// pictureQueue bounds the pictures that wait for the encoder, and tickSamples is the sound of one.
	pictureQueue = 4
	tickSamples  = soundRate / FrameRate
	// soundQueue bounds the sound that waits for it, in ticks.
	soundQueue = 4 * FrameRate
)

// liveArguments are those of the encoder: pictures are at descriptor 0, sound at 3, and FLV goes to 1.
func liveArguments(threads int) []string {
	kbps := strconv.Itoa(liveKbps) + "k"
	gop := strconv.Itoa(keyEvery)
	return []string{
		"-hide_banner", "-loglevel", "error", "-nostdin", "-max_alloc", strconv.Itoa(maxAlloc),
		"-protocol_whitelist", "pipe", "-probesize", "32", "-analyzeduration", "0", "-f", "rawvideo", "-pixel_format", "yuv420p",
		"-video_size", fmt.Sprintf("%dx%d", Width, Height), "-framerate", strconv.Itoa(FrameRate), "-i", "pipe:0",
		"-protocol_whitelist", "pipe", "-probesize", "32", "-analyzeduration", "0", "-f", "s16le", "-ar", strconv.Itoa(soundRate),
		"-ac", "2", "-i", "pipe:3", "-map", "0:v", "-map", "1:a",
		"-c:v", "libx264", "-preset", "veryfast", "-tune", "zerolatency", "-profile:v", "main", "-bf", "0", "-g", gop, "-keyint_min", gop,
		"-sc_threshold", "0", "-b:v", kbps, "-maxrate", kbps, "-bufsize", kbps, "-threads", strconv.Itoa(threads),
		"-c:a", "aac", "-b:a", "128k", "-flush_packets", "1", "-f", "flv", "-flvflags", "no_duration_filesize", "pipe:1",
	}
}

// encode runs one encoder.
func (l *Live) encode(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(ctx, os.TempDir(), liveNice, l.engine.ffmpeg, liveArguments(l.config.Threads)...)
	in, errIn := p.Cmd.StdinPipe()
	out, errOut := p.Cmd.StdoutPipe()
	theirs, sound, errPipe := os.Pipe()
	if err := firstOf(errIn, errOut, errPipe); err != nil {
		return fmt.Errorf("open a pipe: %w", err)
	}
	p.Cmd.ExtraFiles = []*os.File{theirs}
	err := p.Start(decoder.Limits{Memory: 4 << 30, File: 1 << 20})
	_ = theirs.Close() // the process has its own
	if err != nil {
		_ = sound.Close() // nothing was written
		return err
	}
	q := &rawQueue{
		pictures: make(chan []byte, pictureQueue), spare: make(chan []byte, pictureQueue+2), sound: make(chan []byte, soundQueue),
	}
	var work sync.WaitGroup
	work.Go(func() {
		_ = q.writePictures(ctx, in) // why is in its exit status
		cancel()
	})
	work.Go(func() {
		_ = pump(ctx, sound, q.sound) // as above
		cancel()
	})
	read := make(chan error, 1)
	work.Go(func() {
		w := newWatch(liveStall, cancel)
		w.in = out
		read <- guard(func() error { return l.config.Read(w) })
		cancel()
	})
	lateErr := l.film(ctx, q)
	cancel()
	_ = in.Close() // the process is killed
	_ = sound.Close()
	readErr := <-read
	work.Wait()
	waitErr := p.Wait()
	switch {
	case lateErr != nil:
		return lateErr
	case readErr != nil:
		return fmt.Errorf("%w: %w", errRead, readErr)
	}
	return fmt.Errorf("encode a broadcast: %w: %s", firstOf(waitErr, errEnded), p.Messages())
}

// errEnded means that an encoder has ended by itself.
var errEnded = errors.New("the encoder ended")

// rawQueue is what waits for an encoder.
type rawQueue struct{ pictures, spare, sound chan []byte }

func (q *rawQueue) writePictures(ctx context.Context, to interface{ Write(b []byte) (int, error) }) error {
	for {
		select {
		case b := <-q.pictures:
			if _, err := to.Write(b); err != nil {
				return err
			}
			select {
			case q.spare <- b:
			default:
			}
		case <-ctx.Done():
			return nil
		}
	}
}

// film composes pictures and sound at their times, until ctx ends or the encoder is too slow.
func (l *Live) film(ctx context.Context, q *rawQueue) error {
	clock := time.NewTicker(time.Second / FrameRate)
	defer clock.Stop()
	start := l.since()
	for n := 0; ; {
		select {
		case <-clock.C:
		case <-ctx.Done():
			return nil
		}
		for tick(n) <= l.since()-start && len(q.pictures) < cap(q.pictures) && len(q.sound) < cap(q.sound) {
			at := start + tick(n) - liveDelay
			var b []byte
			select {
			case b = <-q.spare:
			default:
				b = make([]byte, Width*Height*3/2)
			}
			l.paint(b, at)
			s := make([]byte, tickSamples*sampleSize)
			l.mixer.take(s, samplesOf(start-liveDelay)+int64(n*tickSamples))
			q.pictures <- b // there is space: this is the only writer
			q.sound <- s
			n++
		}
		if l.since()-start-tick(n) > liveLag {
			return errLate
		}
	}
}
