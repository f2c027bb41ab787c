package compose

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"showfloor/internal/media/decoder"
)

const (
	// labelWidth and labelHeight are the most that a name takes, in pixels.
	labelWidth, labelHeight = 320, 26
	// labelsAtOnce is how many names one process draws, and maxLabels how many a recording has. Further participants have none.
	labelsAtOnce, maxLabels = 50, 500
	// maxName bounds a name, in characters.
	maxName = 40
	// labelDim is how much of the picture is seen behind a name, in 256ths.
	labelDim = 96
)

// label is a name as it is drawn: the whiteness of each pixel.
type label struct {
	width int // of the text; it is even
	mask  []byte
}

// printable returns a name in one line, without characters that change the direction or the place of others.
func printable(name string) string {
	var b strings.Builder
	n := 0
	for _, r := range strings.Join(strings.Fields(name), " ") {
		if !unicode.IsPrint(r) {
			continue
		}
		if n++; n > maxName {
			b.WriteRune('…')
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// labels draws all names of a plan.
func (e *Engine) labels(ctx context.Context, folder string, list []interval) (map[string]*label, error) {
	found := map[string]*label{}
	var names []string
	for _, i := range list {
		for _, t := range i.tiles {
			if t.name != "" && found[t.name] == nil && len(names) < maxLabels && printable(t.name) != "" {
				found[t.name] = &label{}
				names = append(names, t.name)
			}
		}
	}
	for from := 0; from < len(names); from += labelsAtOnce {
		some := names[from:min(from+labelsAtOnce, len(names))]
		masks, err := e.drawNames(ctx, folder, some)
		if err != nil {
			return nil, err
		}
		for i, name := range some {
			found[name].set(masks[i*labelWidth*labelHeight:][:labelWidth*labelHeight])
		}
	}
	return found, nil
}

// drawNames draws names below each other, in white on black.
func (e *Engine) drawNames(ctx context.Context, folder string, names []string) ([]byte, error) {
	filters := make([]string, len(names))
	for i, name := range names {
		file := fmt.Sprintf("name%d", i)
		if err := os.WriteFile(filepath.Join(folder, file), []byte(printable(name)), 0o600); err != nil {
			return nil, fmt.Errorf("write a name: %w", err)
		}
		filters[i] = fmt.Sprintf("drawtext=font=Sans:textfile=%s:expansion=none:fontsize=17:fontcolor=white:x=8:y=%d-max_glyph_a",
			file, i*labelHeight+19)
	}
	size := labelWidth * labelHeight * len(names)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(running, folder, niceness, e.ffmpeg, "-hide_banner", "-loglevel", "error", "-nostdin", "-f", "lavfi",
		"-i", fmt.Sprintf("color=black:size=%dx%d", labelWidth, labelHeight*len(names)), "-vf", strings.Join(filters, ","),
		"-frames:v", "1", "-pix_fmt", "gray", "-f", "rawvideo", "pipe:1")
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("open a pipe: %w", err)
	}
	if err := p.Start(limitsFor(0)); err != nil {
		return nil, err
	}
	mask := make([]byte, size)
	w := newWatch(e.stall, cancel)
	w.in = out
	_, readErr := io.ReadFull(w, mask)
	if err := p.Wait(); err != nil || readErr != nil {
		return nil, fmt.Errorf("draw names: %w: %s", firstOf(err, readErr), p.Messages())
	}
	return mask, nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// set copies a mask, and measures its text.
func (l *label) set(mask []byte) {
	l.mask = append([]byte(nil), mask...)
	for i, v := range l.mask {
		if v > 64 {
			l.width = max(l.width, i%labelWidth)
		}
	}
	l.width = min(even(l.width+10), labelWidth)
}

// stamp draws a name into the lower left corner of an area.
func (i *image) stamp(l *label, a area) {
	if l == nil || l.width == 0 || a.h < 2*labelHeight || a.w < 2 {
		return
	}
	width := min(l.width, a.w)
	planes := i.planes()
	for y := range labelHeight {
		row := planes[0].data[(a.y+a.h-labelHeight+y)*i.w+a.x:][:width]
		for x := range row {
			white := int(l.mask[y*labelWidth+x])
			behind := 16 + (int(row[x])-16)*labelDim/256
			row[x] = byte(max(behind, 0)*(255-white)/255 + 235*white/255)
		}
	}
	for _, p := range planes[1:] {
		for y := range labelHeight / 2 {
			row := p.data[((a.y+a.h-labelHeight)/2+y)*p.w+a.x/2:][:width/2]
			for x := range row {
				row[x] = byte(128 + (int(row[x])-128)*labelDim/256)
			}
		}
	}
}
