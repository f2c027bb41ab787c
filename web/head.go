package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

// headMarker is replaced by the page's title, its Open Graph tags and the tenant's brand. The title before it is shown for an unknown
// address.
const headMarker = "<!--head-->"

// posterMarker is replaced by the show's poster, so that a phone shows it before it has loaded and run the page's scripts.
const posterMarker = "<!--poster-->"

// playerScript is what the shopping page loads early, and livePlayerScript what it loads instead while its show is on air.
const (
	playerScript     = "/assets/hls.mjs"
	livePlayerScript = "/assets/hls-light.mjs"
)

// Address is what a page's URL says about its content. Each field may be any text, or empty.
type Address struct {
	// Room is the id of a stream or of a session, Recording the id of a recording.
	Room, Recording string
	// Playlist is the playback URL that the player page plays, DVR that of the same broadcast's recording.
	Playlist, DVR string
}

// Head describes a page to services that unfold links, names the tenant, and says who may frame the page. Empty fields are left out.
type Head struct {
	Title, Description string
	// Image is the URL of a picture.
	Image string
	// SiteName, LogoURL, ThemeColor and AccentColor are the tenant's brand, colours as #rrggbb.
	SiteName, LogoURL, ThemeColor, AccentColor string
	// FrameOrigins are the websites that may frame the page, such as https://shop.example.
	FrameOrigins []string
	// OnAir says that the page's show is on air: then its scripts request the playback URL at once.
	OnAir bool
}

// Heads returns the head of a page. An unknown address has the zero Head.
type Heads func(ctx context.Context, page Address) Head

// UseHeads sets where the heads of pages come from. It is called before the first request.
func (p *Pages) UseHeads(heads Heads) { p.heads = heads }

// addressOf reads the parts of a page's URL that the page itself uses. Otherwise a link could show one tenant's brand, or allow its
// websites to frame the page, beside another tenant's content.
func addressOf(u *url.URL) Address {
	query := u.Query()
	switch {
	case u.Path == playerPath:
		return Address{Playlist: query.Get("src"), DVR: query.Get("dvr")}
	case u.Path == shopPath && query.Has("vod"):
		return Address{Recording: query.Get("vod")}
	default:
		return Address{Room: query.Get("room")}
	}
}

// serveHeaded answers with a page that has the marker.
func (p *Pages) serveHeaded(w http.ResponseWriter, r *http.Request, file page) {
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
	if address := addressOf(r.URL); p.heads != nil && address != (Address{}) {
		head = p.heads(r.Context(), address)
	}
	before, after, _ := bytes.Cut(text, []byte(headMarker))
	before, title := cutTitle(before)
	text = slices.Concat(before, []byte(head.html(title)), bytes.Replace(after, []byte(posterMarker), []byte(head.poster()), 1))
	if head.OnAir {
		text = bytes.Replace(text, []byte(playerScript), []byte(livePlayerScript), 1)
	}
	file.policy = head.frames(file.policy)
	file.describe(w.Header())
	sum := sha256.Sum256(append([]byte(file.policy), text...))
	w.Header().Set("ETag", `"`+hex.EncodeToString(sum[:8])+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(text))
}

// cutTitle takes the title out of the start of a page.
func cutTitle(start []byte) (rest []byte, title string) {
	before, end, _ := bytes.Cut(start, []byte("<title>"))
	own, after, _ := bytes.Cut(end, []byte("</title>"))

	return slices.Concat(before, bytes.TrimSpace(after)), html.UnescapeString(string(own))
}

// html returns the elements of the head. neutral is the title for a head without one.
func (h Head) html(neutral string) string {
	title := h.Title
	if title == "" {
		title = neutral
	}
	page := title
	if h.SiteName != "" {
		page += " · " + h.SiteName
	}
	lines := []string{"<title>" + html.EscapeString(page) + "</title>"}
	for _, meta := range []struct{ kind, name, content string }{
		{"name", "description", h.Description},
		{"property", "og:type", "website"},
		{"property", "og:title", title},
		{"property", "og:description", h.Description},
		{"property", "og:image", h.Image},
		{"property", "og:site_name", h.SiteName},
		{"name", "theme-color", h.ThemeColor},
		{"name", "brand", h.brand()},
		{"name", "on-air", h.onAir()},
	} {
		if meta.content != "" {
			lines = append(lines, fmt.Sprintf(`<meta %s="%s" content="%s" />`, meta.kind, meta.name, html.EscapeString(meta.content)))
		}
	}

	return strings.Join(lines, "\n    ")
}

func (h Head) onAir() string {
	if h.OnAir {
		return "yes"
	}

	return ""
}

// poster returns the element of the page's picture; an empty text for none.
func (h Head) poster() string {
	if h.Image == "" {
		return ""
	}

	return fmt.Sprintf(`<div class="stage"><img class="poster" src="%s" alt="" fetchpriority="high" referrerpolicy="no-referrer" /></div>`,
		html.EscapeString(h.Image))
}

// brand returns the tenant's brand as JSON with the fields of the API's Brand; an empty text for no tenant.
func (h Head) brand() string {
	if h.SiteName == "" {
		return ""
	}
	orNull := func(s string) *string {
		if s == "" {
			return nil
		}

		return &s
	}
	text, err := json.Marshal(struct {
		Name         string  `json:"name"`
		LogoURL      *string `json:"logoUrl"`
		PrimaryColor *string `json:"primaryColor"`
		AccentColor  *string `json:"accentColor"`
	}{h.SiteName, orNull(h.LogoURL), orNull(h.ThemeColor), orNull(h.AccentColor)})
	if err != nil {
		return "" // texts can always be encoded
	}

	return string(text)
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
