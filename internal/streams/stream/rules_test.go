package stream

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
)

var noon = time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)

func at(d time.Duration) *time.Time { return new(noon.Add(d)) }

func TestMayPublish(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		tenant  string
		blocked *time.Time
		code    string
		message string
	}{
		"trial":               {"TRIAL", nil, "", ""},
		"active":              {"ACTIVE", nil, "", ""},
		"behind with payment": {"PAST_DUE", nil, "", ""},
		"suspended":           {"SUSPENDED", nil, "tenant_suspended", "suspended"},
		"cancelled":           {"CANCELLED", nil, "tenant_suspended", "suspended"},
		"just stopped":        {"ACTIVE", at(300 * time.Second), "stream_stopped", "in 300 seconds"},
		"a moment left":       {"ACTIVE", at(time.Millisecond), "stream_stopped", "in 1 seconds"},
		"cool-down over":      {"ACTIVE", at(0), "", ""},
		"long over":           {"ACTIVE", at(-time.Hour), "", ""},
		"both":                {"SUSPENDED", at(time.Minute), "tenant_suspended", "suspended"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := mayPublish(db.Stream{BlockedUntil: c.blocked}, c.tenant, noon)
			if c.code == "" {
				require.NoError(t, err)
				return
			}
			require.True(t, problem.Is(err, c.code), "%v", err)
			require.ErrorContains(t, err, c.message)
		})
	}
}

func TestStarted(t *testing.T) {
	t.Parallel()
	for status, isNew := range map[string]bool{Idle: true, Ended: true, Live: false, Reconnecting: false} {
		before := db.Stream{
			Status: status, StartedAt: at(-time.Hour), EndedAt: at(-time.Minute), ReconnectUntil: at(time.Minute),
			BlockedUntil: at(-time.Second), RejectedReason: new("wrong codec"), PublisherID: new("p1"),
		}
		if !isNew {
			before.EndedAt = nil
		}
		next, news := started(before, noon)
		require.Equal(t, isNew, news, status)
		require.Equal(t, Live, next.Status)
		require.Nil(t, next.EndedAt, status)
		require.Nil(t, next.ReconnectUntil)
		require.Nil(t, next.BlockedUntil)
		require.Nil(t, next.RejectedReason)
		require.Equal(t, "p1", *next.PublisherID)
		if isNew {
			require.Equal(t, noon, *next.StartedAt, status)
		} else {
			require.Equal(t, noon.Add(-time.Hour), *next.StartedAt, status)
		}
	}
}

func TestLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status string
		window int32
		next   string
		until  *time.Time
	}{
		"never on air":                    {Idle, 60, Idle, nil},
		"over before":                     {Ended, 60, Ended, nil},
		"no window":                       {Live, 0, Ended, nil},
		"window":                          {Live, 60, Reconnecting, at(time.Minute)},
		"gone again before the key frame": {Reconnecting, 60, Reconnecting, at(10 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := db.Stream{Status: c.status, ReconnectWindowSec: c.window, PublisherID: new("p1"), StartedAt: at(-time.Hour)}
			if c.status == Reconnecting {
				before.ReconnectUntil = c.until // the window doesn't start again
			}
			next := left(before, noon)
			require.Equal(t, c.next, next.Status)
			require.Equal(t, c.until, next.ReconnectUntil)
			require.Nil(t, next.PublisherID)
			require.Equal(t, c.status == Live && c.window == 0, next.EndedAt != nil)
			require.Equal(t, before.StartedAt, next.StartedAt)
		})
	}
}

func TestEnded(t *testing.T) {
	t.Parallel()
	next := ended(db.Stream{
		Status: Reconnecting, PublisherID: new("p1"), StartedAt: at(-time.Hour), ReconnectUntil: at(0), BlockedUntil: at(time.Minute),
	}, noon)
	require.Equal(t, Ended, next.Status)
	require.Equal(t, noon, *next.EndedAt)
	require.Nil(t, next.PublisherID)
	require.Nil(t, next.ReconnectUntil)
	require.Equal(t, at(time.Minute), next.BlockedUntil, "a cool-down outlives the broadcast")
	require.Equal(t, at(-time.Hour), next.StartedAt)
}

