package bench

import (
	"context"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/hub"
	"showfloor/internal/streams/mediagate"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy/quota"
	"showfloor/internal/tenancy/usage"
)

// unlimited checks nothing, as the baseline.
type unlimited struct{}

func (unlimited) CheckTx(context.Context, pgx.Tx, string, quota.Limit, int64, func(context.Context) (int64, error)) error {
	return nil
}

func (unlimited) Limit(context.Context, string, quota.Limit) (int64, *problem.Error, error) {
	return 0, nil, nil
}

func (unlimited) CheckAllowance(context.Context, string, ...usage.Meter) error { return nil }

func (unlimited) CheckAllowanceTx(context.Context, pgx.Tx, string, ...usage.Meter) error { return nil }

// BenchmarkPlanLimits measures what the limits of plans add. publish-ratio is the time of an encoder's whole publish (admission, on air, end)
// with the checks, divided by that without them on the same database, in turns; createStream has no check. viewer-us is the admission of a viewer.
func BenchmarkPlanLimits(b *testing.B) {
	h := hub.New(hub.Config{})
	a := newServices(b, h)
	config := stream.Config{
		Pool: a.pool, Events: a.Events, Jobs: a.Inserter, Engine: mediagate.Engine{Hub: h}, Node: "node_bench", Recordings: a.Recordings,
		Restreams: a.Restreams, Playback: a.Playback, PublicURL: "http://localhost", IngestURL: "rtmp://localhost/live",
	}
	config.Quotas, config.Usage = a.Quotas, a.Usage
	checked := stream.New(config)
	config.Quotas, config.Usage = unlimited{}, unlimited{}
	services := []*stream.Service{stream.New(config), checked}
	const streams, rounds = 20, 40
	keys := make([]string, streams)
	for i := range keys {
		made, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: fmt.Sprint("Stream ", i), Mode: stream.LowLatency})
		require.NoError(b, err)
		keys[i] = made.Key
	}
	publish := func(s *stream.Service, key string) time.Duration {
		conn, start := id.New(id.Publisher), time.Now()
		_, err := s.Publish(b.Context(), stream.Attempt{PublisherID: conn, Source: stream.SourceRTMP, Key: key, RemoteIP: "192.0.2.1"})
		require.NoError(b, err)
		_, err = s.Started(b.Context(), conn)
		require.NoError(b, err)
		require.NoError(b, s.Unpublish(b.Context(), conn))
		return time.Since(start)
	}
	published := make([][]float64, 2)
	for b.Loop() {
		for range rounds {
			for i := range 2 * streams {
				published[i%2] = append(published[i%2], publish(services[i%2], keys[i/2]).Seconds())
			}
		}
	}
	viewers := mediagate.NewViewers(func() *stream.Service { return checked }, func() *hub.Hub { return h }, time.Now, quiet())
	const admissions = 100_000
	start := time.Now()
	for range admissions {
		require.Empty(b, viewers.Admit(b.Context(), a.owner.Tenant.ID, "", netip.Addr{}))
	}
	took := time.Since(start)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(1e3*quantile(published[0], .5), "bare-publish-ms")
	b.ReportMetric(1e3*quantile(published[1], .5), "publish-ms")
	b.ReportMetric(quantile(published[1], .5)/quantile(published[0], .5), "publish-ratio")
	b.ReportMetric(took.Seconds()/admissions*1e6, "viewer-us")
}
