package outbound

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"syscall"
	"time"
)

// unackedTime is how long sent bytes may stay without an acknowledgement of the other end's system before a connection of a Dialer
// breaks, also while the other end accepts nothing.
const unackedTime = 10 * time.Second

// Dialer connects to servers that tenants have chosen, for protocols other than HTTP.
type Dialer struct {
	dialer net.Dialer
	tls    *tls.Config
}

// NewDialer returns a Dialer that, unless allowPrivate is set, connects only to public addresses, as NewClient does. roots are the
// authorities of certificates; nil for those of the system.
func NewDialer(allowPrivate bool, roots *x509.CertPool) *Dialer {
	d := &Dialer{tls: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	d.dialer = net.Dialer{
		Timeout:         connectTimeout,
		KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: 10 * time.Second, Interval: 5 * time.Second, Count: 3},
		Control: func(network, address string, c syscall.RawConn) error {
			if !allowPrivate {
				if err := refusePrivate(network, address, c); err != nil {
					return err
				}
			}
			return limitUnacked(c, unackedTime)
		},
	}
	return d
}

// DialError is the text of an error, without any address.
type DialError struct {
	text string
	err  error
}

func (e *DialError) Error() string { return e.text }

// Permanent reports whether another attempt makes no sense: the address is private.
func (e *DialError) Permanent() bool { return errors.Is(e.err, ErrPrivate) }

// Dial connects to a host with a port; secure adds TLS, and verifies the certificate. Its errors are DialErrors. They don't unwrap, because
// the errors of the network hold addresses. An httptrace.ClientTrace of ctx is called for the steps DNS, Connect and TLSHandshake.
func (d *Dialer) Dial(ctx context.Context, host string, secure bool) (net.Conn, error) {
	conn, err := d.dialer.DialContext(ctx, "tcp", host)
	if err != nil {
		return nil, describeDial("connection", err)
	}
	if !secure {
		return conn, nil
	}
	config := d.tls.Clone()
	if config.ServerName, _, err = net.SplitHostPort(host); err != nil {
		_ = conn.Close()
		return nil, describeDial("connection", err)
	}
	secured := tls.Client(conn, config)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	trace := httptrace.ContextClientTrace(ctx)
	if trace != nil && trace.TLSHandshakeStart != nil {
		trace.TLSHandshakeStart()
	}
	err = secured.HandshakeContext(ctx)
	if trace != nil && trace.TLSHandshakeDone != nil {
		trace.TLSHandshakeDone(secured.ConnectionState(), err)
	}
	if err != nil {
		_ = conn.Close()
		return nil, describeDial("TLS handshake", err)
	}
	return secured, nil
}

func describeDial(step string, err error) *DialError {
	e := &DialError{text: Describe(err), err: err}
	if strings.HasPrefix(e.text, requestFailed) {
		e.text = "the connection failed" // the text may hold the address
	}
	var network net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &network) && network.Timeout() {
		e.text = fmt.Sprintf("no %s within %d seconds", step, int(connectTimeout.Seconds()))
	}
	return e
}
