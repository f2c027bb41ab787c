package bench

import (
	"net"
	"net/url"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib"
	"github.com/stretchr/testify/require"
)

// BenchmarkTakeover measures how long an encoder stays connected after another one has begun to
// publish with the same key: at another server of the same database, and at the same server as
// the baseline. The time begins at the new encoder's connect and ends when the old one's
// connection is closed, so it includes the new one's handshake and the check of its key.
func BenchmarkTakeover(b *testing.B) {
	const rounds = 30
	bin, tags := serverBinary(b), readFLV(b, publishClip(b, 2))
	settings := []string{
		"DATABASE_URL=" + durable(b).Config().ConnString(), "MASTER_KEY=c2hvd2Zsb29yLXNob3dmbG9vci1zaG93Zmxvb3ItMTI=",
		"RATE_LIMIT_CALLER=off",
	}
	one := startServer(b, bin, publicDir(b), settings...)
	two := startServer(b, bin, publicDir(b), settings...)
	keys := one.streamKeys(b, 2)
	for b.Loop() {
		same := takeovers(b, tags, keys[0], rounds, one, one)
		other := takeovers(b, tags, keys[1], rounds, one, two)
		b.ReportMetric(quantile(other, 0.5), "p50-ms")
		b.ReportMetric(quantile(other, 1), "max-ms")
		b.ReportMetric(quantile(same, 0.5), "same-p50-ms")
		b.ReportMetric(quantile(same, 1), "same-max-ms")
		b.ReportMetric(quantile(other, 0.5)/quantile(same, 0.5), "ratio")
		b.ReportMetric(0, "ns/op")
	}
	one.stop(b)
	two.stop(b)
}

// takeovers publishes with one key at the servers in turn and returns for each takeover the
// milliseconds until the old encoder's connection was closed.
func takeovers(b *testing.B, tags []flvTag, key string, n int, at ...*server) []float64 {
	b.Helper()
	list := make([]float64, n)
	old := publishOnce(b, at[0].rtmp, key, tags)
	for i := range list {
		start := time.Now()
		next := publishOnce(b, at[(i+1)%len(at)].rtmp, key, tags)
		select {
		case end := <-old.closed:
			list[i] = float64(end.Sub(start)) / float64(time.Millisecond)
		case <-time.After(time.Minute):
			b.Fatal("the old encoder is still connected after a minute")
		}
		old.close()
		old = next
	}
	old.close()
	return list
}

// publishing is an encoder's connection.
type publishing struct {
	closed chan time.Time // receives the time when the server closed it
	close  func()
}

// publishOnce publishes all of a clip at once and stays connected.
func publishOnce(b *testing.B, addr, key string, tags []flvTag) *publishing {
	b.Helper()
	u, err := url.Parse("rtmp://" + addr + "/live#" + key)
	require.NoError(b, err)
	c := &gortmplib.Client{URL: u, Publish: true}
	require.NoError(b, c.Initialize(b.Context()))
	p := &publishing{closed: make(chan time.Time, 1), close: c.Close}
	conn := c.NetConn()
	go func() {
		buf := make([]byte, 4096)
		for {
			if _, err := conn.Read(buf); err != nil {
				p.closed <- time.Now()
				return
			}
		}
	}()
	out := net.Buffers{setOutChunk()}
	for _, tag := range tags {
		tag.wire[1], tag.wire[2], tag.wire[3] = byte(tag.time>>16), byte(tag.time>>8), byte(tag.time)
		out = append(out, tag.wire)
	}
	_, err = out.WriteTo(conn)
	require.NoError(b, err)
	return p
}
