package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/nginxtest"
)

const (
	restreamStreams = 50
	// restreamCPUWindow is the time over which CPU time is measured.
	restreamCPUWindow = 40 * time.Second
)

// BenchmarkRestream forwards one stream of 2.5 Mbit/s from the built server to eight targets, and then 50 streams to two targets each. The
// baseline is nginx's RTMP module, which pushes the same clip to as many targets. The targets of both are applications of another nginx,
// whose CPU time isn't counted. At the same time another server and another nginx receive the streams without targets: what they need is
// subtracted, so that the figures are those of forwarding.
func BenchmarkRestream(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for _, x := range []struct{ streams, targets int }{{1, restreamTargets}, {restreamStreams, 2}} {
		b.Run(fmt.Sprintf("%dx%d", x.streams, x.targets), func(b *testing.B) {
			for b.Loop() {
				measureRestream(b, bin, clip, x.streams, x.targets).report(b)
			}
		})
	}
}

// restreamCost is CPU time in percent of a core, of our server and of nginx, with the targets and without them. Our server also packages the
// streams for viewers.
type restreamCost struct {
	ours, nginx, oursBare, nginxBare float64
	routes                           int
}

func (c restreamCost) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(0, "ns/op")
	ours, nginx := c.ours-c.oursBare, c.nginx-c.nginxBare
	b.ReportMetric(ours/float64(c.routes), "core%/target")
	b.ReportMetric(nginx/float64(c.routes), "nginx-core%/target")
	b.ReportMetric(ours/nginx, "cpu-ratio")
	b.ReportMetric(c.ours, "core%")
	b.ReportMetric(c.nginx, "nginx-core%")
}

// measureRestream forwards streams to targets each.
func measureRestream(b *testing.B, bin, clip string, streams, targets int) restreamCost {
	b.Helper()
	pool := durable(b)
	limits := []string{"RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off"}
	bare := startServer(b, bin, publicDir(b), limits...)
	s := startServer(b, bin, publicDir(b), append(limits, "DATABASE_URL="+pool.Config().ConnString(),
		"MASTER_KEY=c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI=")...)
	keys, token := s.streams(b, streams, false)
	_, err := pool.Exec(b.Context(), "UPDATE tenants SET plan = 'ENTERPRISE'")
	require.NoError(b, err)
	sink, bareNginx := nginxtest.Start(b), nginxtest.Start(b)
	push := make([]string, targets)
	for i := range push {
		push[i] = fmt.Sprintf("rtmp://%s/sink%d", sink.Addr, i)
	}
	nginx := nginxtest.Start(b, push...)
	s.attachEach(b, pool, token, push)
	publishers := []*publishers{
		startPublishers(b, s.rtmp, keys, clip, 600), startPublishers(b, nginx.Addr, keys, clip, 600),
		startPublishers(b, bare.rtmp, bare.streamKeys(b, streams), clip, 600), startPublishers(b, bareNginx.Addr, keys, clip, 600),
	}
	c := restreamCost{routes: streams * targets}
	<-time.After(densityFill)
	var live int
	require.NoError(b, pool.QueryRow(b.Context(), "SELECT count(*) FROM restream_routes WHERE status = 'live'").Scan(&live))
	require.Equal(b, c.routes, live)
	require.Equal(b, 2*c.routes, connections(b, sink.Addr), "each of both has a connection to each target")
	used := cpuOfEach(b, restreamCPUWindow, s.cmd.Process.Pid, nginx.PID, bare.cmd.Process.Pid, bareNginx.PID)
	c.ours, c.nginx, c.oursBare, c.nginxBare = used[0], used[1], used[2], used[3]
	for _, p := range publishers {
		p.stop()
	}
	s.stop(b)
	bare.stop(b)
	return c
}

// attachEach attaches each stream to a target of its own in each application.
func (s *server) attachEach(b *testing.B, pool *pgxpool.Pool, token string, applications []string) {
	b.Helper()
	rows, err := pool.Query(b.Context(), "SELECT id FROM streams ORDER BY id")
	require.NoError(b, err)
	defer rows.Close()
	var target struct{ ID string }
	targetIDs := make([]string, len(applications))
	for rows.Next() {
		var streamID string
		require.NoError(b, rows.Scan(&streamID))
		for i, a := range applications {
			s.post(b, "/v1/me/restream/targets", token, map[string]any{
				"name": "Sink", "platform": "custom", "rtmpUrl": a + "/ours-" + streamID,
			}, &target)
			targetIDs[i] = target.ID
		}
		s.post(b, "/v1/me/restream/streams/"+streamID, token, map[string]any{"targetIds": targetIDs}, &struct{}{})
	}
	require.NoError(b, rows.Err())
}

// connections returns the number of connections that a server on this machine has accepted.
func connections(b *testing.B, addr string) (n int) {
	b.Helper()
	_, port, _ := strings.Cut(addr, ":")
	number, err := strconv.Atoi(port)
	require.NoError(b, err)
	text, err := os.ReadFile("/proc/net/tcp")
	require.NoError(b, err)
	for line := range strings.Lines(string(text)) {
		const local, state, established = 1, 3, "01"
		fields := strings.Fields(line)
		if fields[state] == established && strings.HasSuffix(fields[local], fmt.Sprintf(":%04X", number)) {
			n++
		}
	}
	return n
}

// cpuOfEach returns the CPU time of processes over a time, in percent of a core.
func cpuOfEach(b *testing.B, d time.Duration, pids ...int) []float64 {
	b.Helper()
	before, began := make([]time.Duration, len(pids)), time.Now()
	for i, pid := range pids {
		before[i] = threadsCPU(b, pid)
	}
	<-time.After(d)
	took, used := time.Since(began).Seconds(), make([]float64, len(pids))
	for i, pid := range pids {
		used[i] = 100 * (threadsCPU(b, pid) - before[i]).Seconds() / took
	}
	return used
}

// threadsCPU returns the CPU time of a process's threads, in user and system mode. Unlike server.cpu it isn't in steps of 10 ms, which are
// much for nginx. A thread that has ended isn't counted; those of Go stay.
func threadsCPU(b *testing.B, pid int) (sum time.Duration) {
	b.Helper()
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	require.NoError(b, err)
	require.NotEmpty(b, threads)
	for _, t := range threads {
		text, err := os.ReadFile(t)
		require.NoError(b, err)
		used, _, _ := strings.Cut(string(text), " ")
		ns, err := strconv.ParseInt(used, 10, 64)
		require.NoError(b, err)
		sum += time.Duration(ns)
	}
	return sum
}
