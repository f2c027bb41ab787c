package web

import (
	"bytes"
	"crypto/rand"
	"io"
	"net/http"
	"strings"
)

// Paths of the consoles. Every path below them is the same page: the page's script shows the screen of the path.
const (
	consolePath = "/console"
	adminPath   = "/admin"
)

// hashedFolder has the scripts and styles of the consoles. The name of each file contains a hash of its content.
const hashedFolder = "assets/console/"

// nonceMarker is replaced by a random text in the consoles' pages and in their policy.
const nonceMarker = "{nonce}"

// consolePolicy is the policy of the consoles. The components write style elements, which need the nonce. Pictures are a tenant's
// logo and posters of recordings, which may come from any host. Streams play in a frame with the player page.
const consolePolicy = "default-src 'self'; style-src 'self' 'nonce-" + nonceMarker + "'; img-src 'self' data: http: https:; " +
	"frame-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"

// shellOf returns the key of the page at a path.
func shellOf(path string) string {
	for _, console := range []string{consolePath, adminPath} {
		if strings.HasPrefix(path, console+"/") {
			return console
		}
	}

	return path
}

// serveConsole answers with a console's page. It has another nonce in each answer, so it is never stored.
func (p *Pages) serveConsole(w http.ResponseWriter, r *http.Request, file page) {
	content, ok := p.open(w, file.name)
	if !ok {
		return
	}
	defer content.Close()
	text, err := io.ReadAll(content)
	if err != nil {
		http.Error(w, "internal error", http.StatusInternalServerError)

		return
	}
	nonce := rand.Text()
	file.policy = strings.ReplaceAll(file.policy, nonceMarker, nonce)
	file.describe(w.Header())
	w.Header().Set("Cache-Control", "no-store")
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(bytes.ReplaceAll(text, []byte(nonceMarker), []byte(nonce))) // an error means that the client has gone
}
