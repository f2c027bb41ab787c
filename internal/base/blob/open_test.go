package blob_test

import (
	"crypto/tls"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/blob"
	"showfloor/internal/testkit/s3test"
)

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		"", "file:///srv/files", "file://localhost/srv/files", "s3://media", "s3://media/", "s3://media/a/b-c_d.e/", "s3://my.media?region=eu-central-1",
		"s3://media?endpoint=minio:9000", "s3://media?endpoint=http://127.0.0.1:9000/&path_style=false", "s3://media?endpoint=https%3A%2F%2Fh&path_style=1",
	} {
		require.NoError(t, blob.CheckURL(good), good)
	}
	for bad, says := range map[string]string{
		"%":                                     "not a URL",
		"ftp://files":                           "must begin with",
		"file:":                                 "three slashes",
		"file:///":                              "three slashes",
		"file:///a?b":                           "three slashes",
		"file://host/a":                         "three slashes",
		"s3://":                                 "bucket's name",
		"s3://Media":                            "bucket's name",
		"s3://a/b":                              "bucket's name",
		"s3://media:80":                         "bucket's name",
		"s3://key:secret@media":                 "AWS_ACCESS_KEY_ID",
		"s3://media/../x":                       "prefix",
		"s3://media/a//b":                       "prefix",
		"s3://media/.x":                         "prefix",
		"s3://media#x":                          "#",
		"s3://media?regoin=x":                   `"regoin"`,
		"s3://media?region=a&region=b":          "more than once",
		"s3://media?a;b":                        "can't be read",
		"s3://media?path_style=maybe":           "true or false",
		"s3://media?endpoint=http://":           "endpoint",
		"s3://media?endpoint=h/path":            "endpoint",
		"s3://media?endpoint=ftp://h":           "endpoint",
		"s3://media?endpoint=http://k:secret@h": "endpoint",
		"s3://media/" + strings.Repeat("a/", 250) + "a": "prefix",
	} {
		err := blob.CheckURL(bad)
		require.ErrorContains(t, err, says, bad)
		require.NotContains(t, err.Error(), "secret", bad)
	}
}

// refusedStart returns the error of a storage that can't be opened: one line without secrets, within 10 s.
func refusedStart(t *testing.T, c blob.Config) string {
	t.Helper()
	began := time.Now()
	s, err := blob.Open(t.Context(), c)
	require.Error(t, err)
	require.Nil(t, s)
	require.Less(t, time.Since(began), 30*time.Second) // 10 s, on a busy machine
	for _, secret := range []string{s3test.Secret, s3test.ID, "secret-message", "\n"} {
		require.NotContains(t, err.Error(), secret)
	}
	return err.Error()
}

func TestWrongBucketKeyAndRegion(t *testing.T) {
	t.Parallel()
	server := s3test.New(t)
	good := server.URL(t, "media")

	c := config(t, strings.Replace(good, "media", "medai", 1))
	require.Equal(t, "bucket medai at http://"+server.Endpoint+": there is no such bucket; create it, or correct its name or the endpoint", refusedStart(t, c))

	c = config(t, good)
	c.Keys.Secret = "other"
	require.Contains(t, refusedStart(t, c), "the access key was refused (SignatureDoesNotMatch); correct AWS_ACCESS_KEY_ID")
	c.Keys.ID = "other"
	require.Contains(t, refusedStart(t, c), "the access key was refused (XAdminUserNotFound); correct AWS_ACCESS_KEY_ID")
	c.Keys = blob.Keys{ID: "x"}
	require.Contains(t, refusedStart(t, c), "must both be set, or neither")

	require.Contains(t, refusedStart(t, config(t, good+"&region=eu-central-1")), "another region")
	require.Contains(t, refusedStart(t, config(t, good+"&path_style=false")), "its name is not known (media.127.0.0.1)")
	require.Contains(t, refusedStart(t, config(t, strings.Replace(good, "http://", "", 1))), "write endpoint=http://"+server.Endpoint)
	server.Stop(t)
	require.Contains(t, refusedStart(t, config(t, good)), "it can't be reached (dial tcp "+server.Endpoint+": connect: connection refused); start it")
}

func TestServersThatAreNoStorage(t *testing.T) {
	t.Parallel()
	for want, handler := range map[string]http.HandlerFunc{
		"there is no such bucket": func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, "<html>secret-message</html>", http.StatusNotFound)
		},
		"it can't be used": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) },
		"may not use the bucket (AccessDenied); allow it": refuse(403, "AccessDenied"),
		"the access key was refused (InvalidAccessKeyId)": refuse(403, "InvalidAccessKeyId"),
		"this machine's clock is wrong":                   refuse(403, "RequestTimeTooSkewed"),
		"free space, or raise the quota":                  refuse(507, "InsufficientStorage"),
		"it is in another region":                         refuse(301, "PermanentRedirect"),
		"it answered 503 SlowDown":                        refuse(503, "SlowDown"),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(handler)
			defer server.Close()
			require.Contains(t, refusedStart(t, config(t, "s3://media?endpoint="+server.URL)), want)
		})
	}
	t.Run("a certificate that isn't trusted", func(t *testing.T) {
		t.Parallel()
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.TLS = &tls.Config{MinVersion: tls.VersionTLS12}
		server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelInfo)
		server.StartTLS()
		defer server.Close()
		require.Contains(t, refusedStart(t, config(t, "s3://media?endpoint="+server.URL)), "certificate")
	})
	t.Run("silence", func(t *testing.T) {
		t.Parallel()
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer listener.Close() // the kernel accepts
		c := config(t, "s3://media?endpoint=http://"+listener.Addr().String())
		c.Idle = time.Second
		require.Contains(t, refusedStart(t, c), "it doesn't answer; correct the endpoint, or open the firewall")
	})
}

// TestKeysFromFilesAndRoles: without AWS_ACCESS_KEY_ID the keys come from the aws command's file; a metadata server
// that doesn't answer delays the start by some seconds only.
func TestKeysFromFilesAndRoles(t *testing.T) {
	server := s3test.New(t)
	c := config(t, server.URL(t, "media"))
	c.Keys = blob.Keys{}
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer silent.Close()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://"+silent.Addr().String()+"/keys")
	for _, name := range []string{"AWS_PROFILE", "AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		t.Setenv(name, "")
	}
	require.Contains(t, refusedStart(t, c), "there are no access keys; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")

	require.NoError(t, os.Mkdir(filepath.Join(home, ".aws"), 0o700))
	file := filepath.Join(home, ".aws", "credentials")
	require.NoError(t, os.WriteFile(file, []byte("[default]\naws_access_key_id="+s3test.ID+"\naws_secret_access_key="+s3test.Secret+"\n"), 0o600))
	put(t, open(t, c), "a", []byte("x"))

	require.NoError(t, os.Remove(file))
	role := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"AccessKeyId":"` + s3test.ID + `","SecretAccessKey":"` + s3test.Secret + `","Expiration":"2100-01-01T00:00:00Z"}`))
	}))
	defer role.Close()
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", role.URL)
	put(t, open(t, c), "a", []byte("x"))
}
