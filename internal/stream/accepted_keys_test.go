package stream_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/stream"
)

func TestAcceptedKeysAreThoseOfTheLastPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	hash := sha256.Sum256([]byte(r.st.StreamKey))
	// keys returns this stream's keys only: other tests publish to the same database.
	keys := func(period time.Duration, limit int32) []stream.AcceptedKey {
		t.Helper()
		list, err := r.Streams.AcceptedKeys(t.Context(), period, limit)
		require.NoError(t, err)
		return slices.DeleteFunc(list, func(k stream.AcceptedKey) bool { return !bytes.Equal(k.Hash, hash[:]) })
	}
	require.Empty(t, keys(24*time.Hour, 10000))
	r.leave(t, r.connect(t, stream.SourceSRS))
	require.Empty(t, keys(24*time.Hour, 10000), "media servers hold their own connections")
	conn := r.connect(t, stream.SourceRTMP)
	r.leave(t, r.connect(t, stream.SourceRTMP)) // the same address and key
	r.leave(t, conn)
	list := keys(24*time.Hour, 10000)
	require.Len(t, list, 1)
	require.NotEmpty(t, list[0].RemoteIP)
	require.WithinDuration(t, r.Clock.Now(), list[0].UsedAt, time.Second)
	require.Empty(t, keys(24*time.Hour, 0))
	r.Clock.Advance(25 * time.Hour)
	require.Empty(t, keys(24*time.Hour, 10000))
	r.connect(t, stream.SourceRTMP)
	r.Clock.Advance(25 * time.Hour)
	require.Len(t, keys(24*time.Hour, 10000), 1, "the encoder is still connected")
}
