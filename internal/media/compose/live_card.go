package compose

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"showfloor/internal/media/decoder"
)

// newCard returns a black picture.
func newCard() *image {
	card := newImage(Width, Height)
	card.fill(area{w: Width, h: Height}, color{16, 128, 128})
	return card
}

// draw writes the room's name on the card. Without it, the card stays black.
func (l *Live) draw(ctx context.Context) {
	if printable(l.config.Name) == "" {
		return
	}
	card, err := l.engine.drawCard(ctx, printable(l.config.Name))
	if err != nil {
		if ctx.Err() == nil {
			l.engine.log.Warn("the name of a room could not be drawn", "error", err)
		}
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.card = card
}

// drawCard draws a text in the middle, in white on black.
func (e *Engine) drawCard(ctx context.Context, text string) (*image, error) {
	folder, err := os.MkdirTemp("", "showfloor-card-")
	if err != nil {
		return nil, fmt.Errorf("make a folder for a name: %w", err)
	}
	defer os.RemoveAll(folder)
	if err := os.WriteFile(filepath.Join(folder, "name"), []byte(text), 0o600); err != nil {
		return nil, fmt.Errorf("write a name: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, liveStall)
	defer cancel()
	p := decoder.Command(ctx, folder, liveNice, e.ffmpeg, "-hide_banner", "-loglevel", "error", "-nostdin", "-f", "lavfi",
		"-i", fmt.Sprintf("color=black:size=%dx%d", Width, Height),
		"-vf", "drawtext=font=Sans:textfile=name:expansion=none:fontsize=44:fontcolor=white:x=(w-text_w)/2:y=(h-text_h)/2",
		"-frames:v", "1", "-pix_fmt", "yuv420p", "-f", "rawvideo", "pipe:1")
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	if err := p.Start(decoder.Limits{Memory: 2 << 30, File: 1 << 20, CPU: time.Minute}); err != nil {
		return nil, err
	}
	card := newImage(Width, Height)
	_, readErr := io.ReadFull(out, card.data)
	if err := p.Wait(); err != nil || readErr != nil {
		return nil, fmt.Errorf("draw a name: %w: %s", firstOf(err, readErr), p.Messages())
	}
	return card, nil
}
