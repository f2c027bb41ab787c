package bench

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib"
	"github.com/stretchr/testify/require"
)

// publisherPlan is the child process's configuration.
type publisherPlan struct {
	Addr    string
	Keys    []string
	Clip    string
	Seconds int
	// Fast is the time of media that is published at first, fastSpeed times as fast as its times say.
	Fast time.Duration
}

// fastSpeed is how many seconds of the fast media are published in a second.
const fastSpeed = 20

// due returns when the media at a time is published, from the beginning on.
func (p *publisherPlan) due(media time.Duration) time.Duration {
	fast := min(media, p.Fast)
	return fast/fastSpeed + media - fast
}

const (
	publisherEnv = "SHOWFLOOR_BENCH_PUBLISHERS"
	onAirLine    = "all publishers are on air"
	// outChunk is OBS's chunk size.
	outChunk = 4096
)

// publishers is a child process that publishes, so that its CPU time doesn't
// count as the server's.
type publishers struct {
	cmd   *exec.Cmd
	stdin interface{ Close() error }
}

// startPublishers publishes the FLV clip in real time to rtmp://addr/live/<key>,
// once for each key, and returns when all streams are live. It ends after
// seconds, or with stop.
func startPublishers(tb testing.TB, addr string, keys []string, clip string, seconds int) *publishers {
	tb.Helper()
	return publish(tb, publisherPlan{Addr: addr, Keys: keys, Clip: clip, Seconds: seconds})
}

// publish starts the publishers of a plan and returns when all streams are live.
func publish(tb testing.TB, what publisherPlan) *publishers {
	tb.Helper()
	plan, err := json.Marshal(what)
	require.NoError(tb, err)
	exe, err := os.Executable()
	require.NoError(tb, err)
	p := &publishers{cmd: exec.Command(exe, "-test.run=^TestPublisherProcess$", "-test.v")}
	p.cmd.Env = append(os.Environ(), publisherEnv+"="+string(plan))
	p.cmd.Stderr = os.Stderr
	stdin, err := p.cmd.StdinPipe()
	require.NoError(tb, err)
	p.stdin = stdin
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, p.cmd.Start())
	tb.Cleanup(p.stop)
	lines := bufio.NewScanner(stdout)
	var said []string
	for lines.Scan() {
		if strings.Contains(lines.Text(), onAirLine) {
			return p
		}
		said = append(said, lines.Text())
	}
	tb.Fatalf("the publishers did not get on air:\n%s", strings.Join(said, "\n"))
	return nil
}

// stop ends the publishers and waits for them. It may be called again.
func (p *publishers) stop() {
	_ = p.stdin.Close()
	p.wait()
}

// wait waits for the end of the publishers' time.
func (p *publishers) wait() { _ = p.cmd.Wait() } // its exit code doesn't matter

// publishClip creates the clip of all media benchmarks: 720p30 H.264 at 2.5
// Mbit/s, a key frame every 2 s, AAC at 128 kbit/s.
func publishClip(tb testing.TB, seconds int) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "clip.flv")
	out, err := exec.Command("ffmpeg", "-hide_banner", "-loglevel", "error",
		"-f", "lavfi", "-i", "testsrc2=size=1280x720:rate=30", "-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100",
		"-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "2500k", "-minrate", "2500k", "-maxrate", "2500k",
		"-bufsize", "2500k", "-nal-hrd", "cbr", "-g", "60", "-c:a", "aac", "-b:a", "128k", "-ac", "2", "-t", strconv.Itoa(seconds), path).CombinedOutput()
	require.NoError(tb, err, string(out))
	return path
}

// publishKeys returns the keys of n streams.
func publishKeys(n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("key%d", i)
	}
	return keys
}

