package e2e

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/client"
)

// command runs one of the binary's commands with the server's settings.
func command(t testing.TB, s *server, input string, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(binary(t), args...)
	cmd.Env, cmd.Dir = environ(s.settings), s.dir
	cmd.Stdin = strings.NewReader(input)
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	require.NotNil(t, cmd.ProcessState, "%v", err)
	return both.String(), cmd.ProcessState.ExitCode()
}

// done returns the output of a command that must succeed.
func done(t testing.TB, s *server, input string, args ...string) string {
	t.Helper()
	out, code := command(t, s, input, args...)
	require.Zero(t, code, out)
	return out
}

var shownPassword = regexp.MustCompile(`password (\S+) — shown this once`)

// shown returns the password that a command has generated.
func shown(t testing.TB, out string) string {
	t.Helper()
	match := shownPassword.FindStringSubmatch(out)
	require.NotNil(t, match, out)
	return match[1]
}

// adminClient returns a client with an admin's token.
func adminClient(t testing.TB, s *server, email, password string) *client.ClientWithResponses {
	t.Helper()
	token := ""
	c, err := client.NewClientWithResponses(s.url, client.WithHTTPClient(&http.Client{Transport: checked{t}, Timeout: patience}),
		client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}))
	require.NoError(t, err)
	token = created(c.LoginAdminWithResponse(t.Context(), api.CredentialsInput{Email: email, Password: password}))(t).Token
	return c
}

// adminStatus returns the status of an admin's login.
func adminStatus(t testing.TB, s *server, email, password string) int {
	t.Helper()
	c, err := client.NewClientWithResponses(s.url)
	require.NoError(t, err)
	answer, err := c.LoginAdminWithResponse(t.Context(), api.CredentialsInput{Email: email, Password: password})
	require.NoError(t, err)
	return answer.StatusCode()
}

// TestAdminCommands creates and removes admins while a server runs on its own
// database, and while it is stopped.
func TestAdminCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, set("RATE_LIMIT_EMAIL", "off"))
	const help = "help@e2e.example"
	password := shown(t, done(t, s, "", "admin", "create", "Help@e2e.example", "--role", "SUPPORT"))
	me, err := adminClient(t, s, help, password).GetCurrentAdminWithResponse(t.Context())
	require.NoError(t, err)
	require.Equal(t, api.AdminRoleSUPPORT, me.JSON200.Role)

	require.NotContains(t, done(t, s, "a password of mine\n", "admin", "reset-password", help, "--password-stdin"), "password a")
	require.Equal(t, http.StatusUnauthorized, adminStatus(t, s, help, password))
	require.Equal(t, http.StatusCreated, adminStatus(t, s, help, "a password of mine"))

	list := done(t, s, "", "admin", "list")
	require.Regexp(t, `(?m)^admin@localhost +SUPER_ADMIN .* never$`, list)
	require.Regexp(t, `(?m)^`+help+` +SUPPORT +\S+ \S+ +2\d{3}-`, list)

	for _, wrong := range []struct {
		input string
		args  []string
		says  string
		code  int
	}{
		{"", []string{"create", help, "--role", "BILLING"}, "already", 1},
		{"", []string{"create", "king@e2e.example", "--role", "KING"}, "SUPER_ADMIN", 2},
		{"", []string{"create", "king@e2e.example"}, "--role", 2},
		{"", []string{"create", "not an address", "--role", "SUPPORT"}, "not an e-mail address", 2},
		{"short\n", []string{"create", "king@e2e.example", "--role", "SUPPORT", "--password-stdin"}, "10 to 128", 2},
		{"", []string{"remove", "nobody@e2e.example"}, "not found", 1},
		{"", []string{"remove", "admin@localhost"}, "last SUPER_ADMIN", 1},
	} {
		out, code := command(t, s, wrong.input, append([]string{"admin"}, wrong.args...)...)
		require.Equal(t, wrong.code, code, out)
		require.Contains(t, out, wrong.says)
	}
	done(t, s, "", "admin", "remove", help)
	require.Equal(t, http.StatusUnauthorized, adminStatus(t, s, help, "a password of mine"))

	require.Zero(t, s.terminate(t))
	stopped := shown(t, done(t, s, "", "admin", "create", "late@e2e.example", "--role", "SUPER_ADMIN"))
	require.Zero(t, s.postgres(), "the database is stopped again")
	s.start(t)
	require.Equal(t, http.StatusCreated, adminStatus(t, s, "late@e2e.example", stopped))
	require.NotContains(t, s.said(), stopped)
}

// keyOf returns the id of the key that signed a token.
func keyOf(t testing.TB, token string) string {
	t.Helper()
	head, _, _ := strings.Cut(token, ".")
	text, err := base64.RawURLEncoding.DecodeString(head)
	require.NoError(t, err)
	match := regexp.MustCompile(`"kid":"([^"]+)"`).FindSubmatch(text)
	require.NotNil(t, match)
	return string(match[1])
}

// TestKeyCommands changes the keys that sign tokens while a server runs.
func TestKeyCommands(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase, set("RATE_LIMIT_AUTH", "off"), set("RATE_LIMIT_EMAIL", "off"))
	root := shown(t, done(t, s, "", "admin", "create", "root@e2e.example", "--role", "SUPER_ADMIN"))
	tokenOf := func() string {
		c, err := client.NewClientWithResponses(s.url)
		require.NoError(t, err)
		return created(c.LoginAdminWithResponse(t.Context(), api.CredentialsInput{Email: "root@e2e.example", Password: root}))(t).Token
	}
	status := func(token string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/v1/admin/auth/me", http.NoBody)
		require.NoError(t, err)
		r.Header.Set("Authorization", "Bearer "+token)
		resp, err := (&http.Client{Timeout: patience}).Do(r)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	old := tokenOf()
	out := done(t, s, "", "keys", "rotate")
	fresh, _, _ := strings.Cut(out, " ")
	var token string
	until(t, "the server signs with the new key", func() bool { token = tokenOf(); return keyOf(t, token) == fresh })
	require.Equal(t, http.StatusOK, status(old), "the user stays logged in")
	list := done(t, s, "", "keys", "list")
	require.Regexp(t, fresh+` .* signs and verifies`, list)
	require.Regexp(t, keyOf(t, old)+` .* verifies`, list)

	done(t, s, "", "keys", "revoke", fresh, "--reason", "leaked")
	until(t, "its tokens end", func() bool { return status(token) == http.StatusUnauthorized })
	require.Equal(t, http.StatusOK, status(old))
	require.Equal(t, http.StatusOK, status(tokenOf()))
	require.Contains(t, done(t, s, "", "keys", "list"), "revoked")
	out, code := command(t, s, "", "keys", "revoke", fresh)
	require.Equal(t, 1, code)
	require.Contains(t, out, "not found")

	require.NoError(t, os.Remove(filepath.Join(s.dir, "master.key")))
	out, code = command(t, s, "", "keys", "rotate")
	require.Equal(t, 1, code)
	require.Contains(t, out, "MASTER_KEY")
	require.NoFileExists(t, filepath.Join(s.dir, "master.key"), "a new one would not fit")
}
