package mail

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	gomail "github.com/wneessen/go-mail"
	"golang.org/x/net/idna"
)

// Ports of SMTP for mail submission.
const (
	portSTARTTLS = 587
	portTLS      = 465
)

// smtpTime limits the SMTP session of one mail.
const smtpTime = 20 * time.Second

// Server is an SMTP server that accepts our mail.
type Server struct {
	host string
	port int
	// user is empty if the server needs no login.
	user, password string
	implicitTLS    bool
	policy         gomail.TLSPolicy
	// roots are the trusted certificate authorities; nil for the system's.
	roots *x509.CertPool
}

// ParseURL parses smtp://user:password@host:port or smtps://…. With smtp, the client
// uses STARTTLS and requires it, unless the server is on this machine or the URL has
// ?tls=off. Its errors never contain the URL, which holds a password.
func ParseURL(text string) (*Server, error) {
	u, err := url.Parse(text)
	if err != nil || u.Hostname() == "" || (u.Path != "" && u.Path != "/") || u.Fragment != "" {
		return nil, errors.New("not of the form smtp://user:password@host:port")
	}
	s := &Server{host: u.Hostname(), policy: gomail.TLSMandatory, port: portSTARTTLS}
	switch u.Scheme {
	case "smtp":
	case "smtps":
		s.implicitTLS, s.port = true, portTLS
	default:
		return nil, errors.New("not a URL that begins with smtp:// or smtps://")
	}
	if u.Port() != "" {
		port, err := strconv.ParseUint(u.Port(), 10, 16)
		if err != nil || port == 0 {
			return nil, errors.New("has no valid port")
		}
		s.port = int(port)
	}
	if isLoopback(s.host) {
		s.policy = gomail.TLSOpportunistic
	}
	for name, values := range u.Query() {
		if name != "tls" || len(values) != 1 || values[0] != "off" || s.implicitTLS {
			return nil, errors.New("has unknown parameters; the only one is ?tls=off, with smtp://")
		}
		s.policy = gomail.NoTLS
	}
	if u.User != nil {
		s.user = u.User.Username()
		s.password, _ = u.User.Password()
	}
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// address returns host:port.
func (s *Server) address() string { return net.JoinHostPort(s.host, strconv.Itoa(s.port)) }

// finalError is a permanent refusal of this mail: a retry won't help.
type finalError struct{ cause error }

func (e *finalError) Error() string { return e.cause.Error() }
func (e *finalError) Unwrap() error { return e.cause }

// errAuthenticationRequired is a reply that concerns our login, not the mail.
const errAuthenticationRequired = 530

// send hands one mail over to the server. A *finalError means that the server
// refuses it permanently.
func (s *Server) send(ctx context.Context, msg *gomail.Msg) error {
	return s.converse(ctx, func(client *gomail.Client) error {
		err := client.DialAndSendWithContext(ctx, msg)
		if err == nil || msg.IsDelivered() { // after the delivery, a failed QUIT doesn't matter
			return nil
		}
		sent, ok := errors.AsType[*gomail.SendError](err)
		if code := sent.ErrorCode(); ok && code >= 500 && code != errAuthenticationRequired {
			return &finalError{err}
		}
		return err
	})
}

// check logs in and disconnects.
func (s *Server) check(ctx context.Context) error {
	return s.converse(ctx, func(client *gomail.Client) error {
		if err := client.DialWithContext(ctx); err != nil {
			return err
		}
		_ = client.Close() // the login succeeded, so this error doesn't matter
		return nil
	})
}

// converse creates a client for one connection. It closes the connection in the
// end, and at once when ctx ends, because the library does neither.
func (s *Server) converse(ctx context.Context, talk func(*gomail.Client) error) error {
	hangUp := func() {}
	defer func() { hangUp() }()
	dial := func(dialing context.Context, network, addr string) (net.Conn, error) {
		conn, err := (&net.Dialer{}).DialContext(dialing, network, addr)
		if err != nil {
			return nil, err
		}
		stop := context.AfterFunc(ctx, func() { conn.Close() })
		hangUp = func() {
			stop()
			conn.Close()
		}
		if !s.implicitTLS {
			return conn, nil
		}
		secured := tls.Client(conn, s.tlsConfig())
		return secured, secured.HandshakeContext(dialing)
	}
	client, err := gomail.NewClient(s.host, s.options(dial)...)
	if err != nil {
		return fmt.Errorf("make SMTP client: %w", err)
	}
	return talk(client)
}

func (s *Server) options(dial gomail.DialContextFunc) []gomail.Option {
	options := []gomail.Option{
		gomail.WithPort(s.port), gomail.WithTimeout(smtpTime), gomail.WithDialContextFunc(dial), gomail.WithoutNoop(),
		gomail.WithTLSPolicy(s.policy), gomail.WithTLSConfig(s.tlsConfig()),
	}
	if s.implicitTLS {
		options = append(options, gomail.WithSSL())
	}
	if s.user != "" {
		// The library sends no password without TLS to another machine.
		options = append(options, gomail.WithUsername(s.user), gomail.WithPassword(s.password),
			gomail.WithOpportunisticSMTPAuth(gomail.SMTPAuthSCRAMSHA256, gomail.SMTPAuthPlain, gomail.SMTPAuthLogin, gomail.SMTPAuthCramMD5))
	}
	return options
}

func (s *Server) tlsConfig() *tls.Config {
	return &tls.Config{ServerName: s.host, MinVersion: tls.VersionTLS12, RootCAs: s.roots}
}

// compose builds the message. Its Message-ID is the row's id, so that recipients
// can recognize a mail that is sent twice.
func compose(from *netmail.Address, to, id string, c content, now time.Time) *gomail.Msg {
	msg := gomail.NewMsg(gomail.WithNoDefaultUserAgent())
	msg.FromMailAddress(&netmail.Address{Name: from.Name, Address: toASCIIDomain(from.Address)})
	msg.ToMailAddress(&netmail.Address{Address: toASCIIDomain(to)})
	msg.Subject(c.Subject)
	_, host, _ := strings.Cut(toASCIIDomain(from.Address), "@")
	msg.SetMessageIDWithValue(id + "@" + host)
	msg.SetDateWithValue(now)
	// Prevents automatic replies.
	msg.SetGenHeader("Auto-Submitted", "auto-generated")
	msg.SetBodyString(gomail.TypeTextPlain, c.Text)
	msg.AddAlternativeString(gomail.TypeTextHTML, c.HTML)
	return msg
}

// toASCIIDomain encodes the domain for DNS, so that servers without support for
// other letters accept it.
func toASCIIDomain(address string) string {
	local, domain, _ := strings.Cut(address, "@")
	ascii, err := idna.Lookup.ToASCII(domain)
	if err != nil {
		return address
	}
	return local + "@" + ascii
}
