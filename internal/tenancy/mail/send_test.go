package mail_test

import (
	"bytes"
	"log/slog"
	"testing"
	"time"

	"github.com/emersion/go-smtp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/smtptest"
)

const code = "048213"

// post posts a letter that is useful for an hour, and returns its id.
func post(t *testing.T, s *apitest.Server, to string) string {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		return s.Mails.PostTx(t.Context(), tx, mail.Letter{
			Kind: "test", To: to, Subject: "The code is " + code, Opening: []string{"Hello"}, Code: code, Until: s.Clock.Now().Add(time.Hour),
		})
	}))
	var mailID string
	require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT m.id FROM mails m JOIN river_job j ON j.args->>'mailId' = m.id
		WHERE m.recipient = $1 AND j.kind = 'mail_send' AND j.queue = 'mail'`, to).Scan(&mailID))
	return mailID
}

func get(t *testing.T, s *apitest.Server, mailID string) db.Mail {
	t.Helper()
	m, err := db.New(s.Pool).GetMail(t.Context(), mailID)
	require.NoError(t, err)
	return m
}

func send(t *testing.T, s *apitest.Server, mailID string) (again time.Time) {
	t.Helper()
	again, err := s.Mails.Send(t.Context(), mailID)
	require.NoError(t, err)
	return again
}

func address() string { return id.New("u") + "@example.test" }

func TestAMailIsSentOnceAndErased(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	s := apitest.New(t, apitest.Options{SMTP: sink.URL()})
	to := address()
	mailID := post(t, s, to)
	waiting := get(t, s, mailID)
	require.NotEmpty(t, waiting.Content)
	require.NotContains(t, string(waiting.Content), code, "codes are sealed while they wait")

	for range 3 {
		require.Zero(t, send(t, s, mailID))
	}
	got := sink.To(to)
	require.Len(t, got, 1, "running twice sends once")
	require.Equal(t, "The code is "+code, got[0].Subject)
	require.Contains(t, got[0].Text, code)
	require.Equal(t, "<"+mailID+"@example.test>", got[0].Header.Get("Message-Id"))
	sent := get(t, s, mailID)
	require.Equal(t, "sent", sent.Status)
	require.Nil(t, sent.Content)
	require.NotNil(t, sent.DoneAt)
	require.Zero(t, send(t, s, "mail_none"), "older than what is kept")
	_, err := s.Mails.ListMailbox(t.Context())
	require.True(t, problem.Is(err, "not_found"), "there is a server: no mailbox")
}

func TestARefusedMailIsNotRetried(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{Refuse: func(string) error {
		return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "No such user here"}
	}})
	s := apitest.New(t, apitest.Options{SMTP: sink.URL()})
	mailID := post(t, s, address())
	require.Zero(t, send(t, s, mailID))
	m := get(t, s, mailID)
	require.Equal(t, "failed", m.Status)
	require.Contains(t, *m.Error, "No such user here")
	require.Nil(t, m.Content)
}

func TestAServerThatIsDownIsTriedAgain(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	s := apitest.New(t, apitest.Options{SMTP: sink.URL()})
	to := address()
	mailID := post(t, s, to)
	require.NoError(t, s.Mails.Check(t.Context()))
	sink.Stop()
	require.NoError(t, s.Mails.Check(t.Context()), "the answer stands for half a minute")

	var pauses []time.Duration
	for range 3 {
		again := send(t, s, mailID)
		pauses = append(pauses, again.Sub(s.Clock.Now()))
		require.Equal(t, again, send(t, s, mailID).UTC(), "not before its time")
		s.Clock.Advance(pauses[len(pauses)-1])
	}
	require.Equal(t, []time.Duration{5 * time.Second, 15 * time.Second, time.Minute}, pauses)
	m := get(t, s, mailID)
	require.EqualValues(t, 3, m.Tries)
	require.Contains(t, *m.Error, "connection refused")
	require.NotEmpty(t, m.Content)
	require.Error(t, s.Mails.Check(t.Context()))

	sink.Start(t)
	require.Zero(t, send(t, s, mailID))
	require.Len(t, sink.To(to), 1)
	require.Equal(t, "sent", get(t, s, mailID).Status)
}

func TestAnExpiredMailIsNotSent(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	s := apitest.New(t, apitest.Options{SMTP: sink.URL()})
	late, never := post(t, s, address()), post(t, s, address())
	sink.Stop()
	for tries := 1; ; tries++ {
		again := send(t, s, never)
		if again.IsZero() {
			break
		}
		require.Less(t, tries, 20)
		s.Clock.Advance(again.Sub(s.Clock.Now()))
	}
	require.Equal(t, "failed", get(t, s, never).Status)
	s.Clock.Advance(time.Hour)
	sink.Start(t)
	require.Zero(t, send(t, s, late))
	require.Equal(t, "failed", get(t, s, late).Status)
	require.Nil(t, get(t, s, late).Content)
	require.Empty(t, sink.Mails(), "an expired code is not sent")
}

func TestWithoutAServerMailsStayInTheMailbox(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := apitest.New(t, apitest.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.Equal(t, "development mailbox", s.Mails.Engine())
	require.NoError(t, s.Mails.Check(t.Context()))
	to := address()
	mailID := post(t, s, to)
	for range 2 {
		require.Zero(t, send(t, s, mailID))
	}
	require.Equal(t, "kept", get(t, s, mailID).Status)
	require.Equal(t, 1, bytes.Count(log.Bytes(), []byte("    "+code)), "shown in the log once: %s", log.String())
	list, err := s.Mails.ListMailbox(t.Context())
	require.NoError(t, err)
	require.LessOrEqual(t, len(list), 100)
	one, err := s.Mails.GetMailboxMail(t.Context(), mailID)
	require.NoError(t, err)
	require.Contains(t, list, one)
	require.Equal(t, to, one.To)
	require.Contains(t, one.HTML, code)
	_, err = s.Mails.GetMailboxMail(t.Context(), "mail_none")
	require.True(t, problem.Is(err, "not_found"))
}

func TestInProductionNothingIsKeptOrLogged(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	options := apitest.Options{Log: slog.New(slog.NewTextHandler(&log, nil))}
	dev := apitest.New(t, options)
	mailID := post(t, dev, address())
	options.Production = true
	s := apitest.New(t, options)
	require.Equal(t, "none, SMTP_URL is not set", s.Mails.Engine())
	err := postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		return s.Mails.PostTx(t.Context(), tx, mail.Letter{To: address()})
	})
	require.True(t, problem.Is(err, "mail_unavailable"))
	_, err = s.Mails.ListMailbox(t.Context())
	require.True(t, problem.Is(err, "not_found"))
	_, err = s.Mails.GetMailboxMail(t.Context(), mailID)
	require.True(t, problem.Is(err, "not_found"))
	require.Zero(t, send(t, s, mailID), "written before the setting was taken away")
	require.Equal(t, "failed", get(t, s, mailID).Status)
	require.NotContains(t, log.String(), code)
}

func TestRecipientsAreAddresses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, to := range []string{"", "ada", "Ada <ada@example.test>", "ada@example.test\r\nBcc: x@example.test", "a@b.test, c@d.test"} {
		require.Error(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			return s.Mails.PostTx(t.Context(), tx, mail.Letter{Kind: "test", To: to})
		}), to)
	}
}

func TestOldMailsAreDeleted(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	mailID := post(t, s, address())
	require.NoError(t, s.Mails.DeleteOld(t.Context()))
	get(t, s, mailID)
	s.Clock.Advance(30*24*time.Hour + time.Second)
	require.NoError(t, s.Mails.DeleteOld(t.Context()))
	_, err := db.New(s.Pool).GetMail(t.Context(), mailID)
	require.ErrorIs(t, err, pgx.ErrNoRows)
}
