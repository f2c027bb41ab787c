package transcoder

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"showfloor/internal/media/decoder"
)

// measure reads a finished file with ffprobe.
func (e *Engine) measure(ctx context.Context, j *Job, r *Rendition) (File, error) {
	_, demuxer, _ := j.format()
	f := File{Name: r.Name, Path: j.path(r)}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := decoder.Command(ctx, j.Folder, e.ffprobe, "-loglevel", "error", "-max_alloc", strconv.Itoa(maxAlloc),
		"-protocol_whitelist", "file", "-f", demuxer,
		"-show_entries", "packet=stream_index,pts_time,duration_time,size:stream=index,codec_type,width,height",
		"-of", "compact", "file:"+f.Path)
	out, err := p.Cmd.StdoutPipe()
	if err != nil {
		return f, fmt.Errorf("open a pipe: %w", err)
	}
	if err := p.Start(j.limits()); err != nil {
		return f, err
	}
	m := measurement{first: math.Inf(1), bytes: map[string]int64{}}
	readErr := m.read(out)
	if readErr != nil {
		cancel()
	}
	waitErr := p.Wait()
	switch {
	case readErr != nil:
		return f, fmt.Errorf("measure %s: %w", r.Name, readErr)
	case ctx.Err() != nil:
		return f, ctx.Err()
	case waitErr != nil:
		return f, fmt.Errorf("measure %s: %w: %s", r.Name, waitErr, strings.TrimSpace(p.Messages.String()))
	}
	info, err := os.Stat(f.Path)
	if err != nil {
		return f, fmt.Errorf("measure %s: %w", r.Name, err)
	}
	f.Size = info.Size()
	m.fill(&f, j.MPEGTS)
	if j.HasVideo && f.VideoKbps == 0 || j.sounds(r) && f.AudioKbps == 0 {
		return f, &MediaError{noTrack}
	}
	return f, nil
}

// measurement is what ffprobe says about a file.
type measurement struct {
	video, audio  string // indexes of the tracks
	width, height int
	bytes         map[string]int64 // of each track
	first, end    float64          // earliest beginning and latest end of packets, in seconds
}

// read reads lines such as "packet|stream_index=0|pts_time=0.033|size=99". Those of the tracks come after those of the packets.
func (m *measurement) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		v := map[string]string{}
		for part := range strings.SplitSeq(lines.Text(), "|") {
			if name, value, ok := strings.Cut(part, "="); ok {
				v[name] = value
			}
		}
		switch v["codec_type"] {
		case "video":
			m.video = v["index"]
			m.width, _ = strconv.Atoi(v["width"]) // 0 if unknown
			m.height, _ = strconv.Atoi(v["height"])
		case "audio":
			m.audio = v["index"]
		case "":
			m.packet(v)
		}
	}
	return lines.Err()
}

func (m *measurement) packet(v map[string]string) {
	size, err := strconv.ParseInt(v["size"], 10, 64)
	if err != nil {
		return
	}
	m.bytes[v["stream_index"]] += size
	at, err := strconv.ParseFloat(v["pts_time"], 64)
	if err != nil {
		return
	}
	lasts, _ := strconv.ParseFloat(v["duration_time"], 64) // 0 if unknown
	m.first, m.end = min(m.first, at), max(m.end, at+lasts)
}

// fill writes the result. The zero of an MP4 file is its beginning; that of an MPEG-TS file is arbitrary.
func (m *measurement) fill(f *File, mpegTS bool) {
	seconds := m.end
	if mpegTS {
		seconds -= m.first
	}
	if seconds <= 0 {
		return
	}
	f.Duration = time.Duration(seconds * float64(time.Second)).Round(time.Microsecond)
	f.Width, f.Height = m.width, m.height
	kbps := func(track string) int {
		if bytes := m.bytes[track]; bytes > 0 {
			return max(1, int(math.Round(float64(bytes)*8/1000/seconds)))
		}
		return 0
	}
	f.VideoKbps, f.AudioKbps = kbps(m.video), kbps(m.audio)
}
