package restream_test

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"net"
	"testing"
	"time"

	"github.com/bluenviron/gortmplib/pkg/message"
	"github.com/stretchr/testify/require"

	"showfloor/internal/media/restream"
	"showfloor/internal/media/rtmpurl"
	"showfloor/internal/outflow/outbound"
)

func probeTimes(c *restream.Config) {
	c.Limits.Hold, c.Limits.Probe = 200*time.Millisecond, patience
}

func (r *rig) probe(address string) restream.Probed {
	r.t.Helper()
	a, err := rtmpurl.Parse(address)
	require.NoError(r.t, err)
	got := r.Probe(r.t.Context(), a)
	text, err := json.Marshal(got)
	require.NoError(r.t, err)
	require.NotContains(r.t, string(text), a.Key)
	return got
}

// namesOf returns the names of the steps; "!" marks the one that failed.
func namesOf(p restream.Probed) (names []string) {
	for _, s := range p.Steps {
		if s.Failure != "" {
			s.Name += "!"
		}
		names = append(names, s.Name)
	}
	return names
}

func TestProbe(t *testing.T) {
	t.Parallel()
	target := newServer(t, nil)
	r := newRig(t, probeTimes)
	good := r.probe(target.url())
	require.Equal(t, []string{"tcp", "handshake", "connect", "createStream", "publish"}, namesOf(good))
	require.True(t, *good.KeyAccepted)
	require.Equal(t, "the target accepted the stream", good.Message)
	require.Contains(t, good.Answer, "NetStream.Publish.Start")
	require.Empty(t, target.hub.Publishers(), "it has ended")
	require.Empty(t, target.all())
	total := time.Duration(0)
	for _, s := range good.Steps {
		require.GreaterOrEqual(t, s.Took, time.Duration(0))
		total += s.Took
	}
	require.LessOrEqual(t, total, good.Took)

	wrong := r.probe("rtmp://" + target.rtmp.Addr().String() + "/live/wrong-key-123")
	require.Equal(t, []string{"tcp", "handshake", "connect", "createStream", "publish!"}, namesOf(wrong))
	require.False(t, *wrong.KeyAccepted)
	require.Equal(t, "the target refused the stream: NetStream.Publish.BadName: unknown key ***", wrong.Message)
	require.Equal(t, "NetStream.Publish.BadName: unknown key ***", wrong.Answer)
	require.Empty(t, r.live, "no route")
}

// TestProbesOfOtherTargets: each ending has its words.
func TestProbesOfOtherTargets(t *testing.T) {
	t.Parallel()
	at := func(name string, do func(c *peer, cmd *message.CommandAMF0) (bool, error)) string {
		return newTarget(t, &target{command: func(_ int64, c *peer, cmd *message.CommandAMF0) (bool, error) {
			if cmd.Name != name {
				return false, nil
			}
			return do(c, cmd)
		}}).url()
	}
	shut := func(*peer, *message.CommandAMF0) (bool, error) { return false, errClose }
	silent := func(*peer, *message.CommandAMF0) (bool, error) { return true, nil }
	refuse := func(c *peer, cmd *message.CommandAMF0) (bool, error) {
		return true, c.send(0, "_error", cmd.CommandID, nil)
	}
	late := func(c *peer, _ *message.CommandAMF0) (bool, error) {
		if err := c.status("status", "NetStream.Publish.Start", "go on"); err != nil {
			return false, err
		}
		return true, c.status("error", "NetStream.Publish.Denied", "no "+key)
	}
	lateClose := func(c *peer, _ *message.CommandAMF0) (bool, error) {
		if err := c.status("status", "NetStream.Publish.Start", "go on"); err != nil {
			return false, err
		}
		return true, errClose
	}
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	accepted, refused := "true", "false"
	for name, x := range map[string]struct{ address, last, message, key string }{
		"no server":       {"rtmp://" + closed.Addr().String() + "/live/" + key, "tcp!", "connection refused", ""},
		"closes at once":  {at("connect", shut), "connect!", "the target closed the connection", ""},
		"refuses the app": {at("connect", refuse), "connect!", "the target refused the stream: _error", ""},
		"hangs":           {at("createStream", silent), "createStream!", "the target doesn't answer", ""},
		"closes":          {at("publish", shut), "publish!", "the target closed the connection right after the stream began: usually the stream key is wrong", ""},
		"refuses later":   {at("publish", late), "publish!", "the target refused the stream: NetStream.Publish.Denied: no ***", refused},
		"closes later":    {at("publish", lateClose), "publish!", "the target closed the connection right after the stream began: usually the stream key is wrong", ""},
		"accepts":         {newTarget(t, &target{}).url(), "publish", "the target accepted the stream", accepted},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, probeTimes, func(c *restream.Config) {
				c.Limits.Step = time.Second
				c.Dial = dialer(true, nil)
			})
			got := r.probe(x.address)
			names := namesOf(got)
			require.Equal(t, x.last, names[len(names)-1])
			require.Equal(t, x.message, got.Message)
			known := map[string]*bool{"": nil, accepted: new(true), refused: new(false)}
			require.Equal(t, known[x.key], got.KeyAccepted)
		})
	}
}

// TestProbesOfHosts: the steps before the dialogue.
func TestProbesOfHosts(t *testing.T) {
	t.Parallel()
	certificate, roots := selfSigned(t)
	secure, plain := newServer(t, certificate), newServer(t, nil)
	address := "rtmps://" + secure.rtmp.TLSAddr().String() + "/live/" + key
	_, port, err := net.SplitHostPort(plain.rtmp.Addr().String())
	require.NoError(t, err)
	for name, x := range map[string]struct {
		address string
		roots   *x509.CertPool
		private bool
		steps   []string
		message string
	}{
		"TLS":             {address, roots, true, []string{"tcp", "tls", "handshake", "connect", "createStream", "publish"}, "the target accepted the stream"},
		"unknown issuer":  {address, x509.NewCertPool(), true, []string{"tcp", "tls!"}, "TLS: the certificate is signed by an unknown authority"},
		"private address": {address, roots, false, []string{"tcp!"}, outbound.ErrPrivate.Error()},
		"a name": {
			"rtmp://localhost:" + port + "/live/" + key, nil, true, []string{"dns", "tcp", "handshake", "connect", "createStream", "publish"},
			"the target accepted the stream",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, probeTimes, func(c *restream.Config) { c.Dial = dialer(x.private, x.roots) })
			got := r.probe(x.address)
			require.Equal(t, x.message, got.Message)
			require.Equal(t, x.steps, namesOf(got))
		})
	}
}

func dialer(private bool, roots *x509.CertPool) restream.Dial {
	d := outbound.NewDialer(private, roots)
	return func(ctx context.Context, host string, secure bool) (net.Conn, error) {
		return d.Dial(ctx, host, secure)
	}
}
