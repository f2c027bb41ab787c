package thumbnail

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/draw"
	"image/jpeg"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
)

// Size of a storyboard's tiles in pixels, and their number on a sheet.
const (
	tileWidth, tileHeight = 160, 90
	columns, rows         = 10, 10
	sheetQuality          = 70
)

// Scene is a picture of a recording and its time from the beginning.
type Scene struct {
	Picture

	At time.Duration
}

// Storyboard has small pictures of a recording on sheets, and a WebVTT file that says which part of which sheet shows which time.
type Storyboard struct {
	// Sheets are JPEG files of at most 100 tiles.
	Sheets [][]byte
	VTT    []byte
}

// Storyboard makes a storyboard of scenes in the order of their times. name returns the name of sheet n (from 1) as the VTT file
// references it. total is the recording's duration. If ffmpeg skips a scene that it can't decode, the tiles after it have the times
// of the scenes before theirs, because its output doesn't say which one is missing.
func (m *Maker) Storyboard(ctx context.Context, scenes iter.Seq2[Scene, error], total time.Duration,
	name func(n int) string,
) (Storyboard, error) {
	b := &board{name: name, total: total}
	var times []time.Duration
	next, stop := iter.Pull2(scenes)
	defer stop()
	scene, err, more := next()
	for more {
		// One process decodes all pictures of a codec; recordings rarely change it.
		codec := scene.codec
		if err != nil {
			return Storyboard{}, err
		}
		first := len(times)
		got := 0
		decodeErr := m.decode(ctx, codec, tileFilter(), func(w io.Writer) error {
			for ; more && err == nil && scene.codec == codec; scene, err, more = next() {
				times = append(times, scene.At)
				if _, werr := w.Write(scene.annexB); werr != nil {
					return werr
				}
			}
			return err
		}, func(file []byte) error {
			got++
			return b.add(file)
		})
		if decodeErr != nil {
			return Storyboard{}, decodeErr
		}
		times = times[:first+min(got, len(times)-first)]
	}
	return b.finish(times)
}

func tileFilter() string {
	size := strconv.Itoa(tileWidth) + ":" + strconv.Itoa(tileHeight)
	return "scale=" + size + ":force_original_aspect_ratio=decrease,pad=" + size + ":(ow-iw)/2:(oh-ih)/2"
}

// board places tiles on sheets.
type board struct {
	name   func(n int) string
	total  time.Duration
	sheet  *image.RGBA
	tiles  int
	sheets [][]byte
}

// add places a tile.
func (b *board) add(file []byte) error {
	tile, err := jpeg.Decode(bytes.NewReader(file))
	if err != nil {
		return fmt.Errorf("read a tile: %w", err)
	}
	if b.sheet == nil {
		b.sheet = image.NewRGBA(image.Rect(0, 0, columns*tileWidth, rows*tileHeight))
	}
	x, y := place(b.tiles)
	draw.Draw(b.sheet, image.Rect(x, y, x+tileWidth, y+tileHeight), tile, tile.Bounds().Min, draw.Src)
	if b.tiles++; b.tiles%(columns*rows) == 0 {
		return b.close()
	}
	return nil
}

// place is the position of tile n on its sheet, in pixels.
func place(n int) (x, y int) {
	n %= columns * rows
	return n % columns * tileWidth, n / columns * tileHeight
}

// close encodes the current sheet, without its empty rows.
func (b *board) close() error {
	if b.sheet == nil {
		return nil
	}
	used := (b.tiles-1)%(columns*rows)/columns + 1
	var out bytes.Buffer
	part := b.sheet.SubImage(image.Rect(0, 0, columns*tileWidth, used*tileHeight))
	if err := jpeg.Encode(&out, part, &jpeg.Options{Quality: sheetQuality}); err != nil {
		return fmt.Errorf("write a sheet: %w", err)
	}
	b.sheets, b.sheet = append(b.sheets, out.Bytes()), nil
	return nil
}

// finish writes the VTT file. times has one time for each tile.
func (b *board) finish(times []time.Duration) (Storyboard, error) {
	if err := b.close(); err != nil {
		return Storyboard{}, err
	}
	if len(times) == 0 {
		return Storyboard{}, ErrNoPicture
	}
	var vtt strings.Builder
	vtt.WriteString("WEBVTT\n")
	for i, at := range times {
		end := b.total
		if i+1 < len(times) {
			end = times[i+1]
		}
		if i == 0 {
			at = 0
		}
		if end <= at {
			continue
		}
		x, y := place(i)
		fmt.Fprintf(&vtt, "\n%s --> %s\n%s#xywh=%d,%d,%d,%d\n", stamp(at), stamp(end), b.name(i/(columns*rows)+1), x, y, tileWidth, tileHeight)
	}
	return Storyboard{Sheets: b.sheets, VTT: []byte(vtt.String())}, nil
}

// stamp is a time as WebVTT writes it.
func stamp(d time.Duration) string {
	ms := d.Milliseconds()
	return fmt.Sprintf("%02d:%02d:%02d.%03d", ms/3_600_000, ms/60_000%60, ms/1000%60, ms%1000)
}

// Every returns the distance of scenes so that a recording of that length has at most tiles of them: one each 5 s, or more.
func Every(total time.Duration, tiles int) time.Duration {
	const usual = 5 * time.Second
	if tiles <= 0 {
		return usual
	}
	return max(usual, total/time.Duration(tiles))
}
