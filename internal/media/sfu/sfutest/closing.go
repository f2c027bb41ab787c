package sfutest

import (
	"testing"

	"github.com/pion/webrtc/v4"
)

// CloseSubscribe closes the connection on which the client receives media; DTLS notifies the
// server. The client answers the server's next offer on a new connection.
func (c *Client) CloseSubscribe(t testing.TB) {
	t.Helper()
	closeGracefully(t, c.detachSubscribe())
}

// AbandonSubscribe is like CloseSubscribe, but the server isn't notified: the DTLS message is lost.
func (c *Client) AbandonSubscribe(t testing.TB) {
	t.Helper()
	sub := c.detachSubscribe()
	t.Cleanup(func() { closeGracefully(t, sub) })
}

// ClosePublish closes the connection on which the client sends media, and ends all its
// publications.
func (c *Client) ClosePublish(t testing.TB) {
	t.Helper()
	closeGracefully(t, c.detachPublish())
}

// AbandonPublish is like ClosePublish, but the server isn't notified: the DTLS message is lost.
func (c *Client) AbandonPublish(t testing.TB) {
	t.Helper()
	pub := c.detachPublish()
	t.Cleanup(func() { closeGracefully(t, pub) })
}

func (c *Client) detachSubscribe() *webrtc.PeerConnection {
	c.mu.Lock()
	defer c.mu.Unlock()
	sub := c.sub
	c.sub = nil
	return sub
}

func (c *Client) detachPublish() *webrtc.PeerConnection {
	c.mu.Lock()
	pub, outputs := c.pub, c.outputs
	c.pub, c.outputs = nil, nil
	c.mu.Unlock()
	for _, o := range outputs {
		o.Stop()
	}
	return pub
}

func closeGracefully(t testing.TB, pc *webrtc.PeerConnection) {
	t.Helper()
	if err := pc.GracefulClose(); err != nil {
		t.Error(err)
	}
}
