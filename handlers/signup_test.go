package handlers_test

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/id"
	"showfloor/internal/testkit/apitest"
)

func newEmail() string { return strings.ToLower(id.New("u")) + "@example.test" }

func form(email string) map[string]any {
	return map[string]any{"tenantName": "Acme Live", "name": "Ada", "email": email, "password": apitest.Password}
}

// sendCode submits the sign-up form and returns the mailed code.
func sendCode(t *testing.T, s *apitest.Server, email string) string {
	t.Helper()
	s.With(t, "").Call(t, "POST", "/v1/auth/send-code", form(email)).Is(t, 201)
	return apitest.Code(t, s.LastMail(t, email).Text)
}

func verify(t *testing.T, s *apitest.Server, email, code string) apitest.Response {
	t.Helper()
	return s.With(t, "").Call(t, "POST", "/v1/auth/verify-and-register", map[string]any{"email": email, "code": code})
}

// otherThan returns a code that differs from this one.
func otherThan(code string, n int) string {
	return fmt.Sprintf("%06d", (number(code)+1+n)%1_000_000)
}

func number(code string) (n int) {
	for _, digit := range code {
		n = n*10 + int(digit-'0')
	}
	return n
}

func count(t *testing.T, s *apitest.Server, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM "+query, args...).Scan(&n))
	return n
}

func TestSignUpWithACode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	var notice api.CodeNotice
	s.With(t, "").Call(t, "POST", "/v1/auth/send-code", form(strings.ToUpper(email))).Into(t, 201, &notice)
	require.Equal(t, api.CodeNotice{Email: email, FormLifeSec: 900, ResendAfterSec: 30}, notice)
	require.Zero(t, count(t, s, "users WHERE email = $1", email), "nothing is created before the code")
	mail := s.LastMail(t, email)
	require.Equal(t, "Your sign-up code", mail.Subject)
	code := apitest.Code(t, mail.Text)
	require.Contains(t, mail.HTML, code)

	var l api.Login
	verify(t, s, email, code).Into(t, 201, &l)
	require.Equal(t, email, l.User.Email)
	require.Equal(t, api.UserRoleOWNER, l.User.Role)
	require.Equal(t, "Acme Live", l.Tenant.Name)
	s.With(t, l.Token).Call(t, "GET", "/v1/auth/me", nil).Is(t, 200)
	s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": apitest.Password}).Is(t, 201)
	require.Equal(t, 1, count(t, s, "audit_entries WHERE tenant_id = $1 AND action = 'tenant.register' AND (after->>'emailVerified')::boolean", l.Tenant.ID))

	verify(t, s, email, code).Problem(t, 400, "invalid_code")
	require.Zero(t, count(t, s, "signup_forms WHERE email = $1", email))
}

// TestSecretsOfASignUpAreHashed searches for them in every table.
func TestSecretsOfASignUpAreHashed(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	email := newEmail()
	code := sendCode(t, s, email)
	owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": "i" + email, "role": "VIEWER"}).Is(t, 201)
	invite := apitest.LinkToken(t, s.LastMail(t, "i"+email).Text)
	s.With(t, "").Call(t, "POST", "/v1/auth/forgot-password", map[string]any{"email": owner.Email}).Is(t, 201)
	s.WorkMailJobs(t, owner.Email)
	reset := apitest.LinkToken(t, s.LastMail(t, owner.Email).Text)

	var form string
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT row_to_json(f)::text FROM signup_forms f WHERE email = $1", email).Scan(&form))
	require.NotContains(t, form, code, "a code is short: other rows may hold it by chance")
	rows, err := s.Pool.Query(t.Context(), "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'")
	require.NoError(t, err)
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Contains(t, tables, "mails")
	for _, table := range tables {
		for name, secret := range map[string]string{"invite": invite, "reset": reset, "password": apitest.Password} {
			require.Zero(t, count(t, s, pgx.Identifier{table}.Sanitize()+" r WHERE position($1 in row_to_json(r)::text) > 0", secret), "%s in %s", name, table)
		}
	}
}

