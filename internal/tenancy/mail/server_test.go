package mail

import (
	"context"
	"crypto/x509"
	netmail "net/mail"
	"strings"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/stretchr/testify/require"
	gomail "github.com/wneessen/go-mail"

	"showfloor/internal/testkit/smtptest"
)

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Server{
		"smtp://mail.example":                {host: "mail.example", port: 587, policy: gomail.TLSMandatory},
		"smtp://mail.example:25/":            {host: "mail.example", port: 25, policy: gomail.TLSMandatory},
		"smtp://mail.example?tls=off":        {host: "mail.example", port: 587, policy: gomail.NoTLS},
		"smtp://127.0.0.1:1025":              {host: "127.0.0.1", port: 1025, policy: gomail.TLSOpportunistic},
		"smtp://localhost":                   {host: "localhost", port: 587, policy: gomail.TLSOpportunistic},
		"smtp://[::1]:25":                    {host: "::1", port: 25, policy: gomail.TLSOpportunistic},
		"smtps://u%40x:p%2Fw@mail.example":   {host: "mail.example", port: 465, user: "u@x", password: "p/w", implicitTLS: true, policy: gomail.TLSMandatory},
		"smtp://user:pass@mail.example:587":  {host: "mail.example", port: 587, user: "user", password: "pass", policy: gomail.TLSMandatory},
		"smtp://user:pass@localhost?tls=off": {host: "localhost", port: 587, user: "user", password: "pass", policy: gomail.NoTLS},
		"smtps://mail.example:10465":         {host: "mail.example", port: 10465, implicitTLS: true, policy: gomail.TLSMandatory},
	} {
		got, err := ParseURL(text)
		require.NoError(t, err, text)
		require.Equal(t, want, *got, text)
	}
	for _, text := range []string{
		"", "mail.example", "smtp:hunter2", "smtp://", "http://hunter2@mail", "smtp://mail/hunter2", "smtp://mail#hunter2", "smtp://mail:0",
		"smtp://mail:99999", "smtp://mail?tls=on", "smtp://mail?hunter2=off", "smtps://mail?tls=off", "smtp://hunter2\n@mail", "smtp://mail?tls=off&tls=off",
	} {
		_, err := ParseURL(text)
		require.Error(t, err, text)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func message(to string) *gomail.Msg {
	return compose(&netmail.Address{Name: "Acme, Live", Address: "live@bücher.example"}, to, "mail_1",
		content{"Grüße", "Hello\n\n    048213\n", "<p>Hello</p>\n"}, time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC))
}

// server returns the sink as an operator would configure it. The sink's
// certificate authority is trusted.
func server(t *testing.T, sink *smtptest.Sink, parameters string) *Server {
	t.Helper()
	s, err := ParseURL(sink.URL() + parameters)
	require.NoError(t, err)
	s.roots = sink.Roots()
	return s
}

func TestAMailArrivesAsItWasWritten(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	require.NoError(t, server(t, sink, "").send(t.Context(), message("ada@acme.example")))
	m := sink.Mails()[0]
	require.Equal(t, "live@xn--bcher-kva.example", m.From)
	require.Equal(t, "ada@acme.example", m.To)
	require.Equal(t, "Grüße", m.Subject)
	require.Equal(t, "Hello\n\n    048213\n", m.Text)
	require.Equal(t, "<p>Hello</p>\n", m.HTML)
	require.False(t, m.Encrypted)
	require.Equal(t, `"Acme, Live" <live@xn--bcher-kva.example>`, m.Header.Get("From"))
	require.Equal(t, "<ada@acme.example>", m.Header.Get("To"))
	require.Equal(t, "<mail_1@xn--bcher-kva.example>", m.Header.Get("Message-Id"))
	require.Equal(t, "auto-generated", m.Header.Get("Auto-Submitted"))
	require.Equal(t, "Mon, 04 May 2026 12:00:00 +0000", m.Header.Get("Date"))
	require.NotContains(t, strings.ToLower(string(m.Raw)), "go-mail")
}

