package bench

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	recordedStreams = 20
	// recordingWarm is the time in which the playlists' windows and the first segments fill.
	recordingWarm = 24 * time.Second
	// recordingMeasured is the measured time after recordingWarm.
	recordingMeasured = 20 * time.Second
)

// BenchmarkRecording runs the built server with 20 encoders of 2.5 Mbit/s and LL-HLS, first without recordings and then with
// them, and prints what a recording adds to a stream, and the time from the end of all streams to READY.
func BenchmarkRecording(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		plain, plainMemory, _ := runRecorded(b, bin, clip, false)
		recorded, memory, ready := runRecorded(b, bin, clip, true)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(plain, "core%/stream")
		b.ReportMetric(recorded, "recorded-core%/stream")
		b.ReportMetric(recorded/plain, "cpu-ratio")
		b.ReportMetric(memory-plainMemory, "added-RSS-MiB/stream")
		b.ReportMetric(float64(ready[len(ready)/2].Milliseconds()), "ready-p50-ms")
		b.ReportMetric(float64(ready[len(ready)*95/100].Milliseconds()), "ready-p95-ms")
	}
}

// runRecorded returns the server's CPU and memory for each stream and, with recordings, the sorted times from the end of the
// streams to READY.
func runRecorded(b *testing.B, bin, clip string, recorded bool) (cpu, memory float64, ready []time.Duration) {
	b.Helper()
	s := startServer(b, bin, publicDir(b))
	idle := s.memory(b, "VmRSS")
	keys, token := s.streams(b, recordedStreams, recorded)
	p := startPublishers(b, s.rtmp, keys, clip, 600)
	<-time.After(recordingWarm)
	cpu = cpuOver(b, s, recordingMeasured) / recordedStreams
	memory = (s.memory(b, "VmRSS") - idle) / recordedStreams
	p.stop()
	if recorded {
		ready = s.awaitRecordings(b, token, recordedStreams, time.Now())
	}
	s.stop(b)
	return cpu, memory, ready
}

// recordingRow is what a benchmark reads of a recording.
type recordingRow struct {
	ID, Status  string
	DurationSec float64
}

// recordings returns the tenant's recordings, at most 100.
func (s *server) recordings(b *testing.B, token string) (list []recordingRow) {
	b.Helper()
	s.get(b, "/v1/me/recordings?limit=100", token, &list)
	return list
}

// get makes an API call that reads.
func (s *server) get(b *testing.B, path, token string, out any) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, s.api+path, nil)
	require.NoError(b, err)
	r.Header.Set("Authorization", "Bearer "+token)
	resp, err := client().Do(r)
	require.NoError(b, err)
	defer resp.Body.Close()
	require.Equal(b, http.StatusOK, resp.StatusCode, path)
	require.NoError(b, json.NewDecoder(resp.Body).Decode(out))
}

// awaitRecordings waits until the tenant's n recordings are READY, and returns how long after ended each was seen, sorted.
func (s *server) awaitRecordings(b *testing.B, token string, n int, ended time.Time) []time.Duration {
	b.Helper()
	seen := map[string]time.Duration{}
	for len(seen) < n {
		require.Less(b, time.Since(ended), time.Minute, "%d recordings are READY", len(seen))
		list := s.recordings(b, token)
		require.Len(b, list, n)
		for _, x := range list {
			require.NotEqual(b, "FAILED", x.Status)
			if _, known := seen[x.ID]; !known && x.Status == "READY" {
				seen[x.ID] = time.Since(ended)
			}
		}
		<-time.After(20 * time.Millisecond)
	}
	return slices.Sorted(maps.Values(seen))
}
