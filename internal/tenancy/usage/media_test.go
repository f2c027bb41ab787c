package usage_test

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/media/sfu/sfutest"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/usage"
	"showfloor/internal/testkit/apitest"
)

// opus writes sound to a stream's publisher, in frames of 20 ms.
func opus(t *testing.T, p *hub.Publisher, from, until time.Duration, at time.Time) {
	t.Helper()
	track := &hub.Track{Codec: hub.Opus, SampleRate: 48_000, Channels: 2}
	for d := from; d < until; d += 20 * time.Millisecond {
		require.NoError(t, p.Write(&hub.Unit{Track: track, DTS: d, PTS: d, Key: true, Data: make([]byte, 100), Arrived: at.Add(d - from)}))
	}
}

var playlistLine = regexp.MustCompile(`(?m)^[0-9a-f]+/source/live\.m3u8\?viewer=[0-9A-Za-z_-]{44,}$`)

// TestAViewersSecondsAndBytes measures a player of the server's own playlists over HTTP,
// up to the rows in the database.
func TestAViewersSecondsAndBytes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, nil)
	p, err := s.Hub.Publish(hub.Broadcast{StreamID: st.ID, LowLatency: true}, "pub_1", nil)
	require.NoError(t, err)
	begun := s.Clock.Now()
	opus(t, p, 0, 3*time.Second, begun)
	u, err := s.Streams.CreatePlaybackURL(t.Context(), tenancy.Caller{TenantID: owner.TenantID, UserID: owner.UserID}, st.ID, time.Hour)
	require.NoError(t, err)
	var sent int64
	get := func(address string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		require.NoError(t, err)
		r.Header.Set("Accept-Encoding", "identity")
		response, err := http.DefaultTransport.RoundTrip(r)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		body, err := io.ReadAll(response.Body)
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, response.StatusCode, string(body))
		sent += int64(len(body))
		return string(body)
	}
	root := s.URL + regexp.MustCompile(`/live/.*/`).FindString(u.URL)
	media := root + playlistLine.FindString(get(root+"index.m3u8"))
	collector := usage.NewCollector(usage.CollectorConfig{Usage: s.Usage, Source: mediagate.Usage{Meter: s.Meter}})
	get(media)
	for range 4 { // 31.5 seconds
		s.Clock.Advance(7875 * time.Millisecond)
		get(media)
		collector.Collect()
	}
	p.Close()
	require.NoError(t, collector.Finish(t.Context()))
	amounts, err := s.Usage.Sum(t.Context(), owner.TenantID, begun.Add(-time.Hour), begun.Add(time.Hour))
	require.NoError(t, err)
	require.Equal(t, usage.Amounts{
		usage.StreamMinutes: 32, usage.ViewerMinutes: 32, usage.EgressBytes: sent, usage.IngressBytes: 150 * 100,
	}, amounts, "31.5 s, rounded at the end of the broadcast")
}

// TestAParticipantsSecondsAndBytes measures a participant at the SFU, up to the
// rows in the database.
func TestAParticipantsSecondsAndBytes(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{SFU: true})
	owner := s.Register(t)
	room := owner.Session(t, map[string]any{"projectId": "proj_9"})
	begun := s.Clock.Now()
	ada := owner.Ticket(t, room.ID, "ada", nil).Connect(t)
	bob := owner.Ticket(t, room.ID, "bob", nil).Connect(t)
	spoken := bob.Publish(t, sfutest.Microphone())
	ada.Hears(t, spoken[0].ID, 20)
	spoken[0].Stop()
	s.Clock.Advance(20 * time.Second)
	collector := usage.NewCollector(usage.CollectorConfig{Usage: s.Usage, Source: mediagate.Usage{Meter: s.Meter}})
	collector.Collect()
	bob.Send(t, map[string]any{"type": "leave"})
	apitest.Until(t, "that bob has left", func() bool { return !slices.Contains(s.SFU.Users(room.ID), "bob") })
	s.Clock.Advance(5 * time.Second)
	require.NoError(t, collector.Finish(t.Context()))
	amounts, err := s.Usage.Sum(t.Context(), owner.TenantID, begun.Add(-time.Hour), begun.Add(time.Hour))
	require.NoError(t, err)
	require.EqualValues(t, 2*20+5, amounts[usage.ParticipantMinutes])
	require.GreaterOrEqual(t, amounts[usage.EgressBytes], int64(ada.Received(spoken[0].ID).Bytes))
	require.GreaterOrEqual(t, amounts[usage.IngressBytes], int64(ada.Received(spoken[0].ID).Bytes))
	require.Len(t, amounts, 3)
	var project string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT DISTINCT project_id FROM usage_intervals WHERE tenant_id = $1`, owner.TenantID).Scan(&project))
	require.Equal(t, "proj_9", project)
}