func TestHealth(t *testing.T) {
	t.Parallel()
	arriving := Media{VideoKbps: 2500, VideoCodec: "H264", FPS: 30, Width: 1280, Height: 720}
	for name, c := range map[string]struct {
		row    db.Stream
		media  Media
		state  string
		reason bool
	}{
		"idle":                     {db.Stream{Status: Idle}, Media{}, Offline, false},
		"ended":                    {db.Stream{Status: Ended}, Media{}, Offline, false},
		"rejected":                 {db.Stream{Status: Idle, RejectedReason: new("r")}, Media{}, Rejected, true},
		"rejected after the end":   {db.Stream{Status: Ended, RejectedReason: new("r")}, Media{}, Rejected, true},
		"on air":                   {db.Stream{Status: Live, PublisherID: new("p")}, arriving, Good, false},
		"sound alone":              {db.Stream{Status: Live}, Media{AudioKbps: 128, AudioCodec: "AAC"}, Good, false},
		"on air at another server": {db.Stream{Status: Live}, Media{}, Good, false},
		"nothing arrives":          {db.Stream{Status: Live}, Media{VideoCodec: "H264"}, Stalled, true},
		"away":                     {db.Stream{Status: Reconnecting}, Media{}, Stalled, true},
		"rejected on air":          {db.Stream{Status: Live, RejectedReason: new("r")}, arriving, Good, false},
		"connected":                {db.Stream{Status: Idle, PublisherID: new("p")}, Media{}, Stalled, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := health(c.row, c.media)
			require.Equal(t, c.state, h.State)
			require.Equal(t, c.reason, h.Reason != nil)
			require.Equal(t, c.media, h.Media)
		})
	}
}

func TestNoticesNameTheEncodersSettings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		media Media
		codes []string
	}{
		"nothing arrives": {Media{}, []string{}},
		"as it should be": {Media{VideoCodec: "H264", KeyInterval: 2002 * time.Millisecond}, []string{}},
		"B-frames":        {Media{VideoCodec: "H264", BFrames: true, KeyInterval: time.Second}, []string{NoticeBFrames}},
		"H.265":           {Media{VideoCodec: "H265", KeyInterval: time.Second}, []string{NoticeVideoCodec}},
		"all of it":       {Media{VideoCodec: "H265", BFrames: true, KeyInterval: 10 * time.Second}, []string{NoticeVideoCodec, NoticeBFrames, NoticeKeyInterval}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			codes := []string{}
			for _, n := range health(db.Stream{Status: Live}, c.media).Notices {
				codes = append(codes, n.Code)
				require.NotEmpty(t, n.Message)
			}
			require.Equal(t, c.codes, codes)
		})
	}
	for _, state := range []string{LadderStarting, LadderNoEncoder, LadderNoRoom, LadderUnsuitable, LadderSlow, LadderFailed} {
		require.NotNil(t, ladderReason(state), state)
	}
	require.Nil(t, ladderReason(LadderRunning))
	require.Nil(t, ladderReason(""))
	require.Contains(t, notices(Media{KeyInterval: 10 * time.Second})[0].Message, "every 10.0 s")
}

func TestCallbackKey(t *testing.T) {
	t.Parallel()
	for param, key := range map[string]string{
		"": "name", "?": "name", "?key=": "name", "?key=k": "k", "key=k": "k", "?a=b&key=k&key=l": "k", "?key=%zz": "name", "?a=1;key=k": "name",
	} {
		require.Equal(t, key, Callback{Stream: "name", Param: param}.key(), param)
	}
}

func TestWatchableSince(t *testing.T) {
	t.Parallel()
	for status, want := range map[string]time.Time{
		Idle: {}, Ended: {}, Live: noon.Add(-time.Minute), Reconnecting: noon.Add(-time.Minute),
	} {
		require.Equal(t, want, watchableSince(db.Stream{Status: status, StartedAt: at(0)}), status)
	}
}

func TestABroadcastDoesNotEndBeforeItBegan(t *testing.T) {
	t.Parallel()
	s := ended(db.Stream{Status: Live, StartedAt: at(0)}, noon.Add(-time.Second))
	require.Equal(t, noon, *s.EndedAt)
}

func TestFate(t *testing.T) {
	t.Parallel()
	const here, there = "node_1", "node_2"
	for name, c := range map[string]struct {
		status, tenant, node string
		publisher            *string
		want                 Fate
	}{
		"on air":                {Live, "ACTIVE", here, new("pub_1"), Stays},
		"about to be on air":    {Ended, "TRIAL", here, new("pub_1"), Stays},
		"encoder left":          {Live, "ACTIVE", here, nil, Stays},
		"waits":                 {Reconnecting, "PAST_DUE", here, nil, Stays},
		"stopped":               {Ended, "ACTIVE", here, nil, Stopped},
		"stopped before air":    {Idle, "ACTIVE", here, nil, Stopped},
		"suspended":             {Ended, "SUSPENDED", here, nil, Withdrawn},
		"slipped in":            {Live, "CANCELLED", here, new("pub_1"), Withdrawn},
		"taken over":            {Live, "ACTIVE", there, new("pub_2"), Moved},
		"about to be elsewhere": {Idle, "ACTIVE", there, new("pub_2"), Moved},
		"waits elsewhere":       {Reconnecting, "ACTIVE", there, nil, Moved},
		"ended elsewhere":       {Ended, "ACTIVE", there, nil, Stopped},
		"suspended elsewhere":   {Live, "SUSPENDED", there, new("pub_2"), Withdrawn},
		"on a media server":     {Live, "ACTIVE", "", new("srs:1:2"), Replaced},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			row := db.GetStreamFateRow{Status: c.status, PublisherID: c.publisher, Node: c.node, TenantStatus: c.tenant}
			require.Equal(t, c.want, fate(row, here))
		})
	}
}
