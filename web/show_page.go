package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"html"
	"io"
	"net/http"
	"strings"
	"time"
)

// headMarker is the place in a show's page at which the server writes what services that unfold links read. They run no scripts.
const headMarker = "<!--head-->"

// neutralTitle is the title of a show's page for an unknown id.
const neutralTitle = "Live show"

// Head describes a show to services that unfold links, and says who may frame its page. Empty fields are left out.
type Head struct {
	Title, Description string
	// Image is the URL of a picture.
	Image string
	// SiteName is the tenant's name, ThemeColor its colour as #rrggbb.
	SiteName, ThemeColor string
	// FrameOrigins are the websites that may frame the page, such as https://shop.example.
	FrameOrigins []string
}

// Heads returns the head of a show's page. room and vod are the ids in the page's URL; both may be anything. An unknown id has the
// zero Head.
type Heads func(ctx context.Context, room, vod string) Head

// UseHeads sets where the heads of shows' pages come from. It is called before the first request.
func (p *Pages) UseHeads(heads Heads) { p.heads = heads }

// serveShow answers with a page that has the marker.
func (p *Pages) serveShow(w http.ResponseWriter, r *http.Request, file page) {
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
	var head Head
	if query := r.URL.Query(); p.heads != nil {
		head = p.heads(r.Context(), query.Get("room"), query.Get("vod"))
	}
	text = bytes.Replace(text, []byte(headMarker), []byte(head.html(bytes.Contains(text, []byte("<title>")))), 1)
	file.policy = head.frames(file.policy)
	file.describe(w.Header())
	sum := sha256.Sum256(append([]byte(file.policy), text...))
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// html returns the elements of the head, without a title if the page has one.
func (h Head) html(titled bool) string {
	title := h.Title
	if title == "" {
		title = neutralTitle
	}
	page := title
	if h.SiteName != "" {
		page += " · " + h.SiteName
	}
	var lines []string
	if !titled {
		lines = append(lines, "<title>"+html.EscapeString(page)+"</title>")
	}
	for _, meta := range []struct{ kind, name, content string }{
		{"name", "description", h.Description},
		{"property", "og:type", "website"},
		{"property", "og:title", title},
		{"property", "og:description", h.Description},
		{"property", "og:image", h.Image},
		{"property", "og:site_name", h.SiteName},
		{"name", "theme-color", h.ThemeColor},
	} {
		if meta.content != "" {
			lines = append(lines, fmt.Sprintf(`<meta %s="%s" content="%s" />`, meta.kind, meta.name, html.EscapeString(meta.content)))
		}
	}

	return strings.Join(lines, "\n    ")
}

// frames adds the origins to a policy.
func (h Head) frames(policy string) string {
	const self = "frame-ancestors 'self'"
	allowed := []string{self}
	for _, origin := range h.FrameOrigins {
		if !strings.ContainsAny(origin, " \t\r\n;,'\"") { // they would begin another directive
			allowed = append(allowed, origin)
		}
	}

	return strings.Replace(policy, self, strings.Join(allowed, " "), 1)
}
