package e2e

import (
	"crypto/rand"
	"encoding/base64"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/smtptest"
)

// TestNoSecretInLogs uses every kind of secret, correctly and incorrectly, at
// the most verbose log level, and searches all logs for them.
func TestNoSecretInLogs(t *testing.T) {
	t.Parallel()
	ingest, admin, smtp := "ingest-"+rand.Text(), "admin-"+rand.Text(), "smtp-"+rand.Text()
	master := base64.StdEncoding.EncodeToString([]byte(rand.Text() + rand.Text())[:32])
	mails := smtptest.New(t, smtptest.Options{User: "showfloor", Password: smtp})
	paid := processorSecrets{"sk_test_" + rand.Text(), "whsec_" + rand.Text(), "whsec_" + rand.Text()}
	s := serve(t, set("LOG_LEVEL", "debug"), set("INGEST_SECRET", ingest), set("ADMIN_PASSWORD", admin), set("MASTER_KEY", master),
		set("SMTP_URL", mails.URL()), set("RATE_LIMIT_AUTH", "off"), set("RATE_LIMIT_EMAIL", "off"),
		set("PROCESSOR_KEY", paid.key), set("PROCESSOR_URL", refusingProcessor(t).URL),
		set("PROCESSOR_WEBHOOK_SECRET", paid.platform), set("PROCESSOR_CONNECT_SECRET", paid.connect))
	a := signUp(t, s)
	hooks := newSink(t, a, nil)
	stream := a.newStream(api.StreamModeLOWLATENCY, 0)
	useWrongly(t, a)

	encoder := encode(t, target(stream)+"?token="+a.token)
	a.await(stream.ID, api.StreamStatusLIVE)
	playback := a.playback(stream.ID)
	follow(t, playback.URL).load()
	get(t.Context(), t, playback.URL+"x") // a path that doesn't exist
	encoder.terminate(t)
	a.await(stream.ID, api.StreamStatusENDED)
	hooks.await(stream.ID, 2)
	hooks.settled(a)
	rotated := created(a.RotateStreamKeyWithResponse(t.Context(), stream.ID))(t)
	callbacks(t, s, ingest, rotated.StreamKey)
	encode(t, target(stream)).wait(t) // refused: the key was replaced

	root := created(a.LoginAdminWithResponse(t.Context(), api.CredentialsInput{Email: "admin@localhost", Password: admin}))(t).Token
	_, _ = get(t.Context(), t, s.url+"/v1/admin/tenants?q="+root)
	helper := shown(t, done(t, s, "", "admin", "create", "help@e2e.example", "--role", "SUPPORT"))
	useProcessor(t, s, a.token, paid)
	mailed := useMail(t, s, a, mails)

	require.Zero(t, s.terminate(t))
	token, _, _ := strings.Cut(strings.TrimPrefix(playback.URL, s.url+"/live/"), "/")
	require.Greater(t, len(token), 40)
	require.Contains(t, s.err.String(), `"level":"DEBUG"`)
	written := s.said() + databaseLog(t, s)
	for name, secret := range map[string]string{
		"password": a.password, "token": a.token, "API key": a.apiKey, "stream key": stream.StreamKey, "new stream key": rotated.StreamKey,
		"admin token": root, "admin's password": helper,
		"webhook secret": hooks.endpoint.Secret, "playback token": token, "INGEST_SECRET": ingest, "ADMIN_PASSWORD": admin, "MASTER_KEY": master, "SMTP password": smtp,
		// A code is short, so its digits may occur in the log by chance.
		"sign-up code": `"` + mailed.code + `"`, "sign-up mail": "enter this code",
		"invitation": mailed.invite, "reset link": mailed.reset, "new password": mailed.password,
		"PROCESSOR_KEY": paid.key, "PROCESSOR_WEBHOOK_SECRET": paid.platform, "PROCESSOR_CONNECT_SECRET": paid.connect,
	} {
		require.NotEmpty(t, secret, name)
		if before, _, found := strings.Cut(written, secret); found {
			t.Errorf("the %s is in the log, after: %s", name, lastLine(before))
		}
	}
}

