package transcoder

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"showfloor/internal/media/decoder"
)

// process is ffmpeg with its standard input.
type process struct {
	*decoder.Process

	stdin io.WriteCloser
}

// limits are far more than the job should need: they stop a decoder that media has misled.
func (j *Job) limits() decoder.Limits {
	largest := int64(0)
	for i := range j.Renditions {
		r := &j.Renditions[i]
		// The headers of MPEG-TS take up to 128 kbit/s.
		largest = max(largest, int64(r.VideoKbps)*3/2+int64(r.AudioKbps)+128)
	}
	n := len(j.Renditions)
	return decoder.Limits{
		Memory:  int64(4+2*n) << 30,
		MaxFile: int64(2*float64(largest)*1000/8*j.Length.Seconds()) + 8<<20,
		CPU:     10*time.Minute + time.Duration(n)*60*j.Length,
	}
}

// start starts ffmpeg. It also returns the pipe with its progress, which the caller must close.
func (e *Engine) start(ctx context.Context, j *Job) (p *process, progress *os.File, err error) {
	p = &process{Process: decoder.Command(ctx, j.Folder, e.ffmpeg, e.arguments(j)...)}
	progress, out, err := os.Pipe()
	if err != nil {
		return nil, nil, fmt.Errorf("open a pipe: %w", err)
	}
	p.Cmd.ExtraFiles = []*os.File{out}
	p.stdin, err = p.Cmd.StdinPipe()
	if err == nil {
		err = p.Start(j.limits())
	}
	_ = out.Close() // ffmpeg has its own
	if err != nil {
		_ = progress.Close() // nothing was read
		return nil, nil, err
	}
	return p, progress, nil
}
