package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hlsCursor follows one media playlist with blocked reloads, like a player.
type hlsCursor struct {
	client    *http.Client
	address   string
	msn, part int    // of the next part
	newest    string // the newest part's URL, relative
}

// openHLS loads a multivariant playlist and returns its media playlists.
func openHLS(ctx context.Context, client *http.Client, root string) ([]*hlsCursor, error) {
	text, err := fetchHLS(ctx, client, root+"index.m3u8")
	if err != nil {
		return nil, err
	}
	var list []*hlsCursor
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "#EXT-X-MEDIA:") {
			_, line, _ = strings.Cut(line, `URI="`)
			line, _, _ = strings.Cut(line, `"`)
		}
		if line != "" && line[0] != '#' {
			list = append(list, &hlsCursor{client: client, address: root + line})
		}
	}
	return list, nil
}

// reload waits for the next part and stores the position of the one after it.
func (c *hlsCursor) reload(ctx context.Context, blocking bool) error {
	address := c.address
	if blocking {
		sign := "?"
		if strings.Contains(address, "?") {
			sign = "&"
		}
		address += fmt.Sprintf("%s_HLS_msn=%d&_HLS_part=%d", sign, c.msn, c.part)
	}
	text, err := fetchHLS(ctx, c.client, address)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(text)) {
		switch {
		case strings.HasPrefix(line, "#EXT-X-MEDIA-SEQUENCE:"):
			c.msn, err = strconv.Atoi(strings.TrimSpace(line[22:]))
			c.part = 0
		case strings.HasPrefix(line, "#EXTINF:"):
			c.msn++
			c.part = 0
		case strings.HasPrefix(line, "#EXT-X-PART:"):
			c.part++
			_, uri, _ := strings.Cut(line, `URI="`)
			c.newest, _, _ = strings.Cut(uri, `"`)
		}
	}
	return err
}

// fetch loads the newest part.
func (c *hlsCursor) fetch(ctx context.Context) ([]byte, error) {
	u, err := url.Parse(c.address)
	if err != nil {
		return nil, err
	}
	u.RawQuery = ""
	u.Path = path.Join(path.Dir(u.Path), c.newest)
	return fetchHLS(ctx, c.client, u.String())
}

func fetchHLS(ctx context.Context, client *http.Client, address string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s: %s", address, response.Status)
	}
	return io.ReadAll(response.Body)
}

// hlsSeen is a part and the time at which its playlist arrived.
type hlsSeen struct {
	at    time.Time
	media []byte
}

// followHLSParts follows the first media playlist's parts.
func followHLSParts(root string, d time.Duration) []hlsSeen {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	list, err := openHLS(ctx, client, root)
	if err != nil || len(list) == 0 {
		return nil
	}
	// Use the playlist of the video if sound has a separate one.
	c := list[len(list)-1]
	var seen []hlsSeen
	for blocking := false; ; blocking = true {
		if c.reload(ctx, blocking) != nil {
			return seen
		}
		at := time.Now()
		media, err := c.fetch(ctx)
		if err != nil {
			return seen
		}
		if blocking {
			seen = append(seen, hlsSeen{at, media})
		}
	}
}

// hlsCrowdEnv makes the test binary run viewers instead of tests.
const hlsCrowdEnv = "SHOWFLOOR_BENCH_HLS_VIEWERS"

type hlsCrowdPlan struct {
	Root    string        `json:"root"`
	Viewers int           `json:"viewers"`
	For     time.Duration `json:"for"`
	// Replay is set if Root is a recording; then segments are counted as parts.
	Replay bool `json:"replay"`
	// Nice gives the viewers less of the CPU than the server and the other clients.
	Nice bool `json:"-"`
}

// hlsCrowd is a process that runs viewers.
type hlsCrowd struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

func startHLSViewers(b *testing.B, root string, viewers int, d time.Duration) *hlsCrowd {
	b.Helper()
	return startHLSCrowd(b, hlsCrowdPlan{Root: root, Viewers: viewers, For: d})
}

// startHLSCrowd starts the viewers of a plan.
func startHLSCrowd(b *testing.B, what hlsCrowdPlan) *hlsCrowd {
	b.Helper()
	plan, err := json.Marshal(what)
	require.NoError(b, err)
	exe, err := os.Executable()
	require.NoError(b, err)
	args := []string{exe, "-test.run=^TestHLSViewersProcess$"}
	if what.Nice {
		args = append([]string{"nice", "-n", "10"}, args...)
	}
	c := &hlsCrowd{cmd: exec.Command(args[0], args[1:]...)}
	c.cmd.Env = append(os.Environ(), hlsCrowdEnv+"="+string(plan))
	c.cmd.Stderr = os.Stderr
	c.in, err = c.cmd.StdinPipe()
	require.NoError(b, err)
	out, err := c.cmd.StdoutPipe()
	require.NoError(b, err)
	c.lines = bufio.NewScanner(out)
	c.lines.Buffer(nil, 64<<20)
	require.NoError(b, c.cmd.Start())
	return c
}

