// Package smtptest is an SMTP server for tests: it receives mails over the real
// protocol and shows them as their recipients see them.
package smtptest

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// patience is the time that a test waits for an expected mail.
const patience = 30 * time.Second

// Options of a sink.
type Options struct {
	// STARTTLS offers encryption, TLS begins with it. Both use a certificate of
	// Roots for 127.0.0.1.
	STARTTLS, TLS bool
	// UTF8 takes addresses in any letters.
	UTF8 bool
	// User and Password are asked for when set.
	User, Password string
	// Refuse answers RCPT; nil accepts every recipient.
	Refuse func(recipient string) error
	// Taken is called when a mail has arrived, before the sender gets the answer; its
	// error is the answer. Nil accepts all mails.
	Taken func(Mail) error
}

// Sink is an SMTP server.
type Sink struct {
	// Addr is the address on which it listens, the same after a restart.
	Addr string

	options Options
	cert    tls.Certificate
	roots   *x509.CertPool
	server  *smtp.Server
	listen  net.Listener
	served  chan struct{}

	mu      sync.Mutex
	mails   []Mail
	changed chan struct{}
}

// New starts a sink that ends with the test.
func New(t testing.TB, o Options) *Sink {
	t.Helper()
	s := &Sink{Addr: "127.0.0.1:0", options: o, changed: make(chan struct{}), roots: x509.NewCertPool()}
	certified := httptest.NewTLSServer(nil)
	s.cert = certified.TLS.Certificates[0]
	s.roots.AddCert(certified.Certificate())
	certified.Close()
	s.Start(t)
	t.Cleanup(s.Stop)
	return s
}

// Roots holds the authority of the sink's certificate.
func (s *Sink) Roots() *x509.CertPool { return s.roots }

// URL returns the value for SMTP_URL.
func (s *Sink) URL() string {
	scheme := "smtp://"
	if s.options.TLS {
		scheme = "smtps://"
	}
	if s.options.User != "" {
		scheme += s.options.User + ":" + s.options.Password + "@"
	}
	return scheme + s.Addr
}

// Start listens, again after a Stop.
func (s *Sink) Start(t testing.TB) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	s.Addr = listener.Addr().String()
	server := smtp.NewServer(smtp.BackendFunc(s.session))
	server.Domain, server.AllowInsecureAuth, server.EnableSMTPUTF8 = "sink.example.test", true, s.options.UTF8
	server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	config := &tls.Config{Certificates: []tls.Certificate{s.cert}, MinVersion: tls.VersionTLS12}
	switch {
	case s.options.TLS:
		listener = tls.NewListener(listener, config)
	case s.options.STARTTLS:
		server.TLSConfig = config
	}
	s.server, s.listen, s.served = server, listener, make(chan struct{})
	go func() {
		defer close(s.served)
		if err := server.Serve(listener); err != nil {
			t.Errorf("SMTP sink: %v", err)
		}
	}()
}

// Stop ends the server and every connection.
func (s *Sink) Stop() {
	// The test's end closes both again; and a server that has not begun to serve
	// doesn't know its listener yet.
	_, _ = s.server.Close(), s.listen.Close()
	<-s.served
}

// Mails returns the mails received so far, in order of arrival.
func (s *Sink) Mails() []Mail {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Mail(nil), s.mails...)
}

// To returns the mails received so far for one address.
func (s *Sink) To(recipient string) []Mail {
	var list []Mail
	for _, m := range s.Mails() {
		if m.To == recipient {
			list = append(list, m)
		}
	}
	return list
}

// Wait waits until n mails for the address were received, and returns them.
func (s *Sink) Wait(t testing.TB, recipient string, n int) []Mail {
	t.Helper()
	deadline := time.After(patience)
	for {
		s.mu.Lock()
		changed := s.changed
		s.mu.Unlock()
		if list := s.To(recipient); len(list) >= n {
			return list
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("%d of %d mails came for %s", len(s.To(recipient)), n, recipient)
		}
	}
}

func (s *Sink) keep(m Mail) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.mails = append(s.mails, m)
	close(s.changed)
	s.changed = make(chan struct{})
}

// session is one connection.
type session struct {
	sink     *Sink
	conn     *smtp.Conn
	loggedIn bool
	from, to string
	utf8     bool
}

func (s *Sink) session(conn *smtp.Conn) (smtp.Session, error) { //nolint:ireturn // smtp.BackendFunc
	return &session{sink: s, conn: conn}, nil
}

// AuthMechanisms implements smtp.AuthSession.
func (c *session) AuthMechanisms() []string {
	if c.sink.options.User == "" {
		return nil
	}
	return []string{sasl.Plain}
}

// Auth implements smtp.AuthSession.
func (c *session) Auth(string) (sasl.Server, error) { //nolint:ireturn // smtp.AuthSession
	return sasl.NewPlainServer(func(_, user, password string) error {
		if user != c.sink.options.User || password != c.sink.options.Password {
			return smtp.ErrAuthFailed
		}
		c.loggedIn = true
		return nil
	}), nil
}

// Mail implements smtp.Session.
func (c *session) Mail(from string, o *smtp.MailOptions) error {
	if c.sink.options.User != "" && !c.loggedIn {
		return &smtp.SMTPError{Code: 530, EnhancedCode: smtp.EnhancedCode{5, 7, 0}, Message: "Authentication required"}
	}
	c.from, c.utf8 = from, o.UTF8
	return nil
}

// Rcpt implements smtp.Session.
func (c *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.to = to
	if c.sink.options.Refuse != nil {
		return c.sink.options.Refuse(to)
	}
	return nil
}

// Data implements smtp.Session.
func (c *session) Data(r io.Reader) error {
	raw, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m, err := read(raw)
	if err != nil {
		return err
	}
	_, m.Encrypted = c.conn.TLSConnectionState()
	m.From, m.To, m.UTF8 = c.from, c.to, c.utf8
	if c.sink.options.Taken != nil {
		if err := c.sink.options.Taken(m); err != nil {
			return err
		}
	}
	c.sink.keep(m)
	return nil
}

// Reset implements smtp.Session.
func (*session) Reset() {}

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }
