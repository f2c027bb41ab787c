package handlers_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const importPath = "/v1/admin/bandwidth/import-cdn-logs"

// cdnRow returns a row of a CDN's log.
func cdnRow(requestID string, at time.Time, path string, status, size int) map[string]any {
	return map[string]any{"requestId": requestID, "at": at.Format(time.RFC3339Nano), "path": path, "status": status, "bytes": size}
}

// livePath returns the path of a stream's playlist.
func livePath(s *apitest.Server, streamID string) string {
	return "/live/" + s.Playback.SignPlayback(streamID, s.Clock.Now().Add(time.Hour)) + "/index.m3u8"
}

func cdnLog(source string, rows ...map[string]any) map[string]any {
	return map[string]any{"source": source, "rows": rows}
}

func TestCDNLogsCountOnceForTheirTenant(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	streamID := owner.Stream(t, nil).ID
	recordingID := id.New(id.Recording)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO recordings (id, tenant_id, stream_id, source, status, broadcast_at, started_at, ended_at, node,
		wanted_at, duration_ms, size_bytes, created_at, updated_at)
		VALUES ($1, $2, $3, 'builtin', 'READY', $4, $4, $4, '', $4, 4000, 1000, $4, $4)`, recordingID, owner.TenantID, streamID, s.Clock.Now())
	require.NoError(t, err)
	now := s.Clock.Now().UTC()
	recorded := "/vod/" + s.Playback.SignRecording(recordingID, now) + "/" + recordingID + "/video.m3u8"
	unknown := livePath(s, id.New(id.Stream))
	log := cdnLog("edge-eu",
		cdnRow("1", now, livePath(s, streamID), 200, 1000), cdnRow("2", now, recorded, 206, 500), cdnRow("3", now, unknown, 200, 30),
		cdnRow("4", now, "/other", 200, 20), cdnRow("5", now, livePath(s, streamID), 403, 7), cdnRow("6", now, livePath(s, streamID), 304, 0),
		cdnRow("1", now, livePath(s, streamID), 200, 1000))
	var done api.CdnLogImportResult
	root.Call(t, "POST", importPath, log).Into(t, 201, &done)
	require.Equal(t, api.CdnLogImportResult{Received: 7, Imported: 6, Duplicates: 1, Unattributed: 3, Bytes: 1557}, done)
	root.Call(t, "POST", importPath, log).Into(t, 201, &done)
	require.Equal(t, api.CdnLogImportResult{Received: 7, Duplicates: 7}, done)
	// Another CDN has ids of its own.
	root.Call(t, "POST", importPath, cdnLog("edge-us", cdnRow("1", now, livePath(s, streamID), 200, 10))).Into(t, 201, &done)
	require.Equal(t, api.CdnLogImportResult{Received: 1, Imported: 1, Bytes: 10}, done)
	require.Len(t, strings.Fields(actions(t, root, "action=bandwidth.import_cdn_logs")), 3)

	// The reports of the tenant and of operators agree.
	var u api.BillingUsage
	owner.Call(t, "GET", "/v1/me/billing/usage", nil).Into(t, 200, &u)
	use, _ := meters(t, u.Meters)
	require.EqualValues(t, 1510, use["EGRESS_BYTES"])
	var all api.OperationsUsage
	root.Call(t, "GET", "/v1/admin/operations/usage", nil).Into(t, 200, &all)
	require.Len(t, all.Items, 1, "not what no tenant owns")
	use, _ = meters(t, all.Items[0].Meters)
	require.EqualValues(t, 1510, use["EGRESS_BYTES"])
	var o api.BandwidthOverview
	root.Call(t, "GET", "/v1/admin/bandwidth/overview", nil).Into(t, 200, &o)
	require.EqualValues(t, 1567, o.CdnBytes, "with those of no tenant")
	require.Zero(t, o.EgressBytes)
	require.Len(t, o.Tenants, 1)
	require.EqualValues(t, 1510, o.Tenants[0].CdnBytes)
	var h api.UsageHistory
	owner.Call(t, "GET", historyPath+"?by=stream", nil).Into(t, 200, &h)
	require.Len(t, h.Rows, 2)
	for _, r := range h.Rows {
		require.Equal(t, map[string]int64{streamID: 1010, recordingID: 500}[r.ResourceID.MustGet()], r.Amount)
	}
}

func TestLateRowsCountInTheirOwnHour(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	streamID := owner.Stream(t, nil).ID
	late := s.Clock.Now().UTC().AddDate(0, 0, -200).Truncate(time.Hour).Add(59 * time.Minute)
	root.Call(t, "POST", importPath, cdnLog("cdn-late", cdnRow(streamID, late, livePath(s, streamID), 200, 5))).Is(t, 201)
	// Their interval is older than intervals are kept. The sums stay.
	require.NoError(t, s.Usage.DeleteOld(t.Context()))
	hour := late.Truncate(time.Hour)
	var h api.UsageHistory
	owner.Call(t, "GET", historyPath+"?by=hour&from="+stamp(hour)+"&to="+stamp(hour.Add(time.Hour)), nil).Into(t, 200, &h)
	require.Len(t, h.Rows, 1)
	require.EqualValues(t, 5, h.Rows[0].Amount)
	require.True(t, h.Rows[0].StartsAt.Equal(hour))
}

func TestRefusedCDNLogs(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	root, support := s.Admin(t, platform.SuperAdmin), s.Admin(t, platform.Support)
	now := s.Clock.Now()
	good := cdnRow("r", now, "/x", 200, 1)
	for field, row := range map[string]map[string]any{
		"rows.1.at":    cdnRow("a", now.AddDate(0, 0, -401), "/x", 200, 1),
		"rows.1.bytes": cdnRow("a", now, "/x", 200, 1<<40+1),
	} {
		p := root.Call(t, "POST", importPath, cdnLog("cdn-refused", good, row)).Problem(t, 400, "invalid_input")
		require.Equal(t, []string{field}, fieldsOf(p))
	}
	root.Call(t, "POST", importPath, cdnLog("cdn-refused", cdnRow("a", now.Add(25*time.Hour), "/x", 200, 1))).Problem(t, 400, "invalid_input")
	for _, wrong := range []map[string]any{
		cdnLog("cdn-refused"), cdnLog("UPPER", good), cdnLog("", good), cdnLog("cdn-refused", cdnRow("", now, "/x", 200, 1)),
		cdnLog("cdn-refused", cdnRow("a", now, "x", 200, 1)), cdnLog("cdn-refused", cdnRow("a", now, "/x", 99, 1)),
		cdnLog("cdn-refused", cdnRow("a", now, "/x", 200, -1)), cdnLog("cdn-refused", cdnRow("a", time.Time{}, "/x", 200, 1)),
	} {
		root.Call(t, "POST", importPath, wrong).Problem(t, 400, "invalid_input")
	}
	root.Call(t, "POST", importPath, `{"source":"cdn-refused","rows":[],"more":"`+strings.Repeat("x", 5<<20)+`"}`).Is(t, 413)
	support.Call(t, "POST", importPath, cdnLog("cdn-refused", good)).Problem(t, 403, "forbidden")
	// Nothing of the refused requests was imported.
	var done api.CdnLogImportResult
	root.Call(t, "POST", importPath, cdnLog("cdn-refused", good)).Into(t, 201, &done)
	require.Equal(t, 1, done.Imported)
}

// TestTheSameRowsAtOnce sends the largest batch several times at the same time.
func TestTheSameRowsAtOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
	path := livePath(s, owner.Stream(t, nil).ID)
	now := s.Clock.Now()
	var rows []map[string]any
	for i := range 10_000 {
		row := cdnRow(fmt.Sprint(owner.TenantID, i), now.Add(-time.Duration(i%100)*time.Hour), path, 200, 1)
		row["cache"], row["country"], row["durationMs"] = "HIT", "DE", 18
		rows = append(rows, row)
	}
	log := cdnLog("cdn-at-once", rows...)
	var imported, duplicates int
	var mu sync.Mutex
	var work sync.WaitGroup
	for range 3 {
		work.Go(func() {
			var done api.CdnLogImportResult
			root.Call(t, "POST", importPath, log).Into(t, 201, &done)
			mu.Lock()
			defer mu.Unlock()
			imported += done.Imported
			duplicates += done.Duplicates
		})
	}
	work.Wait()
	require.Equal(t, 10_000, imported)
	require.Equal(t, 20_000, duplicates)
	sums, err := s.Usage.Sum(t.Context(), owner.TenantID, now.AddDate(0, 0, -10).Truncate(time.Hour), now.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 10_000, sums[usage.EgressBytes])
}

func TestIDsOfRowsAreKeptFor30Days(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	root := s.Admin(t, platform.SuperAdmin)
	log := cdnLog("cdn", cdnRow("1", s.Clock.Now(), "/x", 200, 1))
	imported := func() (n int) {
		t.Helper()
		var done api.CdnLogImportResult
		root.Call(t, "POST", importPath, log).Into(t, 201, &done)
		return done.Imported
	}
	require.Equal(t, 1, imported())
	_, err := s.Pool.Exec(t.Context(), `UPDATE cdn_requests SET imported_at = $1`, s.Clock.Now().Add(-30*24*time.Hour+time.Minute))
	require.NoError(t, err)
	require.NoError(t, s.Bandwidth.DeleteOld(t.Context()))
	require.Zero(t, imported())
	_, err = s.Pool.Exec(t.Context(), `UPDATE cdn_requests SET imported_at = $1`, s.Clock.Now().Add(-30*24*time.Hour-time.Minute))
	require.NoError(t, err)
	require.NoError(t, s.Bandwidth.DeleteOld(t.Context()))
	require.Equal(t, 1, imported())
}

func TestTheBandwidthOverview(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	first, second, root := s.Register(t), s.Register(t), s.Admin(t, platform.Support)
	now := s.Clock.Now().UTC()
	add := func(c *apitest.Caller, resourceID string, m usage.Meter, at time.Time, amount int64) {
		t.Helper()
		_, err := s.Usage.Record(t.Context(), []usage.Interval{{
			Owner: usage.Owner{TenantID: c.TenantID}, Source: "test", ResourceID: resourceID, Meter: m, From: at, To: at, Amount: amount,
		}})
		require.NoError(t, err)
	}
	add(first, "str_1", usage.EgressBytes, now, 1000) // of them 300 in the room, 200 by a CDN
	add(first, "str_1", usage.RoomBytes, now, 300)
	add(first, "str_1", usage.CDNBytes, now, 200)
	add(first, "str_1", usage.CDNFillBytes, now, 50)
	add(first, "str_1", usage.RestreamBytes, now, 40)
	add(first, "rec_1", usage.EgressBytes, now, 70) // of them 60 by a CDN
	add(first, "rec_1", usage.CDNBytes, now, 60)
	add(first, "rec_1", usage.CDNFillBytes, now, 5)
	add(first, "sess_1", usage.EgressBytes, now, 11)
	add(second, "sess_2", usage.IngressBytes, now.AddDate(0, 0, -1), 8)
	add(second, "sess_2", usage.EgressBytes, now.AddDate(0, 0, -1), 9)
	add(second, "sess_2", usage.EgressBytes, now.AddDate(0, 0, -2), 1_000_000) // before the range

	var o api.BandwidthOverview
	root.Call(t, "GET", "/v1/admin/bandwidth/overview?days=2", nil).Into(t, 200, &o)
	require.Len(t, o.Days, 2)
	today := o.Days[1]
	require.EqualValues(t, 1000-300-200+50, today.LiveBytes)
	require.EqualValues(t, 70-60+5, today.RecordingBytes)
	require.EqualValues(t, 11+300, today.SessionBytes)
	require.EqualValues(t, 40, today.RestreamBytes)
	require.EqualValues(t, 260, today.CdnBytes)
	require.EqualValues(t, 8, o.Days[0].IngressBytes)
	require.True(t, o.From.Equal(o.Days[0].StartsAt.Time))
	require.True(t, o.Days[0].StartsAt.AddDate(0, 0, 1).Equal(today.StartsAt.Time))
	require.EqualValues(t, 8, o.IngressBytes)
	require.EqualValues(t, 550+15+311+40+9, o.EgressBytes)
	require.EqualValues(t, 260, o.CdnBytes)
	require.Len(t, o.Tenants, 2)
	require.Equal(t, first.TenantID, o.Tenants[0].TenantID)
	require.EqualValues(t, 550+15+311+40, o.Tenants[0].EgressBytes)
	require.EqualValues(t, 260, o.Tenants[0].CdnBytes)
	require.InDelta(t, 99.2, o.Tenants[0].Percent, 0.001)
	require.InDelta(t, 0.8, o.Tenants[1].Percent, 0.001)

	for query, days := range map[string]int{"": 30, "?days=": 30, "?days=0": 1, "?days=1000": 365} {
		root.Call(t, "GET", "/v1/admin/bandwidth/overview"+query, nil).Into(t, 200, &o)
		require.Len(t, o.Days, days, query)
	}
	root.Call(t, "GET", "/v1/admin/bandwidth/overview?days=x", nil).Problem(t, 400, "invalid_input")
}
