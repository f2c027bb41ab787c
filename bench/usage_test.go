package bench

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/console/bandwidth"
	"showfloor/internal/console/cdnlog"
	"showfloor/internal/media/metering"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/playtoken"
	"showfloor/internal/tenancy/usage"
)

// BenchmarkCDNLogs reads logs of CDNs, 300,000 lines in each format for 100 streams over 24 hours. The baseline counts the lines of the
// same log.
func BenchmarkCDNLogs(b *testing.B) {
	for _, f := range cdnlog.Formats() {
		b.Run(string(f), func(b *testing.B) {
			const lines, rounds = 300_000, 5
			now := time.Date(2026, 3, 3, 0, 0, 0, 0, time.UTC)
			log := cdnLog(f, lines, now.Add(-24*time.Hour))
			reader := cdnlog.Reader{Format: f, ResourceOf: bandwidth.ResourceOf, Now: now}
			for b.Loop() {
				var with, bare []float64
				for range rounds {
					began := time.Now()
					read, err := reader.Read(b.Context(), bytes.NewReader(log))
					with = append(with, time.Since(began).Seconds())
					require.NoError(b, err)
					require.EqualValues(b, lines, read.Rows)
					require.Equal(b, 2400, len(read.Sums)) //nolint:testifylint // Len would print them
					began = time.Now()
					count := 0
					scanner := bufio.NewScanner(bytes.NewReader(log))
					for scanner.Scan() {
						count++
					}
					bare = append(bare, time.Since(began).Seconds())
					require.GreaterOrEqual(b, count, lines)
				}
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(lines/median(with), "lines/core-s")
				b.ReportMetric(float64(len(log))/(1<<20)/median(with), "MiB/core-s")
				b.ReportMetric(median(with)/median(bare), "ratio")
			}
		})
	}
}

// cdnLog makes a log of requests for the segments of 100 streams.
func cdnLog(f cdnlog.Format, lines int, from time.Time) []byte {
	tokens := playtoken.New(oneKey{})
	var paths [100]string
	for i := range paths {
		paths[i] = "/live/" + tokens.SignPlayback(id.New(id.Stream), from.Add(time.Hour)) + "/k3j9x2/source/seg1234.mp4"
	}
	const agent = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/139.0.0.0 Safari/537.36"
	var log []byte
	for i := range lines {
		at, path := from.Add(time.Duration(i)*(24*time.Hour/time.Duration(lines))), paths[i%len(paths)]
		switch f {
		case cdnlog.CloudFront:
			log = fmt.Appendf(log, "%s\tFRA60-P1\t734003\t192.0.2.%d\tGET\td111.cloudfront.net\t%s\t200\t-\t%s\t-\t-\tHit\tx%d==\n",
				at.Format("2006-01-02\t15:04:05"), i%256, path, "Mozilla/5.0%2520(Windows%2520NT%252010.0)", i)
		case cdnlog.Combined:
			log = fmt.Appendf(log, "192.0.2.%d - - [%s] \"GET %s HTTP/1.1\" 200 734003 \"https://acme.example/\" %q\n",
				i%256, at.Format("02/Jan/2006:15:04:05 -0700"), path, agent)
		case cdnlog.Cloudflare:
			log = fmt.Appendf(log, `{"CacheCacheStatus":"hit","ClientCountry":"de","ClientIP":"192.0.2.%d","ClientRequestHost":"cdn.example",`+
				`"ClientRequestMethod":"GET","ClientRequestURI":"%s","ClientRequestUserAgent":"%s","EdgeEndTimestamp":"%s",`+
				`"EdgeResponseBytes":734003,"EdgeResponseStatus":200,"EdgeStartTimestamp":"%s","RayID":"8f2c1d90a7b34e56"}`+"\n",
				i%256, path, agent, at.Format(time.RFC3339), at.Format(time.RFC3339))
		case cdnlog.Bunny:
			log = fmt.Appendf(log, "HIT|200|%d|734003|390|192.0.2.%d|https://acme.example/|https://acme.b-cdn.net%s|DE|%s|322b688bd63fb63f2babe9de30a5d262|DE\n",
				at.UnixMilli(), i%256, path, agent)
		case cdnlog.Akamai:
			log = fmt.Appendf(log, `{"version":2,"streamId":"12345","cp":"123456","reqId":"1239f220","reqTimeSec":"%d","bytes":"734003",`+
				`"cliIP":"192.0.2.%d","statusCode":"200","proto":"HTTPS","reqHost":"cdn.example","reqMethod":"GET","reqPath":"%s","UA":"%s"}`+"\n",
				at.Unix(), i%256, path, agent)
		}
	}
	return log
}

// BenchmarkUsageWriting writes the usage of a stream with 1,000 viewers and a session with 100 participants, every 10 seconds of a clock
// that runs fast. The baseline is the same with one viewer and one participant. All the time of the writer counts, with PostgreSQL's.
func BenchmarkUsageWriting(b *testing.B) {
	pool := durable(b)
	for b.Loop() {
		many, rows := writeUsage(b, pool, 1000, 100)
		one, fewRows := writeUsage(b, pool, 1, 1)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(many, "ms/10s")
		b.ReportMetric(many/100, "core%")
		b.ReportMetric(many/one, "ratio")
		b.ReportMetric(rows, "rows/10s")
		b.ReportMetric(fewRows, "one-rows/10s")
		require.InDelta(b, fewRows, rows, 0.01, "rows grow with viewers")
	}
}

