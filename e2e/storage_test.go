package e2e

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/s3test"
)

// withKeys sets the access key of the tests' S3 server.
func withKeys(secret string) option {
	return func(_ testing.TB, s *server) {
		s.settings["AWS_ACCESS_KEY_ID"], s.settings["AWS_SECRET_ACCESS_KEY"] = s3test.ID, secret
	}
}

// TestFilesInABucket: banner, readiness and metrics show the storage, and the server stays ready without it.
func TestFilesInABucket(t *testing.T) {
	t.Parallel()
	storage := s3test.New(t)
	s := serve(t, onTestDatabase, withKeys(s3test.Secret), set("STORAGE_URL", storage.URL(t, "media")), set("STORAGE_DELIVERY", "redirect"))
	require.Contains(t, s.out.String(), "  files      s3://media at http://"+storage.Endpoint+"\n")
	require.NotContains(t, s.said(), s3test.Secret)
	require.NoDirExists(t, filepath.Join(s.dir, "files"))
	status, answer := call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, answer, `"engine":"S3 at STORAGE_URL, with redirects","name":"storage","status":"ok"`)
	require.NotEmpty(t, s.figure(t, `showfloor_storage_seconds_count{operation="check",outcome="ok"}`))

	storage.Stop(t)
	until(t, "readiness shows it", func() bool {
		status, answer = call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
		return strings.Contains(answer, `"name":"storage","status":"failing"`)
	})
	require.Equal(t, http.StatusOK, status, "live media need no storage")
	require.NotEmpty(t, s.figure(t, `showfloor_storage_seconds_count{operation="check",outcome="error"}`))
}

// TestFilesInAFolder: they are in the data folder, or in another one.
func TestFilesInAFolder(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	require.Contains(t, s.out.String(), "  files      folder "+filepath.Join(s.dir, "files")+"\n")
	require.DirExists(t, filepath.Join(s.dir, "files"))
	dir := filepath.Join(t.TempDir(), "other")
	s = serve(t, onTestDatabase, set("STORAGE_URL", "file://"+dir))
	require.Contains(t, s.out.String(), "  files      folder "+dir+"\n")
	require.NoDirExists(t, filepath.Join(s.dir, "files"))
	_, answer := call(t, http.MethodGet, s.url+"/v1/health/ready", "", nil)
	require.Contains(t, answer, `"engine":"the folder at STORAGE_URL","name":"storage","status":"ok"`)
}

// TestStorageThatCannotBeUsed: the start ends with one line that says what to do.
func TestStorageThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	storage := s3test.New(t)
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	for says, options := range map[string][]option{
		"there is no such bucket": {
			withKeys(s3test.Secret), set("STORAGE_URL", strings.Replace(storage.URL(t, "media"), "media", "medai", 1)),
		},
		"correct AWS_ACCESS_KEY_ID": {withKeys("S3cretPassw0rd"), set("STORAGE_URL", storage.URL(t, "media"))},
		"it can't be reached":       {withKeys("S3cretPassw0rd"), set("STORAGE_URL", "s3://media?endpoint=http://"+freeAddr(t))},
		"not a directory":           {set("STORAGE_URL", "file://"+file)},
	} {
		t.Run(says, func(t *testing.T) {
			t.Parallel()
			s := prepare(t, append(options, onTestDatabase)...)
			p := launch(t, s.command(t))
			require.Equal(t, 1, p.wait(t))
			last := lastLine(p.err.String())
			require.Contains(t, last, "showfloor: STORAGE_URL: ")
			require.Contains(t, last, says)
			require.NotContains(t, p.err.String(), "S3cret")
			require.Empty(t, p.out.String(), "no banner")
		})
	}
}
