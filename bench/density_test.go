package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	densityStreams = 50
	// densityFill is the time in which the playlists' windows fill.
	densityFill = 24 * time.Second
	// densityWindow is the measured time after densityFill, in seconds.
	densityWindow = 10
)

// BenchmarkDensity runs the built server with 50 encoders of 2.5 Mbit/s, each
// with LL-HLS output, and prints the cost of one stream. The baseline is the
// ingest alone, without an output.
func BenchmarkDensity(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		s := startServer(b, bin, publicDir(b))
		idle := s.memory(b, "VmRSS")
		p := startPublishers(b, s.rtmp, s.streamKeys(b, densityStreams), clip, 600)
		<-time.After(densityFill)
		cpu, began := s.cpu(b), time.Now()
		<-time.After(densityWindow * time.Second)
		perStream := 100 * (s.cpu(b) - cpu).Seconds() / time.Since(began).Seconds() / densityStreams
		rss := (s.memory(b, "VmRSS") - idle) / densityStreams
		p.stop()
		s.stop(b)

		ingest := measureIngest(b, ourServer, clip, densityStreams, densityWindow)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(perStream, "core%/stream")
		b.ReportMetric(ingest.cpu, "ingest-core%/stream")
		b.ReportMetric(perStream/ingest.cpu, "cpu-ratio")
		b.ReportMetric(rss, "RSS-MiB/stream")
	}
}

// cpu returns the CPU time of the process, in user and system mode.
func (s *server) cpu(b *testing.B) time.Duration {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.cmd.Process.Pid))
	require.NoError(b, err)
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	const utime, stime, hertz = 11, 12, 100 // field indices after the name; ticks per second
	var ticks int
	for _, i := range []int{utime, stime} {
		n, err := strconv.Atoi(fields[i])
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * time.Second / hertz
}

// streamKeys registers a tenant with n streams and returns their keys.
func (s *server) streamKeys(b *testing.B, n int) []string {
	b.Helper()
	keys, _ := s.streams(b, n, false)
	return keys
}

// streams registers a tenant with n streams, and returns their keys and the tenant's token.
func (s *server) streams(b *testing.B, n int, recorded bool) (keys []string, token string) {
	b.Helper()
	token = s.register(b)
	keys = make([]string, n)
	for i := range keys {
		var made struct {
			StreamKey string `json:"streamKey"`
		}
		s.post(b, "/v1/me/streams", token,
			map[string]any{"name": fmt.Sprint("Stream ", i), "mode": "LOW_LATENCY", "recordingEnabled": recorded}, &made)
		keys[i] = made.StreamKey
	}
	return keys, token
}

// register registers a tenant on the plan ENTERPRISE, because the benchmarks exceed the limits of FREE, and returns its owner's token.
func (s *server) register(b *testing.B) (token string) {
	b.Helper()
	var account struct {
		Token  string              `json:"token"`
		Tenant struct{ ID string } `json:"tenant"`
	}
	s.post(b, "/v1/auth/register", "", map[string]string{
		"tenantName": "Bench", "name": "Bench", "email": "bench@example.com", "password": "correct horse battery",
	}, &account)
	s.call(b, http.MethodPatch, "/v1/admin/tenants/"+account.Tenant.ID+"/plan", s.adminToken(b), map[string]string{"plan": "ENTERPRISE"}, &struct{}{},
		http.StatusOK)
	return account.Token
}

// post makes an API call that creates a resource.
func (s *server) post(b *testing.B, path, token string, in, out any) {
	b.Helper()
	s.call(b, http.MethodPost, path, token, in, out, http.StatusCreated)
}

// call makes an API call with a body.
func (s *server) call(b *testing.B, method, path, token string, in, out any, status int) {
	b.Helper()
	body, err := json.Marshal(in)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(b.Context(), method, s.api+path, bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client().Do(r)
	require.NoError(b, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(b, err)
	require.Equal(b, status, resp.StatusCode, "%s", answer)
	require.NoError(b, json.Unmarshal(answer, out))
}