// writeUsage returns the median time of writing an interval in ms, and the mean number of its rows.
func writeUsage(b *testing.B, pool *pgxpool.Pool, viewers, participants int) (ms, rows float64) {
	b.Helper()
	ctx, tenantID, streamID, sessionID := b.Context(), id.New(id.Tenant), id.New(id.Stream), id.New(id.Session)
	_, err := pool.Exec(ctx, `INSERT INTO tenants (id, name, created_at, updated_at) VALUES ($1, 'Acme', now(), now())`, tenantID)
	require.NoError(b, err)
	for _, resourceID := range []string{streamID, sessionID} { // the owner of a session is looked up like that of a stream
		_, err = pool.Exec(ctx, `INSERT INTO streams (id, tenant_id, name, mode, key_hash, key_last4, created_at, updated_at)
			VALUES ($1, $2, 'Show', 'STANDARD', convert_to($1, 'UTF8'), 'abcd', now(), now())`, resourceID, tenantID)
		require.NoError(b, err)
	}
	at := time.Now().UTC().Truncate(24 * time.Hour)
	meter := metering.New(func() time.Time { return at })
	stream, room := meter.Open(streamID), meter.Open(sessionID)
	stream.OnAir(true)
	c := usage.NewCollector(usage.CollectorConfig{Usage: usage.New(usage.Config{Pool: pool}), Source: mediagate.Usage{Meter: meter}})
	var times []float64
	const intervals = 200
	for range intervals {
		stream.Viewers(viewers)
		room.Participants(participants)
		for range viewers {
			stream.Sent(3_000_000)
		}
		for range participants {
			room.Sent(2_000_000)
			room.Received(400_000)
		}
		at = at.Add(10 * time.Second)
		began := time.Now()
		c.Collect()
		require.NoError(b, c.Write(ctx))
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	var n int64
	require.NoError(b, pool.QueryRow(ctx, `SELECT count(*) FROM usage_intervals WHERE tenant_id = $1`, tenantID).Scan(&n))
	return median(times), float64(n) / intervals
}

// BenchmarkUsageHistory reads the usage of a tenant with a million intervals: 100 streams with five meters each, over 30 days. The
// baseline reads one sum by its primary key.
func BenchmarkUsageHistory(b *testing.B) {
	pool := durable(b)
	ctx := b.Context()
	now := time.Now().UTC()
	tenantID := id.New(id.Tenant)
	_, err := pool.Exec(ctx, `INSERT INTO tenants (id, name, created_at, updated_at) VALUES ($1, 'Acme', now(), now())`, tenantID)
	require.NoError(b, err)
	s := usage.New(usage.Config{Pool: pool, Now: func() time.Time { return now }})
	fillUsage(b, s, tenantID, now)
	_, err = pool.Exec(ctx, `VACUUM ANALYZE usage_intervals, usage_hours, usage_days, usage_resource_days`)
	require.NoError(b, err)
	since, hours := now.AddDate(0, 0, -30), now.AddDate(0, 0, -30)
	questions := map[string]func() error{
		"usage": func() error {
			_, err := s.GetUsage(ctx, tenantID)
			return err
		},
		"sum": func() error { // from any moment, with parts of hours at both ends
			_, err := s.Sum(ctx, tenantID, since.Add(17*time.Minute), now)
			return err
		},
	}
	for by, from := range map[usage.By]time.Time{usage.ByDay: now.AddDate(0, 0, -300), usage.ByHour: hours, usage.ByStream: since} {
		questions["by-"+string(by)] = func() error {
			_, err := s.GetUsageHistory(ctx, tenantID, usage.HistoryQuery{From: &from, By: by})
			return err
		}
	}
	for b.Loop() {
		b.ReportMetric(0, "ns/op")
		bare := timesOf(b, func() error {
			var amount int64
			return pool.QueryRow(ctx, `SELECT coalesce(sum(amount), 0)::bigint FROM usage_hours WHERE tenant_id = $1 AND meter = 'EGRESS_BYTES' AND hour = $2`,
				tenantID, now.Truncate(time.Hour)).Scan(&amount)
		})
		b.ReportMetric(quantileOf(bare, 0.99), "bare-p99-ms")
		for name, ask := range questions {
			times := timesOf(b, ask)
			b.ReportMetric(quantileOf(times, 0.5), name+"-p50-ms")
			b.ReportMetric(quantileOf(times, 0.99), name+"-p99-ms")
		}
	}
}

// fillUsage records a million intervals.
func fillUsage(b *testing.B, s *usage.Service, tenantID string, now time.Time) {
	b.Helper()
	const streams, intervals = 100, 2000
	var ids [streams]string
	for i := range ids {
		ids[i] = id.New(id.Stream)
	}
	meters := []usage.Meter{usage.StreamMinutes, usage.ViewerMinutes, usage.EgressBytes, usage.IngressBytes, usage.ParticipantMinutes}
	list := make([]usage.Interval, 0, 5000)
	for n := range intervals {
		from := now.Add(-time.Duration(intervals-n) * 30 * 24 * time.Hour / intervals).Truncate(time.Microsecond)
		for _, resourceID := range ids {
			for _, m := range meters {
				list = append(list, usage.Interval{
					Owner: usage.Owner{TenantID: tenantID}, Source: "bench", ResourceID: resourceID, Meter: m, Quality: "720p",
					From: from, To: from.Add(10 * time.Second), Amount: 10,
				})
			}
		}
		if len(list) == cap(list) || n == intervals-1 {
			_, err := s.Record(b.Context(), list)
			require.NoError(b, err)
			list = list[:0]
		}
	}
}

// timesOf returns the times of many calls in ms, sorted.
func timesOf(b *testing.B, call func() error) (times []float64) {
	b.Helper()
	const calls = 300
	for range calls {
		began := time.Now()
		require.NoError(b, call())
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	slices.Sort(times)
	return times
}

// quantileOf returns a quantile of sorted times.
func quantileOf(sorted []float64, q float64) float64 { return sorted[int(q*float64(len(sorted)-1))] }