func TestWrongCodesVoidTheForm(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	code := sendCode(t, s, email)
	for i := range 4 {
		verify(t, s, email, otherThan(code, i)).Problem(t, 400, "invalid_code")
	}
	again := sendCode(t, s, email)
	require.NotEqual(t, code, again, "one in a million")
	verify(t, s, email, code).Problem(t, 400, "invalid_code") // the code of the previous form
	for i := range 4 {
		verify(t, s, email, otherThan(again, i)).Problem(t, 400, "invalid_code")
	}
	verify(t, s, email, again).Problem(t, 400, "invalid_code")
	require.Zero(t, count(t, s, "users WHERE email = $1", email))

	s.With(t, "").Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": email}).Is(t, 201)
	mails := len(s.MailsTo(t, email))
	s.WorkMailJobs(t, email)
	require.Len(t, s.MailsTo(t, email), mails, "a void form has no other code")
	verify(t, s, email, sendCode(t, s, email)).Is(t, 201)
}

// TestGuessesAtTheSameTimeCount checks that concurrent guesses have five
// attempts together.
func TestGuessesAtTheSameTimeCount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	code := sendCode(t, s, email)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			if r := verify(t, s, email, otherThan(code, i)); r.Status != http.StatusBadRequest {
				t.Errorf("answered %d", r.Status)
			}
		})
	}
	wg.Wait()
	verify(t, s, email, code).Problem(t, 400, "invalid_code")
	var wrong int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT max(wrong_codes) FROM signup_tries WHERE touched_at = $1", s.Clock.Now()).Scan(&wrong))
	require.Equal(t, 5, wrong)
}

