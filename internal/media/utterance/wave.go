package utterance

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/decoder"
)

const (
	// waveRate is what models of speech recognition work with, in samples per second.
	waveRate = 16_000
	// niceness of the decoder: media in real time comes first.
	niceness = 10
	// maxAlloc bounds one allocation of the decoder.
	maxAlloc = 64 << 20
	// decodeTime is the time limit of a decoder; one takes about 50 ms.
	decodeTime = 30 * time.Second
	// maxWave bounds what it may write: twice the longest utterance.
	maxWave = 2 * 2 * waveRate * maxLength / 48_000
)

var (
	// ErrNoDecoder means that there is no ffmpeg.
	ErrNoDecoder = errors.New("ffmpeg is missing")
	// ErrSound means that the sound can't be decoded.
	ErrSound = errors.New("the sound can't be decoded")
)

// Wave converts an utterance's sound to a WAV file of one channel with 16 bits, which every server for speech recognition reads. The
// error is ErrSound if that will fail again.
func Wave(ctx context.Context, sound []byte) ([]byte, error) {
	program, err := exec.LookPath("ffmpeg")
	if err != nil {
		return nil, ErrNoDecoder
	}
	ctx, cancel := context.WithTimeout(ctx, decodeTime)
	defer cancel()
	p := decoder.Command(ctx, os.TempDir(), niceness, program, "-hide_banner", "-loglevel", "error", "-threads", "1",
		"-max_alloc", strconv.Itoa(maxAlloc), "-protocol_whitelist", "pipe", "-f", "ogg", "-i", "pipe:0", "-map", "0:a:0",
		"-ac", "1", "-ar", strconv.Itoa(waveRate), "-c:a", "pcm_s16le", "-f", "s16le", "pipe:1")
	p.Cmd.Stdin = bytes.NewReader(sound)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	if err := p.Start(decoder.Limits{Memory: 1 << 30, File: 1, CPU: decodeTime}); err != nil {
		return nil, fmt.Errorf("decode an utterance: %w", err)
	}
	samples, readErr := io.ReadAll(io.LimitReader(out, maxWave))
	_ = out.Close() // if it is still writing, it ends now
	waitErr := p.Wait()
	if e, ended := errors.AsType[*exec.ExitError](waitErr); ended && e.Exited() || waitErr == nil && len(samples) == 0 {
		return nil, fmt.Errorf("%w: %s", ErrSound, strings.TrimSpace(p.Messages()))
	}
	if err := errors.Join(readErr, waitErr); err != nil {
		return nil, fmt.Errorf("decode an utterance: %w: %s", err, strings.TrimSpace(p.Messages()))
	}
	return append(waveHeader(len(samples)), samples...), nil
}

// waveHeader is that of a RIFF file with so many bytes of samples.
func waveHeader(size int) []byte {
	b := append(make([]byte, 0, 44+size), "RIFF"...)
	b = binary.LittleEndian.AppendUint32(b, uint32(36+size))
	b = append(b, "WAVEfmt "...)
	b = binary.LittleEndian.AppendUint32(b, 16) // bytes of the format
	b = binary.LittleEndian.AppendUint16(b, 1)  // PCM
	b = binary.LittleEndian.AppendUint16(b, 1)  // channels
	b = binary.LittleEndian.AppendUint32(b, waveRate)
	b = binary.LittleEndian.AppendUint32(b, 2*waveRate) // bytes a second
	b = binary.LittleEndian.AppendUint16(b, 2)          // bytes of a sample of all channels
	b = binary.LittleEndian.AppendUint16(b, 16)         // bits of a sample
	b = append(b, "data"...)
	return binary.LittleEndian.AppendUint32(b, uint32(size))
}