// mailed holds the secrets in mails, and the password that was set with them.
type mailed struct{ code, invite, reset, password string }

// useMail triggers every kind of mail and uses its secrets correctly and incorrectly.
func useMail(t testing.TB, s *server, a *tenant, mails *smtptest.Sink) mailed {
	t.Helper()
	m := mailed{password: "pw-" + rand.Text()}
	fresh, invited := "fresh-"+a.email, "invited-"+a.email
	form := map[string]string{"tenantName": "Fresh", "name": "Ada", "email": fresh, "password": m.password}
	made(t, s.url+"/v1/auth/send-code", "", form)
	m.code = codeIn(t, mails.Wait(t, fresh, 1)[0].Text)
	made(t, s.url+"/v1/me/team", a.token, map[string]string{"email": invited, "role": "VIEWER"})
	_, m.invite, _ = strings.Cut(linkIn(t, mails.Wait(t, invited, 1)[0].Text), "token=")
	made(t, s.url+"/v1/auth/forgot-password", "", map[string]string{"email": a.email})
	reset := linkIn(t, mails.Wait(t, a.email, 1)[0].Text)
	_, m.reset, _ = strings.Cut(reset, "token=")

	code := map[string]string{"email": fresh, "code": m.code}
	made(t, s.url+"/v1/auth/verify-and-register", "", code)
	accept := map[string]string{"token": m.invite, "password": m.password}
	made(t, s.url+"/v1/auth/accept-invite", "", accept)
	set := map[string]string{"token": m.reset, "password": m.password}
	made(t, s.url+"/v1/auth/reset-password", "", set)
	get(t.Context(), t, reset) // the page, with the token in its URL
	for path, body := range map[string]map[string]string{"verify-and-register": code, "accept-invite": accept, "reset-password": set, "register": form} {
		status, answer := call(t, http.MethodPost, s.url+"/v1/auth/"+path, "", body)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusConflict}, status, answer)
	}
	return m
}

// useWrongly sends credentials to operations where they fail or don't belong.
func useWrongly(t testing.TB, a *tenant) {
	t.Helper()
	login, err := a.LoginWithResponse(t.Context(), api.CredentialsInput{Email: a.email, Password: a.password + "x"})
	require.NoError(t, err)
	require.Equal(t, http.StatusUnauthorized, login.StatusCode())
	again, err := a.RegisterWithResponse(t.Context(), api.RegistrationInput{TenantName: "Again", Name: "Ada", Email: a.email, Password: a.password})
	require.NoError(t, err)
	require.Equal(t, http.StatusConflict, again.StatusCode())
	for _, id := range []string{a.token, a.apiKey, a.password} {
		answer, err := a.GetStreamWithResponse(t.Context(), id)
		require.NoError(t, err)
		require.Equal(t, http.StatusNotFound, answer.StatusCode())
	}
}

// callbacks sends the callbacks of an SRS server with the right and a wrong
// secret in the query, where SRS puts it.
func callbacks(t testing.TB, s *server, ingest, key string) {
	t.Helper()
	for secret, want := range map[string]int{ingest: http.StatusCreated, ingest + "x": http.StatusUnauthorized} {
		for _, what := range []string{"publish", "unpublish"} {
			body := `{"action":"on_` + what + `","client_id":"c1","app":"live","stream":"` + key + `","param":"?key=` + key + `"}`
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/ingest/media/"+what+"?secret="+secret, strings.NewReader(body))
			require.NoError(t, err)
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultTransport.RoundTrip(req)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, want, resp.StatusCode, what)
		}
	}
}

// databaseLog returns the log files of the built-in PostgreSQL.
func databaseLog(t testing.TB, s *server) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(filepath.Join(s.dir, "postgres"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == "data" {
			return fs.SkipDir // contains the rows themselves
		}
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		text.Write(content)
		return err
	})
	require.NoError(t, err)
	require.NotEmpty(t, text.String())
	return text.String()
}