func TestEncryptionAndLogin(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]smtptest.Options{
		"starttls":           {STARTTLS: true},
		"tls":                {TLS: true},
		"starttls and login": {STARTTLS: true, User: "showfloor", Password: "hunter2"},
		"tls and login":      {TLS: true, User: "showfloor", Password: "hunter2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sink := smtptest.New(t, o)
			s := server(t, sink, "")
			require.NoError(t, s.check(t.Context()))
			require.NoError(t, s.send(t.Context(), message("ada@acme.example")))
			require.True(t, sink.Mails()[0].Encrypted)

			s.roots = x509.NewCertPool()
			require.ErrorContains(t, s.send(t.Context(), message("ada@acme.example")), "certificate", "an impostor gets nothing")
			if o.User != "" {
				s.roots, s.password = sink.Roots(), "wrong"
				err := s.send(t.Context(), message("ada@acme.example"))
				require.ErrorContains(t, err, "535")
				require.NotContains(t, err.Error(), "wrong")
				var no *finalError
				require.NotErrorAs(t, err, &no, "the operator can put it right")
			}
			require.Len(t, sink.Mails(), 1)
		})
	}
}

func TestTLSIsRequiredBeyondThisMachine(t *testing.T) {
	t.Parallel()
	plain := smtptest.New(t, smtptest.Options{})
	s := server(t, plain, "")
	s.policy = gomail.TLSMandatory // as for another host's name
	require.ErrorContains(t, s.send(t.Context(), message("ada@acme.example")), "STARTTLS")
	require.Empty(t, plain.Mails())

	broken := smtptest.New(t, smtptest.Options{STARTTLS: true})
	s = server(t, broken, "?tls=off")
	s.roots = x509.NewCertPool()
	require.NoError(t, s.send(t.Context(), message("ada@acme.example")), "off means off")
	require.False(t, broken.Mails()[0].Encrypted)
}

func TestARefusalOfTheMailServerIsFinal(t *testing.T) {
	t.Parallel()
	answers := map[string]error{
		"gone@acme.example": &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user here"},
		"full@acme.example": &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 2, 2}, Message: "Mailbox full"},
	}
	sink := smtptest.New(t, smtptest.Options{
		Refuse: func(to string) error { return answers[to] },
		Taken: func(m smtptest.Mail) error {
			if m.To == "spam@acme.example" {
				return &smtp.SMTPError{Code: 554, Message: "Smells of spam"}
			}
			return nil
		},
	})
	s := server(t, sink, "")
	var no *finalError
	require.ErrorAs(t, s.send(t.Context(), message("gone@acme.example")), &no)
	require.ErrorContains(t, no, "No such user here")
	require.ErrorAs(t, s.send(t.Context(), message("spam@acme.example")), &no)
	require.ErrorContains(t, no, "Smells of spam")
	err := s.send(t.Context(), message("full@acme.example"))
	require.Error(t, err)
	require.NotErrorAs(t, err, &no)

	login := smtptest.New(t, smtptest.Options{User: "u", Password: "p"})
	s = server(t, login, "")
	s.user = ""
	err = s.send(t.Context(), message("ada@acme.example"))
	require.ErrorContains(t, err, "530")
	require.NotErrorAs(t, err, &no, "it is about us, not about the mail")

	sink.Stop()
	err = server(t, sink, "").send(t.Context(), message("ada@acme.example"))
	require.Error(t, err)
	require.NotErrorAs(t, err, &no)
	require.Error(t, server(t, sink, "").check(t.Context()))
}

func TestAddressesInAllLetters(t *testing.T) {
	t.Parallel()
	old := smtptest.New(t, smtptest.Options{})
	require.NoError(t, server(t, old, "").send(t.Context(), message("ada@bücher.example")))
	require.Equal(t, "ada@xn--bcher-kva.example", old.Mails()[0].To, "a domain has an ASCII form that every server accepts")

	fresh := smtptest.New(t, smtptest.Options{UTF8: true})
	require.NoError(t, server(t, fresh, "").send(t.Context(), message("ädä@bücher.example")))
	require.Equal(t, "ädä@xn--bcher-kva.example", fresh.Mails()[0].To)
	require.True(t, fresh.Mails()[0].UTF8)
}

// TestAServerThatHangsIsLeft checks that the end of the context ends the session.
func TestAServerThatHangsIsLeft(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	released := make(chan struct{})
	sink := smtptest.New(t, smtptest.Options{Refuse: func(string) error {
		cancel()
		<-released
		return nil
	}})
	err := server(t, sink, "").send(ctx, message("ada@acme.example"))
	close(released)
	require.Error(t, err)
}
