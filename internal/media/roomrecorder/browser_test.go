package roomrecorder

import (
	"context"
	_ "embed"
	"encoding/binary"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/compose"
	"showfloor/internal/media/sfu"
	"showfloor/internal/testkit/browsertest"
	"showfloor/web"
)

//go:embed testdata/people.js
var peopleScript string

// admitAll admits each user, named by its token, as a host.
type admitAll struct{}

func (admitAll) Identify(context.Context, string) (tenantID, roomID string, err error) {
	return "ten_1", "sess_1", nil
}

func (admitAll) Enter(_ context.Context, e sfu.Entry) (sfu.Grant, error) {
	return sfu.Grant{
		TenantID: "ten_1", RoomID: e.RoomID, UserID: e.Token, ConnID: e.ConnID, DisplayName: e.Token, Role: "host", State: "joined",
		Perms: sfu.Perms{Audio: true, Video: true, Screen: true}, Room: sfu.RoomInfo{Kind: sfu.SessionRoom},
	}, nil
}

func (admitAll) Entered(context.Context, sfu.Connection)              {}
func (admitAll) Leave(context.Context, sfu.Connection) error          { return nil }
func (admitAll) SetMuted(context.Context, sfu.Connection, bool) error { return nil }

// TestChromium records two participants in Chromium and composes them. Flashes and beeps come from two clocks of the page, that of
// the screen and that of the sound card, so the tolerance includes the browser's own delay of the sound.
func TestChromium(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{}, 1)
	r := open(t, t.TempDir(), func(c *Config) { c.Ended = func() { ended <- struct{}{} } })
	server, err := sfu.New(sfu.Config{Addr: "127.0.0.1:0", Gate: admitAll{}, Recordings: r, Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.NoError(t, server.Start())
	mux := http.NewServeMux()
	mux.Handle("/assets/", http.FileServerFS(web.Files()))
	mux.Handle("/sfu/", http.StripPrefix("/sfu", server.Handler()))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "<!doctype html><title>room</title>")
	})
	site := httptest.NewServer(mux)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		require.NoError(t, server.Stop(ctx))
		site.Close()
		require.Zero(t, server.Stats().Panics)
	})
	tab := browsertest.NewWithDevices(t)
	browsertest.Run(t, tab, chromedp.Navigate(site.URL), chromedp.Evaluate[chromedp.Void](peopleScript+"; undefined"))
	browsertest.WaitFor(t, tab, "globalThis.here || globalThis.failed")
	require.Empty(t, browsertest.Value[string](t, tab, `globalThis.failed ?? ""`))
	server.Record("sess_1", "rec_1")
	start := time.Now()
	require.Eventually(t, func() bool { return time.Since(start) > 12*time.Second }, time.Minute, 50*time.Millisecond)
	server.StopRecording("sess_1", "rec_1")
	<-ended
	part := r.Parts()[0]
	browsertest.Run(t, tab, chromedp.Navigate("about:blank"))

	video := filepath.Join(t.TempDir(), "video.flv")
	result, err := r.Compose(t.Context(), part, Composition{Layout: compose.Grid}, func(v Video) error {
		out, err := os.Create(video)
		if err != nil {
			return err
		}
		defer out.Close()
		_, err = io.Copy(out, v.FLV)
		return err
	})
	require.NoError(t, err)
	require.Zero(t, result.FailedDecoders)
	require.Greater(t, result.Length, 11*time.Second)
	flashes, beeps := flashesOf(t, video), beepsOf(t, video)
	t.Logf("%d packets lost, %d pictures left out; flashes at %.3f, beeps at %.3f", result.LostPackets, result.LeftPictures, flashes, beeps)
	require.GreaterOrEqual(t, len(flashes), 4)
	require.GreaterOrEqual(t, len(beeps), 4)
	matched := 0
	for _, f := range flashes {
		for _, b := range beeps {
			if math.Abs(f-b) < 0.15 {
				matched++
			}
		}
	}
	require.GreaterOrEqual(t, matched, min(len(flashes), len(beeps))-1)
}

func decode(t *testing.T, args ...string) []byte {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "ffmpeg", append([]string{"-v", "error", "-nostdin"}, args...)...).Output()
	require.NoError(t, err)
	return out
}

// flashesOf returns when the left half of the picture becomes white, in seconds. The audio's priming delays the pictures by 21 ms.
func flashesOf(t *testing.T, video string) (list []float64) {
	t.Helper()
	const size = 32 * 18
	raw, was := decode(t, "-i", video, "-an", "-vf", "crop=iw/2:ih/2:0:ih/4,scale=32:18", "-fps_mode", "passthrough", "-pix_fmt", "gray", "-f", "rawvideo", "-"), true
	for n := 0; (n+1)*size <= len(raw); n++ {
		sum := 0
		for _, x := range raw[n*size : (n+1)*size] {
			sum += int(x)
		}
		is := sum/size > 120
		if is && !was {
			list = append(list, float64(n)/compose.FrameRate+0.021)
		}
		was = is
	}
	return list
}

// beepsOf returns when the sound begins after silence, in seconds.
func beepsOf(t *testing.T, video string) (list []float64) {
	t.Helper()
	raw, quiet := decode(t, "-i", video, "-vn", "-ac", "1", "-ar", "48000", "-f", "s16le", "-"), 0
	for i := 0; i+1 < len(raw); i += 2 {
		if x := int16(binary.LittleEndian.Uint16(raw[i:])); x > -1500 && x < 1500 {
			quiet++
			continue
		}
		if quiet > 9600 {
			list = append(list, float64(i)/2/48_000)
		}
		quiet = 0
	}
	return list
}
