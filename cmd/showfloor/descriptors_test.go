package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDivideDescriptors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		limit    int
		relay    bool
		settings ConnSettings
		want     descriptors
	}{
		{limit: 256, want: descriptors{http: 80, httpEach: 20, rtmp: 40, sfu: 40}},
		{limit: 1024, want: descriptors{http: 320, httpEach: 80, rtmp: 160, sfu: 160}},
		{limit: 1024, relay: true, want: descriptors{http: 240, httpEach: 60, rtmp: 160, sfu: 80, relay: 80, relaySockets: 80}},
		{limit: 20_000, want: descriptors{http: 10_136, httpEach: 1000, rtmp: 4096, sfu: 4744}},
		{
			limit: 65_536, relay: true,
			want: descriptors{http: 36_224, httpEach: 1000, rtmp: 4096, sfu: 8064, relay: 8064, relaySockets: 8064},
		},
		{limit: 1 << 20, want: descriptors{http: 100_000, httpEach: 1000, rtmp: 4096, sfu: 10_000}},
		{
			limit: 1 << 20, settings: ConnSettings{httpConns: 200_000, httpPerAddress: 50_000},
			want: descriptors{http: 200_000, httpEach: 50_000, rtmp: 4096, sfu: 10_000},
		},
		{limit: 1024, settings: ConnSettings{httpConns: 5000}, want: descriptors{http: 320, httpEach: 80, rtmp: 160, sfu: 160}},
		{limit: 1024, settings: ConnSettings{httpPerAddress: 5000}, want: descriptors{http: 320, httpEach: 320, rtmp: 160, sfu: 160}},
		{limit: 20_000, settings: ConnSettings{httpConns: 2}, want: descriptors{http: 2, httpEach: 1, rtmp: 4096, sfu: 4744}},
	} {
		got := divide(c.limit, c.relay, c.settings)
		c.want.limit, c.want.idleCalls = c.limit, min(256, c.limit*3/32)
		require.Equal(t, c.want, got)
		require.LessOrEqual(t, got.http+got.rtmp+got.sfu+got.relay+got.relaySockets, c.limit-min(ownDescriptors, c.limit*3/8))
	}
}
