package e2e

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/smtptest"
)

// call sends a request with a JSON body, and with a token if it isn't empty.
func call(t testing.TB, method, url, token string, body any, header ...string) (status int, answer string) {
	t.Helper()
	raw, err := json.Marshal(body)
	require.NoError(t, err)
	r, err := http.NewRequestWithContext(t.Context(), method, url, bytes.NewReader(raw))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	resp, err := http.DefaultTransport.RoundTrip(r)
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	return resp.StatusCode, string(text)
}

// made requires a 201.
func made(t testing.TB, url, token string, body any) string {
	t.Helper()
	status, answer := call(t, http.MethodPost, url, token, body)
	require.Equal(t, http.StatusCreated, status, answer)
	return answer
}

// linkIn returns the URL in a mail's text.
func linkIn(t testing.TB, text string) string {
	t.Helper()
	link := regexp.MustCompile(`(?m)^http\S+\?token=\S+$`).FindString(text)
	require.NotEmpty(t, link, text)
	return link
}

func codeIn(t testing.TB, text string) string {
	t.Helper()
	code := regexp.MustCompile(`(?m)^ {4}([0-9]{6})$`).FindStringSubmatch(text)
	require.NotNil(t, code, text)
	return code[1]
}

func says(text string) string {
	return `!document.getElementById("said").hidden && document.getElementById("said").textContent.includes(` + strconv.Quote(text) + `)`
}

// fill types into the fields of the visible form and submits it.
func fill(t testing.TB, id string, fields ...string) []chromedp.Action[chromedp.Void] {
	t.Helper()
	form := "#" + id + ":not([hidden])"
	actions := []chromedp.Action[chromedp.Void]{chromedp.WaitVisible(chromedp.CSS(form))}
	for i := 0; i < len(fields); i += 2 {
		actions = append(actions, chromedp.SendKeys(chromedp.CSS(form+" input[name="+fields[i]+"]"), fields[i+1]))
	}
	return append(actions, chromedp.Click(chromedp.CSS(form+" button")))
}

// TestMailedLinksLeadToPages follows mailed links in a browser until the user is
// logged in: first an invitation, then a password reset.
func TestMailedLinksLeadToPages(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	s := serve(t, onTestDatabase, set("SMTP_URL", sink.URL()), set("MAIL_FROM", "Acme Live <live@acme.example>"), set("RATE_LIMIT_AUTH", "off"))
	require.Contains(t, s.out.String(), "SMTP "+sink.Addr)
	require.NotContains(t, s.out.String(), "/mailbox")
	a := signUp(t, s)
	grace := "grace-" + a.email
	made(t, s.url+"/v1/me/team", a.token, map[string]string{"email": grace, "role": "DEVELOPER"})
	invited := sink.Wait(t, grace, 1)[0]
	require.Equal(t, "live@acme.example", invited.From)

	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1280, 800, false)
	browsertest.Run(t, tab, chromedp.Navigate(linkIn(t, invited.Text)))
	browsertest.Run(t, tab, chromedp.WaitVisible(chromedp.CSS("#accept")))
	require.Empty(t, browsertest.Value[string](t, tab, `location.search`), "the token has left")
	browsertest.Screenshot(t, tab, "accept-invite-light")
	browsertest.Run(t, tab, fill(t, "accept", "name", "Grace Lind", "password", "quick violet harbour")...)
	browsertest.WaitFor(t, tab, says("Welcome, Grace Lind. You have joined "+t.Name()+"; log in with "+grace))
	browsertest.Screenshot(t, tab, "accept-invite-done")
	credentials := map[string]string{"email": grace, "password": "quick violet harbour"}
	made(t, s.url+"/v1/auth/login", "", credentials)
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())

	// A second use of the link fails.
	browsertest.Run(t, tab, chromedp.Reload())
	browsertest.Run(t, tab, fill(t, "accept", "password", "another one entirely")...)
	browsertest.WaitFor(t, tab, says("This link is wrong, was used, or was replaced"))

	browsertest.Look(t, tab, 390, 844, true)
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/reset-password"))
	browsertest.Run(t, tab, fill(t, "ask", "email", grace)...)
	browsertest.WaitFor(t, tab, says("If "+grace+" has an account, a link is on its way. It is valid for 60 minutes."))
	reset := linkIn(t, sink.Wait(t, grace, 2)[1].Text)
	browsertest.Run(t, tab, chromedp.Navigate(reset))
	browsertest.Run(t, tab, chromedp.WaitVisible(chromedp.CSS("#set")))
	browsertest.Screenshot(t, tab, "reset-password-phone-dark")
	browsertest.Run(t, tab, fill(t, "set", "password", "another one entirely")...)
	browsertest.WaitFor(t, tab, says("The password is set. Log in with "+grace))
	require.Equal(t, "Your password was changed", sink.Wait(t, grace, 3)[2].Subject)
	status, _ := call(t, http.MethodPost, s.url+"/v1/auth/login", "", credentials)
	require.Equal(t, http.StatusUnauthorized, status)
	credentials["password"] = "another one entirely"
	made(t, s.url+"/v1/auth/login", "", credentials)

	// The page of a used link offers a new one.
	browsertest.Run(t, tab, chromedp.Navigate("about:blank"), chromedp.Navigate(reset))
	browsertest.Run(t, tab, fill(t, "set", "password", "yet another one")...)
	browsertest.WaitFor(t, tab, says("This link is wrong, was used")+` && !document.getElementById("ask").hidden`)
	browsertest.Screenshot(t, tab, "reset-password-used")
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/accept-invite"))
	browsertest.WaitFor(t, tab, says("this address is not complete"))
}

