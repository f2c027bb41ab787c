package hls

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/metering"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/signing"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// oneKey signs viewers' sessions.
type oneKey struct{}

func (oneKey) NewestCodeKey() signing.CodeKey { return signing.CodeKey{Secret: []byte("test")} }

func (k oneKey) FindCodeKey(context.Context, uint32) (signing.CodeKey, bool) {
	return k.NewestCodeKey(), true
}

// tokens are a test's own playback tokens, and real sessions.
type tokens struct {
	*playtoken.Tokens

	check func(token string) (string, time.Time, error)
}

func newTokens(check func(token string) (string, time.Time, error)) tokens {
	return tokens{playtoken.New(oneKey{}), check}
}

func (t tokens) CheckPlayback(_ context.Context, token string) (string, time.Time, error) {
	return t.check(token)
}

// studio is a hub with an HLS output behind a real HTTP server.
type studio struct {
	t     testing.TB
	hub   *hub.Hub
	hls   *Server
	http  *httptest.Server
	meter *metering.Meter
	// playable receives publishers that have become playable.
	playable chan string
}

func newStudio(t testing.TB, c Config) *studio {
	t.Helper()
	if c.Tokens == nil {
		c.Tokens = newTokens(func(token string) (string, time.Time, error) {
			id, ok := strings.CutPrefix(token, "token-")
			if !ok {
				return "", time.Time{}, errors.New("no token")
			}
			return id, time.Time{}, nil
		})
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	s := &studio{t: t, hls: New(c), meter: metering.New(c.Now), playable: make(chan string, 100)}
	s.hub = hub.New(hub.Config{Meter: s.meter, Now: c.Now, Outputs: []hub.Output{s.hls}, OnPlayable: func(stream, publisher string) {
		s.playable <- stream + "/" + publisher
	}})
	s.http = httptest.NewServer(s.hls)
	t.Cleanup(func() {
		s.hub.Close()
		s.http.Close()
		s.hls.Close()
	})
	return s
}

func (s *studio) publish(b hub.Broadcast, id string) *hub.Publisher {
	s.t.Helper()
	p, err := s.hub.Publish(b, id, func(error) {})
	if err != nil {
		s.t.Fatal(err)
	}
	return p
}

func write(t testing.TB, p *hub.Publisher, units []*hub.Unit) {
	t.Helper()
	for _, u := range units {
		c := *u
		if err := p.Write(&c); err != nil {
			t.Fatal(err)
		}
	}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (s *studio) do(method, path string, header ...string) answer {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 20*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, s.http.URL+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	client := http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}}
	response, err := client.Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(body)}
}

// get fetches a path, which must exist.
func (s *studio) get(path string) string {
	s.t.Helper()
	a := s.do("GET", path)
	if a.status != 200 {
		s.t.Fatalf("GET %s: %d %s", path, a.status, a.body)
	}
	return a.body
}

var mediaLine = regexp.MustCompile(`(?m)^[0-9a-f]+/source/live\.m3u8\?viewer=[0-9A-Za-z_-]{44,}$`)

// media returns the path of the media playlist.
func (s *studio) media(stream string) string {
	s.t.Helper()
	index := s.get("/live/token-" + stream + "/index.m3u8")
	line := mediaLine.FindString(index)
	if line == "" {
		s.t.Fatalf("no media playlist in\n%s", index)
	}
	return "/live/token-" + stream + "/" + line
}

// probe lets ffmpeg decode everything; it must report no warning.
func (s *studio) probe(path string, extra ...string) string {
	s.t.Helper()
	args := append([]string{"-v", "warning", "-xerror", "-nostdin", "-i", s.http.URL + path}, extra...)
	args = append(args, "-f", "framemd5", "-")
	cmd := exec.Command("ffmpeg", args...)
	var out, complaints strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &complaints
	err := cmd.Run()
	// ffmpeg logs this whenever EXT-X-MAP changes, and then uses the new one.
	rest := regexp.MustCompile(`.*Found duplicated MOOV Atom.*\n`).ReplaceAllString(complaints.String(), "")
	if err != nil || rest != "" {
		s.t.Fatalf("ffmpeg: %v\n%s", err, complaints.String())
	}
	return out.String()
}

func TestPlaysInFFmpeg(t *testing.T) {
	t.Parallel()
	cases := map[string]cliptest.Spec{
		"plain":      {Seconds: 6, FPS: "30", GOP: 60, Rate: 44100},
		"b-frames":   {Seconds: 6, FPS: "25", GOP: 50, BFrames: 3, Rate: 48000},
		"ntsc film":  {Seconds: 6, FPS: "24000/1001", GOP: 48, Rate: 22050},
		"hevc":       {Seconds: 4, FPS: "30", GOP: 30, Codec: "libx265", Rate: 44100},
		"opus":       {Seconds: 4, FPS: "30", GOP: 30, Rate: 48000, AudioCodec: "libopus"},
		"silent":     {Seconds: 4, FPS: "30", GOP: 30},
		"sound only": {Seconds: 5, Rate: 44100},
		"slow":       {Seconds: 8, FPS: "5", GOP: 10, Rate: 32000},
		"fast":       {Seconds: 4, FPS: "60", GOP: 60, BFrames: 2, Rate: 48000},
	}
	for name, spec := range cases {
		for _, low := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/low-latency=%v", name, low), func(t *testing.T) {
				s := newStudio(t, Config{})
				units := cliptest.Clip(t, spec)
				p := s.publish(hub.Broadcast{StreamID: "a", LowLatency: low}, "p")
				write(t, p, cliptest.Shifted(units, time.Hour, time.Millisecond))
				p.Close()
				index := "/live/token-a/index.m3u8"
				t.Logf("%s\n%s", s.get(index), s.get(s.media("a")))
				frames := s.probe(index)
				want := map[string]int{}
				for _, u := range units {
					want[string(u.Track.Codec)]++
				}
				pictures := want["H264"] + want["H265"]
				if got := strings.Count(frames, "\n0, "); pictures > 0 && got != pictures {
					t.Errorf("%d of %d pictures decoded", got, pictures)
				}
			})
		}
	}
}