// parts returns how many parts all viewers have received.
func (c *hlsCrowd) parts(b *testing.B) int {
	b.Helper()
	answer := c.ask(b, "parts")
	n, err := strconv.Atoi(answer)
	require.NoError(b, err, answer)
	return n
}

// known returns when playlists with each part arrived at the viewers, by the part's name.
func (c *hlsCrowd) known(b *testing.B) hlsKnown {
	b.Helper()
	var k hlsKnown
	require.NoError(b, json.Unmarshal([]byte(c.ask(b, "known")), &k))
	return k
}

// ask returns the answer of the viewers' process to a question, in one line.
func (c *hlsCrowd) ask(b *testing.B, question string) string {
	b.Helper()
	_, err := io.WriteString(c.in, question+"\n")
	require.NoError(b, err)
	require.True(b, c.lines.Scan(), "the viewers' process has ended")
	return c.lines.Text()
}

func (c *hlsCrowd) stop(b *testing.B) {
	b.Helper()
	require.NoError(b, c.in.Close())
	for c.lines.Scan() {
	}
	require.NoError(b, c.cmd.Wait())
}

// TestHLSViewersProcess is the viewers' process. Without its plan it does nothing.
func TestHLSViewersProcess(t *testing.T) {
	text := os.Getenv(hlsCrowdEnv)
	if text == "" {
		t.Skip("run by BenchmarkHLSViewers")
	}
	var plan hlsCrowdPlan
	require.NoError(t, json.Unmarshal([]byte(text), &plan))
	ctx, cancel := context.WithTimeout(t.Context(), plan.For+10*time.Second)
	defer cancel()
	var parts atomic.Int64
	var known hlsArrivals
	var viewers sync.WaitGroup
	for range plan.Viewers {
		viewers.Go(func() {
			if !plan.Replay {
				watchHLS(ctx, plan.Root, &parts, &known)
			} else if err := watchReplay(ctx, plan.Root, &parts); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	questions := bufio.NewScanner(os.Stdin)
	for questions.Scan() {
		if questions.Text() == "known" {
			require.NoError(t, json.NewEncoder(os.Stdout).Encode(known.taken()))
			continue
		}
		fmt.Println(parts.Load())
	}
	cancel()
	viewers.Wait()
}

// hlsKnown is when playlists with a part arrived, in microseconds since 1970, by the part's name.
type hlsKnown map[string][]int64

// hlsArrivals collects arrivals of playlists.
type hlsArrivals struct {
	mu    sync.Mutex
	known hlsKnown
}

func (a *hlsArrivals) add(part string) {
	at := time.Now().UnixMicro()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil {
		a.known = hlsKnown{}
	}
	a.known[part] = append(a.known[part], at)
}

// taken returns the arrivals since the last call.
func (a *hlsArrivals) taken() hlsKnown {
	a.mu.Lock()
	defer a.mu.Unlock()
	known := a.known
	a.known = nil
	return known
}

// delays returns how much later than at the first playlist parts were known to the viewers, in milliseconds.
func (k hlsKnown) delays(first hlsKnown) []float64 {
	var list []float64
	for part, at := range first {
		for _, t := range k[part] {
			list = append(list, float64(max(t-at[0], 0))/1000)
		}
	}
	return list
}

// watchHLSHere follows the parts of a stream in this process, until stop, which returns when each was known. With a
// handler there is no network between.
func watchHLSHere(b *testing.B, root string, handler http.Handler) (stop func() hlsKnown) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	client := &http.Client{Transport: &http.Transport{}}
	if handler != nil {
		client.Transport = handlerTransport{handler}
	}
	var known hlsArrivals
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer client.CloseIdleConnections()
		list, err := openHLS(ctx, client, root)
		for blocking := false; err == nil; blocking = true {
			c := list[len(list)-1]
			if err = c.reload(ctx, blocking); err == nil && blocking {
				known.add(c.newest)
			}
		}
	}()
	return func() hlsKnown {
		cancel()
		<-done
		return known.taken()
	}
}

// handlerTransport answers requests with a handler of this process.
type handlerTransport struct{ handler http.Handler }

func (t handlerTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	t.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

// watchHLS loads every part of every media playlist until the context ends.
func watchHLS(ctx context.Context, root string, parts *atomic.Int64, known *hlsArrivals) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 4}}
	defer client.CloseIdleConnections()
	list, err := openHLS(ctx, client, root)
	if err != nil {
		return
	}
	var loops sync.WaitGroup
	for i, c := range list {
		loops.Go(func() {
			for blocking := false; c.reload(ctx, blocking) == nil; blocking = true {
				if blocking && i == len(list)-1 {
					known.add(c.newest)
				}
				if _, err := c.fetch(ctx); err == nil && i == 0 {
					parts.Add(1)
				}
			}
		})
	}
	loops.Wait()
}
