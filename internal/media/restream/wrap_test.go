package restream_test

import (
	"context"
	"net"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/rtmp"
)

// longTimes are times of a connection, in milliseconds: after two hours, where extended timestamps begin, where the sign of 32 bits
// changes, and where the time wraps.
func longTimes() map[string]int64 {
	return map[string]int64{"two hours": 7_200_000, "extended": 0xFFFFFF - 1000, "sign": 1<<31 - 1000, "wrap": 1<<32 - 1000}
}

// sendFrom sends a clip to a server with times from a time on, in chunks that are smaller than its pictures.
func sendFrom(t *testing.T, conn net.Conn, app string, clip []*hub.Unit, from int64) {
	t.Helper()
	limits := rtmp.SenderConfig{Step: patience, Write: patience, Finish: time.Second}
	s, _, err := rtmp.NewSender(t.Context(), conn, rtmp.Destination{App: "live", URL: app, Key: key}, limits)
	require.NoError(t, err)
	served := make(chan struct{})
	go func() { defer close(served); _ = s.Serve() }()
	known := map[*hub.Track]bool{}
	for _, u := range clip {
		at := uint32(from + u.DTS.Milliseconds())
		if !known[u.Track] {
			known[u.Track] = true
			require.NoError(t, s.Header(u.Track, at))
		}
		require.NoError(t, s.Unit(u, at, int32((u.PTS-u.DTS).Milliseconds())))
		require.NoError(t, s.Flush())
	}
	s.Finish(served)
	<-served
}

func bigPictures(t *testing.T) []*hub.Unit {
	t.Helper()
	clip := cliptest.Clip(t, cliptest.Spec{Seconds: 2, FPS: "25", GOP: 10, Size: "640x360", Params: "qp=10", Rate: 48000})
	require.Greater(t, len(kind(clip, true)[0].Data), 3*4096)
	return clip
}

// TestLongTimesArriveAtOurServer with the same steps as they were sent, and without a break.
func TestLongTimesArriveAtOurServer(t *testing.T) {
	t.Parallel()
	clip := bigPictures(t)
	for name, from := range longTimes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			target := newServer(t, nil)
			conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", target.rtmp.Addr().String())
			require.NoError(t, err)
			sendFrom(t, conn, target.url(), clip, from)
			for _, video := range []bool{true, false} {
				want := kind(clip, video)
				require.Eventually(t, func() bool { return len(kind(target.all(), video)) == len(want) }, patience, tick)
				got := kind(target.all(), video)
				for i, u := range got {
					require.Equal(t, got[0].Epoch, u.Epoch, "unit %d", i)
					require.Equal(t, want[i].DTS.Milliseconds()-want[0].DTS.Milliseconds(), (u.DTS - got[0].DTS).Milliseconds(), "unit %d", i)
					require.Equal(t, want[i].Data, u.Data)
				}
			}
		})
	}
}

// TestLongTimesArriveAtFfmpeg and never decrease.
func TestLongTimesArriveAtFfmpeg(t *testing.T) {
	t.Parallel()
	clip := bigPictures(t)
	for name, from := range longTimes() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			free, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			address := free.Addr().String()
			require.NoError(t, free.Close())
			probe := exec.CommandContext(t.Context(), "ffprobe", "-v", "error", "-listen", "1", "-show_entries", "packet=stream_index,dts",
				"-of", "csv=p=0", "rtmp://"+address+"/live/"+key)
			out := &lockedBuffer{}
			probe.Stdout, probe.Stderr = out, out
			require.NoError(t, probe.Start())
			sendFrom(t, dialUntil(t, address), "rtmp://"+address+"/live", clip, from)
			require.NoError(t, probe.Wait(), out.String())
			last, packets := map[string]int64{}, 0
			for line := range strings.Lines(out.String()) {
				index, text, ok := strings.Cut(strings.TrimRight(line, ",\n"), ",")
				require.True(t, ok, line)
				dts, err := strconv.ParseInt(text, 10, 64)
				require.NoError(t, err, line)
				if before, known := last[index]; known {
					require.Greater(t, dts, before, "packet %d", packets)
					require.Less(t, dts, before+100, "packet %d", packets)
				}
				last[index] = dts
				packets++
			}
			require.InDelta(t, len(clip), packets, 2)
		})
	}
}

// dialUntil connects to a server that is about to listen.
func dialUntil(t *testing.T, address string) (conn net.Conn) {
	t.Helper()
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			conn = c
		}
		return err == nil
	}, patience, tick)
	return conn
}
