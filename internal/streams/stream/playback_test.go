package stream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/problem"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// token makes a playback URL and returns its token.
func (r *rig) token(t *testing.T, life time.Duration) string {
	t.Helper()
	u, err := r.Streams.CreatePlaybackURL(t.Context(), r.caller, r.st.ID, life)
	require.NoError(t, err)
	parts := strings.Split(u.URL, "/")
	require.Equal(t, "index.m3u8", parts[5])
	return parts[4]
}

func TestPlaybackTokens(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	token := r.token(t, time.Hour)
	streamID, expires, err := r.Playback.CheckPlayback(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, r.st.ID, streamID)
	require.WithinDuration(t, r.Clock.Now().Add(time.Hour), expires, time.Second)

	r.Clock.Advance(2 * time.Hour)
	_, expires, err = r.Playback.CheckPlayback(t.Context(), token)
	require.NoError(t, err, "an expired token is named with its expiry")
	require.True(t, expires.Before(r.Clock.Now()))

	_, err = r.Streams.CreatePlaybackURL(t.Context(), r.caller, "str_unknown", time.Hour)
	require.True(t, problem.Is(err, "not_found"))
}

// TestARoomsPlaybackURL lives 5 to 10 minutes, and is the same for all participants.
func TestARoomsPlaybackURL(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	for range 12 {
		r.Clock.Advance(70 * time.Second)
		url, expires := r.Streams.RoomPlaybackURL(r.st.ID)
		again, _ := r.Streams.RoomPlaybackURL(r.st.ID)
		require.Equal(t, url, again)
		life := expires.Sub(r.Clock.Now())
		require.True(t, life > 5*time.Minute-time.Second && life <= 10*time.Minute, "%s", life)
		token := strings.Split(url, "/")[4]
		streamID, until, err := r.Playback.CheckRoomPlayback(t.Context(), token)
		require.NoError(t, err)
		require.Equal(t, r.st.ID, streamID)
		require.True(t, expires.Equal(until))
		_, _, err = r.Playback.CheckPlayback(t.Context(), token)
		require.Error(t, err, "it opens nothing else")
	}
}

func TestOldConnectionsAreDeleted(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, apitest.Options{Pool: dbtest.New(t)}, 0) // DeleteOld deletes rows of all tenants
	r.leave(t, r.air(t))
	r.air(t)
	watch := stream.Callback{ServerID: "vid-1", ClientID: "c1", Stream: r.st.StreamKey}
	require.NoError(t, r.Streams.IngestPlay(t.Context(), watch))
	require.NoError(t, r.Streams.IngestStop(t.Context(), watch))
	rows := func() (publishers, plays int) {
		require.NoError(t, r.Pool.QueryRow(t.Context(),
			"SELECT (SELECT count(*) FROM publishers), (SELECT count(*) FROM plays)").Scan(&publishers, &plays))
		return publishers, plays
	}
	r.Clock.Advance(29 * 24 * time.Hour)
	require.NoError(t, r.Streams.DeleteOld(t.Context()))
	publishers, plays := rows()
	require.Equal(t, 2, publishers)
	require.Equal(t, 1, plays)
	r.Clock.Advance(2 * 24 * time.Hour)
	require.NoError(t, r.Streams.DeleteOld(t.Context()))
	publishers, plays = rows()
	require.Equal(t, 1, publishers, "open sessions continue")
	require.Zero(t, plays)
}