// TestPublisherProcess is the child process of startPublishers.
func TestPublisherProcess(t *testing.T) {
	raw := os.Getenv(publisherEnv)
	if raw == "" {
		t.Skip("runs as the child of a benchmark")
	}
	var plan publisherPlan
	require.NoError(t, json.Unmarshal([]byte(raw), &plan))
	tags := readFLV(t, plan.Clip)
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(plan.Seconds)*time.Second)
	defer cancel()
	go func() {
		_, _ = os.Stdin.Read(make([]byte, 1)) // returns when stop closes it or the parent dies
		cancel()
	}()
	var wg, ready sync.WaitGroup
	ready.Add(len(plan.Keys))
	for i, key := range plan.Keys {
		conn, closeConn := dialPublisher(t, ctx, plan.Addr, key)
		// The publishers are spread over the time of a frame, like independent encoders.
		offset := time.Duration(i) * 33 * time.Millisecond / time.Duration(len(plan.Keys))
		wg.Go(func() {
			defer closeConn()
			play(ctx, conn, tags, offset, plan.due, ready.Done)
		})
	}
	ready.Wait()
	fmt.Println(onAirLine)
	wg.Wait()
}

func dialPublisher(t *testing.T, ctx context.Context, addr, key string) (net.Conn, func()) {
	t.Helper()
	u, err := url.Parse("rtmp://" + addr + "/live#" + key)
	require.NoError(t, err)
	c := &gortmplib.Client{URL: u, Publish: true}
	require.NoError(t, c.Initialize(ctx))
	conn := c.NetConn()
	// From here on this function writes the bytes, in chunks of OBS's size.
	_, err = conn.Write(setOutChunk())
	require.NoError(t, err)
	go func() {
		// Read the acknowledgements, so that they don't fill the socket's buffer.
		buf := make([]byte, 4096)
		for {
			if _, err := conn.Read(buf); err != nil {
				return
			}
		}
	}()
	return conn, c.Close
}

// setOutChunk returns the message that announces chunks of outChunk bytes.
func setOutChunk() []byte {
	return []byte{2, 0, 0, 0, 0, 0, 4, 1, 0, 0, 0, 0, 0, 0, outChunk >> 8, outChunk & 0xFF}
}

// flvTag is a prepared message: its time in milliseconds, and its bytes on the
// wire. The time in the bytes is filled in before sending.
type flvTag struct {
	time   uint32
	header bool // a sequence header or metadata, sent once
	wire   []byte
}

func readFLV(t testing.TB, path string) []flvTag {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b = b[9+4:]
	var tags []flvTag
	for len(b) >= 11 {
		size := int(b[1])<<16 | int(b[2])<<8 | int(b[3])
		kind, clock := b[0], uint32(b[7])<<24|uint32(b[4])<<16|uint32(b[5])<<8|uint32(b[6])
		body := b[11 : 11+size]
		b = b[11+size+4:]
		header := kind == 18 || size > 1 && body[1] == 0
		tags = append(tags, flvTag{time: clock, header: header, wire: chunked(kind, body)})
	}
	return tags
}

func chunked(kind byte, body []byte) []byte {
	id := map[byte]byte{8: 4, 9: 6}[kind]
	if id == 0 {
		id = 5
	}
	out := []byte{id, 0, 0, 0, byte(len(body) >> 16), byte(len(body) >> 8), byte(len(body)), kind}
	out = binary.LittleEndian.AppendUint32(out, 1)
	for first := true; first || len(body) > 0; first = false {
		if !first {
			out = append(out, 3<<6|id)
		}
		n := min(outChunk, len(body))
		out = append(out, body[:n]...)
		body = body[n:]
	}
	return out
}

// play sends the tags in a loop until ctx ends, each when it is due.
func play(ctx context.Context, conn net.Conn, tags []flvTag, offset time.Duration, due func(media time.Duration) time.Duration, onAir func()) {
	onAir = sync.OnceFunc(onAir)
	defer onAir()
	length := tags[len(tags)-1].time + 33
	start := time.Now().Add(offset)
	var buf []byte
	for round := uint32(0); ; round++ {
		for _, tag := range tags {
			if tag.header && round > 0 {
				continue
			}
			clock := round*length + tag.time
			timer := time.NewTimer(time.Until(start.Add(due(time.Duration(clock) * time.Millisecond))))
			select {
			case <-timer.C:
			case <-ctx.Done():
				timer.Stop()
				return
			}
			buf = append(buf[:0], tag.wire...)
			buf[1], buf[2], buf[3] = byte(clock>>16), byte(clock>>8), byte(clock)
			if _, err := conn.Write(buf); err != nil {
				fmt.Fprintln(os.Stderr, "publisher:", err)
				return
			}
			if !tag.header {
				onAir()
			}
		}
	}
}
