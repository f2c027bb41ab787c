package stream_test

import (
	"crypto/sha256"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/stream"
)

func TestAcceptedKeysAreThoseOfTheLastPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	keys := func(period time.Duration, limit int32) []stream.AcceptedKey {
		t.Helper()
		list, err := r.Streams.AcceptedKeys(t.Context(), period, limit)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, keys(24*time.Hour, 10))
	r.leave(t, r.connect(t, stream.SourceSRS))
	require.Empty(t, keys(24*time.Hour, 10), "media servers hold their own connections")
	conn := r.connect(t, stream.SourceRTMP)
	r.leave(t, r.connect(t, stream.SourceRTMP)) // the same address and key
	r.leave(t, conn)
	list := keys(24*time.Hour, 10)
	require.Len(t, list, 1)
	hash := sha256.Sum256([]byte(r.st.StreamKey))
	require.Equal(t, hash[:], list[0].Hash)
	require.NotEmpty(t, list[0].RemoteIP)
	require.WithinDuration(t, r.Clock.Now(), list[0].UsedAt, time.Second)
	require.Empty(t, keys(24*time.Hour, 0))
	r.Clock.Advance(25 * time.Hour)
	require.Empty(t, keys(24*time.Hour, 10))
	r.connect(t, stream.SourceRTMP)
	r.Clock.Advance(25 * time.Hour)
	require.Len(t, keys(24*time.Hour, 10), 1, "the encoder is still connected")
}
