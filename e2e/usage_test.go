package e2e

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

const cdnSecret = "a secret of the test's CDN"

// download fetches a URL as a viewer, or as the CDN, without compression.
func download(t testing.TB, address string, cdn bool) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	require.NoError(t, err)
	if cdn {
		r.Header.Set("X-CDN-Secret", cdnSecret)
	}
	resp, err := (&http.Client{Transport: &http.Transport{DisableCompression: true, DisableKeepAlives: true}, Timeout: patience}).Do(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", body)
	return string(body)
}

// downloadAll fetches a playlist, the playlists that it names, and their media. It returns the number of bytes.
func downloadAll(t testing.TB, address string, cdn bool) (n int) {
	t.Helper()
	text := download(t, address, cdn)
	n = len(text)
	base, err := url.Parse(address)
	require.NoError(t, err)
	lines := bufio.NewScanner(strings.NewReader(text))
	gap := false
	for lines.Scan() {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			gap = gap || line == "#EXT-X-GAP"
			continue
		}
		if gap { // there is no such file
			gap = false
			continue
		}
		next, err := base.Parse(line)
		require.NoError(t, err)
		if strings.Contains(line, ".m3u8") {
			n += downloadAll(t, next.String(), cdn)
		} else {
			n += len(download(t, next.String(), cdn))
		}
	}
	return n
}

// TestUsageIsWhatHappened broadcasts, watches and records a stream, also through a CDN whose log is imported, and compares the usage
// with what the test did. All reports agree.
func TestUsageIsWhatHappened(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("CDN_SECRET", cdnSecret))
	a := signUp(t, s)
	stream := a.recordedStream(0)
	before := time.Now()
	encoder := encode(t, target(stream))
	a.await(stream.ID, api.StreamStatusLIVE)
	playable := time.Now()
	live := a.playback(stream.ID).URL
	watched := downloadAll(t, live, false)
	filled := downloadAll(t, live, true)
	pause(t, 3*time.Second-time.Since(playable)) // or there would be too little time on air to compare
	least := time.Since(playable)
	encoder.terminate(t)
	r := a.ready(stream.ID)
	longest := time.Since(before)
	recorded, err := r.URL.Get()
	require.NoError(t, err)
	replayed := downloadAll(t, recorded, false)
	filled += downloadAll(t, recorded, true)

	// The CDN's log: what it sent to viewers.
	at := time.Now().UTC().Format("02/Jan/2006:15:04:05 -0700")
	line := func(address string, status, size int) string {
		u, err := url.Parse(address)
		require.NoError(t, err)
		return fmt.Sprintf("192.0.2.1 - - [%s] \"GET %s HTTP/1.1\" %d %d \"-\" \"-\"\n", at, u.RequestURI(), status, size)
	}
	log := line(live, 200, 1_000_000) + line(live, 206, 500) + line(recorded, 200, 70_000) + line(live, 403, 9) + line(s.url+"/x", 200, 5) + "x\n"
	out, code := command(t, s, log, "import-cdn-logs", "--format", "combined", "--source", "edge", "-")
	require.Equal(t, 1, code, out)
	require.Contains(t, out, "1 of its 6 lines can't be read, so nothing was imported")
	said := done(t, s, log, "import-cdn-logs", "--format", "combined", "--source", "edge", "--accept-bad-lines", "-")
	require.Contains(t, said, "-: line 6: the time can't be read\n")
	require.Contains(t, said, "-: 5 requests, 1 bad lines, 1070500 bytes of tenants, 14 of none\n")
	require.Contains(t, done(t, s, log, "import-cdn-logs", "--format", "combined", "--source", "edge", "-"), "imported before, skipped")
	for _, wrong := range []struct {
		input, says string
		code        int
		args        []string
	}{
		{"x\n", "none of its 1 lines could be read", 1, []string{"--format", "bunny", "--source", "edge", "-"}},
		{"", "no such file", 1, []string{"--format", "bunny", "--source", "edge", "/no/file"}},
		{"", "--source: lower-case", 2, []string{"--format", "bunny", "--source", "Edge", "-"}},
		{"", "--format", 2, []string{"--format", "iis", "--source", "edge", "-"}},
	} {
		out, code := command(t, s, wrong.input, append([]string{"import-cdn-logs"}, wrong.args...)...)
		require.Equal(t, wrong.code, code, out)
		require.Contains(t, out, wrong.says)
	}

	by := api.UsageHistoryByStream
	history := func() (amounts map[string]int64) {
		answer, err := a.GetUsageHistoryWithResponse(t.Context(), &api.GetUsageHistoryParams{By: &by})
		require.NoError(t, err)
		require.NotNil(t, answer.JSON200, "%s", answer.Body)
		amounts = map[string]int64{}
		for _, row := range answer.JSON200.Rows {
			n := row.Amount
			if exact, err := row.Seconds.Get(); err == nil {
				n = exact
			}
			amounts[row.ResourceID.MustGet()+" "+string(row.Meter)] = n
		}
		return amounts
	}
	liveBytes, recordedBytes := int64(watched+1_000_500), int64(replayed+70_000)
	var got map[string]int64
	until(t, "the usage is written", func() bool {
		got = history()
		return got[stream.ID+" EGRESS_BYTES"] >= liveBytes && got[r.ID+" EGRESS_BYTES"] >= recordedBytes && got[stream.ID+" STREAM_MINUTES"] > 0 &&
			got[r.ID+" RECORDING_MINUTES"] > 0
	})
	require.Equal(t, liveBytes, got[stream.ID+" EGRESS_BYTES"])
	require.Equal(t, recordedBytes, got[r.ID+" EGRESS_BYTES"])
	length, err := r.DurationSec.Get()
	require.NoError(t, err)
	require.InDelta(t, length, got[r.ID+" RECORDING_MINUTES"], 1)
	require.GreaterOrEqual(t, got[stream.ID+" STREAM_MINUTES"], int64(least.Seconds()))
	require.LessOrEqual(t, got[stream.ID+" STREAM_MINUTES"], int64(longest.Seconds())+1)

	// The other reports.
	month, err := a.GetBillingUsageWithResponse(t.Context())
	require.NoError(t, err)
	used := map[api.UsageMeter]int64{}
	for _, m := range month.JSON200.Meters {
		used[m.Meter] = m.Used
	}
	require.Equal(t, liveBytes+recordedBytes, used[api.UsageMeterEGRESSBYTES])
	require.Equal(t, (got[stream.ID+" STREAM_MINUTES"]+59)/60, used[api.UsageMeterSTREAMMINUTES])
	root := adminClient(t, s, "root@e2e.example", shown(t, done(t, s, "", "admin", "create", "root@e2e.example", "--role", "SUPER_ADMIN")))
	all, err := root.GetAdminUsageWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, all.JSON200.Items, 1)
	for _, m := range all.JSON200.Items[0].Meters {
		require.Equal(t, used[m.Meter], m.Used, m.Meter)
	}
	o, err := root.GetAdminBandwidthWithResponse(t.Context(), nil)
	require.NoError(t, err)
	require.EqualValues(t, watched+replayed+filled, o.JSON200.EgressBytes, "with the bytes to the CDN")
	require.EqualValues(t, 1_070_514, o.JSON200.CdnBytes)
	require.EqualValues(t, 1_070_500, o.JSON200.Tenants[0].CdnBytes)
	require.Positive(t, o.JSON200.IngressBytes)
}
