package stream_test

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/streams/stream"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestAcceptedKeysAreOfTheLastPeriod(t *testing.T) {
	t.Parallel()
	r := newRig(t, 0)
	hash := sha256.Sum256([]byte(r.st.StreamKey))
	// keys returns this stream's keys only: other tests publish to the same database.
	keys := func(period time.Duration, limit int32) []stream.AcceptedKey {
		t.Helper()
		list, err := r.Streams.AcceptedKeys(t.Context(), period, limit, limit)
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
	require.Equal(t, "192.0.2.1", list[0].Network)
	require.WithinDuration(t, r.Clock.Now(), list[0].UsedAt, time.Second)
	require.Empty(t, keys(24*time.Hour, 0))
	r.Clock.Advance(25 * time.Hour)
	require.Empty(t, keys(24*time.Hour, 10000))
	r.connect(t, stream.SourceRTMP)
	r.Clock.Advance(25 * time.Hour)
	require.Len(t, keys(24*time.Hour, 10000), 1, "the encoder is still connected")
}

// TestAcceptedKeysOfOneNetworkAreBounded: the keys of a network with many encoders leave room for
// those of other networks, however recently they were used.
func TestAcceptedKeysOfOneNetworkAreBounded(t *testing.T) {
	t.Parallel()
	r := newRigOn(t, apitest.Options{Pool: dbtest.New(t)}, 0) // other tests' keys would count
	// publish returns the key of an encoder that has published from the addresses.
	publish := func(source string, addresses ...string) []byte {
		t.Helper()
		var st api.Stream
		for i, address := range addresses {
			if i == 0 {
				st = r.owner.Stream(t, nil)
			}
			r.Clock.Advance(time.Second)
			a := stream.Attempt{PublisherID: id.New(id.Publisher), Source: source, Key: st.StreamKey, RemoteIP: address}
			_, err := r.Streams.Publish(t.Context(), a)
			require.NoError(t, err)
			r.leave(t, a.PublisherID)
		}
		hash := sha256.Sum256([]byte(st.StreamKey))
		return hash[:]
	}
	zoned := publish(stream.SourceRTMP, "fe80::1%eth0")
	office := publish(stream.SourceRTMP, "192.0.2.7")
	publish(stream.SourceSRS, "no:address")
	publish(stream.SourceRTMP, "2001:db8:0:1::1")
	farm := [][]byte{publish(stream.SourceRTMP, "2001:db8:0:1::2"), publish(stream.SourceRTMP, "2001:db8:0:1:ffff::1", "2001:db8:0:1::1")}
	list, err := r.Streams.AcceptedKeys(t.Context(), 24*time.Hour, 2, 4)
	require.NoError(t, err)
	type entry struct {
		network string
		hash    []byte
	}
	got := make([]entry, len(list))
	for i, k := range list {
		got[i] = entry{k.Network, k.Hash}
	}
	require.Equal(t, []entry{{"2001:db8:0:1::", farm[1]}, {"2001:db8:0:1::", farm[0]}, {"192.0.2.7", office}, {"fe80::", zoned}}, got)
}