// TestMailbox signs up on a server without configuration. The code is in the
// mailbox that the banner names.
func TestMailbox(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("RATE_LIMIT_AUTH", "off"))
	require.Contains(t, s.out.String(), s.url+"/mailbox shows mails instead of sending them")
	require.Regexp(t, `(?m)^  mail +development mailbox$`, s.out.String())
	form := map[string]string{"tenantName": "Acme <b>", "name": "Ada <b>", "email": "ada@acme.example", "password": "correct horse battery"}
	made(t, s.url+"/v1/auth/send-code", "", form)

	tab := browsertest.New(t)
	log := browsertest.Watch(t, tab)
	browsertest.Look(t, tab, 1280, 800, false)
	browsertest.Run(t, tab, chromedp.Navigate(s.url+"/mailbox"))
	browsertest.WaitFor(t, tab, `document.getElementById("subject").textContent === "Your sign-up code"`)
	browsertest.WaitFor(t, tab, `document.getElementById("text").textContent.includes("Hello Ada <b>,")`)
	code := codeIn(t, browsertest.Value[string](t, tab, `document.getElementById("text").textContent`))
	browsertest.Screenshot(t, tab, "mailbox-light")
	until(t, "the mail is in the log", func() bool { return strings.Contains(s.err.String(), code) })
	made(t, s.url+"/v1/auth/verify-and-register", "", map[string]string{"email": form["email"], "code": code})

	form["email"] = "grace@acme.example"
	made(t, s.url+"/v1/auth/send-code", "", form)
	browsertest.WaitFor(t, tab, `document.querySelectorAll("#mails button").length === 2`)
	browsertest.Look(t, tab, 390, 844, true)
	browsertest.Screenshot(t, tab, "mailbox-phone-dark")
	require.True(t, browsertest.Value[bool](t, tab, `document.documentElement.scrollWidth <= innerWidth`), "scrolls sideways")
	require.Empty(t, log.Outside(s.url))
	require.Empty(t, log.Complaints())

	// Mailbox and sandbox answer only callers on this machine.
	status, _ := call(t, http.MethodGet, s.url+"/sandbox/", "", nil)
	require.Equal(t, http.StatusOK, status)
	for _, path := range []string{"/mailbox", "/mailbox/mails", "/mailbox/mails/mail_x", "/sandbox", "/sandbox/", "/sandbox/pay/cs_x"} {
		for _, header := range [][]string{{"X-Forwarded-For", "203.0.113.7"}, {"Host", "evil.example"}} {
			for _, accept := range []string{"*/*", "text/html"} {
				status, _ := call(t, http.MethodGet, s.url+path, "", nil, append(header, "Accept", accept)...)
				require.Equal(t, http.StatusNotFound, status, "%s %s %s", path, header, accept)
			}
		}
	}
	status, _ = call(t, http.MethodGet, s.url+"/mailbox/mails/mail_x", "", nil)
	require.Equal(t, http.StatusNotFound, status)
}

// TestProductionWithoutMail checks that there is no mailbox, that the server
// reports this, and that it refuses requests that need a mail.
func TestProductionWithoutMail(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("APP_ENV", "production"), set("MASTER_KEY", "QUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUFBQUE="))
	require.Contains(t, s.err.String(), "SMTP_URL is not set: sign-up codes, invitations and new passwords are refused with mail_unavailable")
	require.NotContains(t, s.out.String(), "/mailbox")
	for _, path := range []string{"/mailbox", "/mailbox/mails"} {
		status, _ := call(t, http.MethodGet, s.url+path, "", nil, "Accept", "text/html")
		require.Equal(t, http.StatusNotFound, status)
	}
	status, answer := call(t, http.MethodPost, s.url+"/v1/auth/forgot-password", "", map[string]string{"email": "ada@acme.example"})
	require.Equal(t, http.StatusServiceUnavailable, status)
	require.Contains(t, answer, `"code":"mail_unavailable"`)
}

// TestMailServerThatIsAway checks that the server stays ready and sends the
// mails later, even if it was killed in between.
func TestMailServerThatIsAway(t *testing.T) {
	t.Parallel()
	sink := smtptest.New(t, smtptest.Options{})
	sink.Stop()
	s := serve(t, onTestDatabase, set("SMTP_URL", sink.URL()))
	made(t, s.url+"/v1/auth/send-code", "", map[string]string{
		"tenantName": "Acme", "name": "Ada", "email": "ada@acme.example", "password": "correct horse battery",
	})
	status, answer := call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Regexp(t, `"engine":"SMTP [^"]*","message":"[^"]*","name":"mail","status":"failing"`, answer)
	until(t, "the first attempt", func() bool { return strings.Contains(s.err.String(), "could not be sent") })
	s.kill()
	sink.Start(t)
	s.start(t)
	mail := sink.Wait(t, "ada@acme.example", 1)[0]
	made(t, s.url+"/v1/auth/verify-and-register", "", map[string]string{"email": "ada@acme.example", "code": codeIn(t, mail.Text)})
}
