package web_test

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"net/http"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/web"
)

// maxSignIn is the largest size of a sign-in page's scripts and styles, gzipped, in bytes.
const maxSignIn = 200 << 10

func TestSignInPagesAreSmall(t *testing.T) {
	t.Parallel()
	files := web.Files()
	pages := builtPages(t)
	for _, path := range []string{"/console", "/admin/tenants/ten_1"} {
		answer := get(t, pages, http.MethodGet, path)
		page := body(t, answer.Body)
		nonce := regexp.MustCompile(`name="nonce" content="(\w{26})"`).FindStringSubmatch(page)
		require.Len(t, nonce, 2)
		policy := answer.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "style-src 'self' 'nonce-"+nonce[1]+"'")
		require.NotContains(t, policy, "unsafe")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
		require.NotContains(t, body(t, get(t, pages, http.MethodGet, path).Body), nonce[1], "each answer has another nonce")

		loaded := map[string]bool{}
		for _, match := range regexp.MustCompile(`(?:href|src)="/(assets/console/[^"]+)"`).FindAllStringSubmatch(page, -1) {
			load(t, files, match[1], loaded)
		}
		size := 0
		for name := range loaded {
			content, err := fs.ReadFile(files, name)
			require.NoError(t, err)
			var packed bytes.Buffer
			w, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
			require.NoError(t, err)
			_, err = w.Write(content)
			require.NoError(t, err)
			require.NoError(t, w.Close())
			size += packed.Len()
			require.Contains(t, get(t, pages, http.MethodGet, "/"+name).Header.Get("Cache-Control"), "immutable")
		}
		t.Logf("%s: %d files, %d bytes", path, len(loaded), size)
		require.Less(t, size, maxSignIn)
	}
}

// load adds a file and the files that it imports at once, other than those of import().
func load(t *testing.T, files fs.FS, name string, loaded map[string]bool) {
	t.Helper()
	if loaded[name] {
		return
	}
	loaded[name] = true
	content, err := fs.ReadFile(files, name)
	require.NoError(t, err)
	for _, match := range regexp.MustCompile(`(?:from|import)"\./(part-\w+\.js)"`).FindAllStringSubmatch(string(content), -1) {
		load(t, files, "assets/console/"+match[1], loaded)
	}
}