// TestACodeCountsOnce checks that concurrent requests with one code create one tenant.
func TestACodeCountsOnce(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	code := sendCode(t, s, email)
	var created atomic.Int32
	var wg sync.WaitGroup
	for range 6 {
		wg.Go(func() {
			switch r := verify(t, s, email, code); r.Status {
			case http.StatusCreated:
				created.Add(1)
			case http.StatusBadRequest:
			default:
				t.Errorf("answered %d: %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, created.Load())
	require.Equal(t, 1, count(t, s, "users WHERE email = $1", email))
}

func TestAFormExpires(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	code := sendCode(t, s, email)
	s.Clock.Advance(15*time.Minute - time.Millisecond)
	verify(t, s, email, otherThan(code, 0)).Problem(t, 400, "invalid_code")
	s.Clock.Advance(time.Millisecond)
	verify(t, s, email, code).Problem(t, 400, "code_expired")
	verify(t, s, email, code).Problem(t, 400, "code_expired")
	// The answers reveal nothing about the code.
	verify(t, s, email, otherThan(code, 0)).Problem(t, 400, "invalid_code")

	s.With(t, "").Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": email}).Is(t, 201)
	s.WorkMailJobs(t, email)
	require.Len(t, s.MailsTo(t, email), 1, "an expired form has no other code")

	fresh := sendCode(t, s, email)
	s.Clock.Advance(15*time.Minute - time.Millisecond)
	verify(t, s, email, fresh).Is(t, 201)
}

// TestTakenEMailsDoNotShow checks that answers, rows and work are the same for
// a taken address. Only the mail differs.
func TestTakenEMailsDoNotShow(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	anonymous := s.With(t, "")
	free := newEmail()
	answers := map[string]api.CodeNotice{}
	for _, email := range []string{free, owner.Email} {
		var notice api.CodeNotice
		anonymous.Call(t, "POST", "/v1/auth/send-code", form(email)).Into(t, 201, &notice)
		require.Equal(t, email, notice.Email)
		notice.Email = ""
		answers[email] = notice
		require.Equal(t, 1, count(t, s, "signup_forms WHERE email = $1 AND password_hash LIKE '$argon2id$%'", email), "the password was hashed")
		require.Len(t, s.MailsTo(t, email), 1)
		require.Equal(t, 1, count(t, s, "river_job j JOIN mails m ON m.id = j.args->>'mailId' WHERE m.recipient = $1", email))
		verify(t, s, email, "000000").Problem(t, 400, "invalid_code")
	}
	require.Equal(t, answers[free], answers[owner.Email])
	notice := s.LastMail(t, owner.Email)
	require.Equal(t, "You have an account already", notice.Subject)
	require.NotRegexp(t, `[0-9]{6}`, notice.Text)
	require.Contains(t, notice.Text, "https://api.example.test/reset-password")

	// The answers are the same for codes of unknown addresses.
	unregistered := verify(t, s, newEmail(), "000000").Problem(t, 400, "invalid_code")
	registering := verify(t, s, free, "000001").Problem(t, 400, "invalid_code")
	unregistered.RequestID, registering.RequestID = "", ""
	require.Equal(t, unregistered, registering)

	// No code is accepted for a taken address, and its user doesn't change.
	for _, code := range []string{"000000", "123456", "999999"} {
		verify(t, s, owner.Email, code).Problem(t, 400, "invalid_code")
	}
	owner.LogInAgain(t)
}

func TestAnotherUserRegistersFirst(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	code := sendCode(t, s, email)
	s.With(t, "").Call(t, "POST", "/v1/auth/register", form(email)).Is(t, 201)
	for range 2 {
		verify(t, s, email, code).Problem(t, 409, "conflict")
	}
	require.Equal(t, 1, count(t, s, "users WHERE email = $1", email))
}

func TestResendOncePerHalfMinute(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email, unknown := newEmail(), newEmail()
	first := sendCode(t, s, email)
	resend := func(address string) apitest.Response {
		return s.With(t, "").Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": address})
	}
	for _, address := range []string{email, unknown} {
		var notice api.CodeNotice
		resend(address).Into(t, 201, &notice)
		require.Equal(t, api.CodeNotice{Email: address, FormLifeSec: 900, ResendAfterSec: 30}, notice)
		r := resend(strings.ToUpper(address))
		r.Problem(t, 429, "rate_limited")
		require.Equal(t, "30", r.Header.Get("Retry-After"))
	}
	s.Clock.Advance(20*time.Second + 500*time.Millisecond)
	for _, address := range []string{email, unknown} {
		r := resend(address)
		r.Problem(t, 429, "rate_limited")
		require.Equal(t, "10", r.Header.Get("Retry-After"), "rounded up")
	}
	verify(t, s, email, otherThan(first, 0)).Problem(t, 400, "invalid_code")
	s.WorkMailJobs(t, email)
	s.WorkMailJobs(t, email) // as if the process had been killed after the answer
	s.WorkMailJobs(t, unknown)
	require.Len(t, s.MailsTo(t, email), 2)
	require.Empty(t, s.MailsTo(t, unknown))
	second := apitest.Code(t, s.LastMail(t, email).Text)

	s.Clock.Advance(10 * time.Second)
	resend(email).Is(t, 201)
	resend(unknown).Is(t, 201)
	s.WorkMailJobs(t, email)
	third := apitest.Code(t, s.LastMail(t, email).Text)
	require.NotEqual(t, second, third)
	verify(t, s, email, first).Problem(t, 400, "invalid_code")
	verify(t, s, email, second).Problem(t, 400, "invalid_code")
	verify(t, s, email, third).Is(t, 201)
}

func TestResendsAtTheSameTimeAreOne(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	email := newEmail()
	var sent atomic.Int32
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			r := s.With(t, "").Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": email})
			if r.Status == http.StatusCreated {
				sent.Add(1)
			} else if r.Status != http.StatusTooManyRequests {
				t.Errorf("answered %d: %s", r.Status, r.Body)
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 1, sent.Load())
}

// TestResentMailForATakenEMail checks that the mail says again that the address
// is taken.
func TestResentMailForATakenEMail(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.With(t, "").Call(t, "POST", "/v1/auth/send-code", form(owner.Email)).Is(t, 201)
	s.With(t, "").Call(t, "POST", "/v1/auth/resend-code", map[string]any{"email": owner.Email}).Is(t, 201)
	s.WorkMailJobs(t, owner.Email)
	mails := s.MailsTo(t, owner.Email)
	require.Len(t, mails, 2)
	require.Equal(t, mails[1].Text, mails[0].Text)
}

func TestInputOfSignUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	anonymous := s.With(t, "")
	for _, email := range []string{
		"", "ada", "ada@", "@acme.example", "a b@c.example", "ada@acme.example ", " ada@acme.example", "Ada <ada@acme.example>",
		"a@b.example,c@d.example", "a@b@c.example", `"a b"@c.example`, "ada@acme..example", "ada@.example", "ada@[127.0.0.1]",
		"a\r\nBcc: x@acme.example", "a\u200bb@acme.example", "a\u202eb@acme.example", "a\u00a0b@acme.example",
		strings.Repeat("ä", 121) + "@acme.example", // 255 bytes
	} {
		for path, body := range map[string]map[string]any{
			"/v1/auth/send-code": form(email), "/v1/auth/register": form(email),
			"/v1/auth/resend-code": {"email": email}, "/v1/auth/forgot-password": {"email": email},
			"/v1/auth/verify-and-register": {"email": email, "code": "123456"},
		} {
			p := anonymous.Call(t, "POST", path, body).Problem(t, 400, "invalid_input")
			require.Equal(t, "email", p.Errors[0].Field, "%s %q", path, email)
		}
	}
	for _, code := range []string{"", "12345", "1234567", "12345a", "１２３４５６", " 123456"} {
		p := verify(t, s, newEmail(), code).Problem(t, 400, "invalid_input")
		require.Equal(t, "code", p.Errors[0].Field, code)
	}
	for _, password := range []string{"123456789", strings.Repeat("x", 129)} {
		body := form(newEmail())
		body["password"] = password
		p := anonymous.Call(t, "POST", "/v1/auth/send-code", body).Problem(t, 400, "invalid_input")
		require.Equal(t, "password", p.Errors[0].Field)
	}
}

// TestUnusualInputGoesThrough signs up with addresses in many scripts, long
// passwords, and names that look like headers and markup.
func TestUnusualInputGoesThrough(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	for _, email := range []string{"Ädä+" + newEmail(), "ελλα." + newEmail(), "नमस्ते" + strings.Replace(newEmail(), "@", "@उदाहरण.", 1), "ẞ" + newEmail(), "o'neil_" + newEmail()} {
		body := form(email)
		body["password"] = strings.Repeat("pässword", 16)
		body["name"] = "a\r\nBcc: victim@example.test <b>&"
		s.With(t, "").Call(t, "POST", "/v1/auth/send-code", body).Is(t, 201)
		mail := s.LastMail(t, strings.ToLower(email))
		require.Contains(t, mail.Text, "Hello a Bcc: victim@example.test <b>&,\n")
		require.Contains(t, mail.HTML, "Hello a Bcc: victim@example.test &lt;b&gt;&amp;,")
		verify(t, s, email, apitest.Code(t, mail.Text)).Is(t, 201)
		s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": strings.ToUpper(email), "password": body["password"]}).Is(t, 201)
	}
}

func TestWithoutMailItIsRefused(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Production: true})
	owner := s.Register(t)
	anonymous := s.With(t, "")
	email := map[string]any{"email": owner.Email}
	anonymous.Call(t, "POST", "/v1/auth/send-code", form(newEmail())).Problem(t, 503, "mail_unavailable")
	anonymous.Call(t, "POST", "/v1/auth/resend-code", email).Problem(t, 503, "mail_unavailable")
	anonymous.Call(t, "POST", "/v1/auth/forgot-password", email).Problem(t, 503, "mail_unavailable")
	owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": newEmail(), "role": "VIEWER"}).Problem(t, 503, "mail_unavailable")
	owner.Call(t, "POST", "/v1/me/change-password", map[string]any{
		"currentPassword": apitest.Password, "newPassword": "quick violet harbour",
	}).Is(t, 201)
}
