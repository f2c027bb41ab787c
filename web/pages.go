package web

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"
)

// policy is the Content-Security-Policy of every page: scripts, styles and data come from this
// server, nothing is inline, and other origins can't frame the page.
const policy = "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'self'; object-src 'none'"

// brandPolicy is the policy of pages with a tenant's logo, which may come from any host.
const brandPolicy = policy + "; img-src 'self' http: https:"

// roomPolicy is the room page's policy. A room's SFU, and the playlist of a stream that a room can't
// show, may be on another node than the page. The room's own video has no URL.
const roomPolicy = brandPolicy + "; connect-src 'self' ws: wss: https:; media-src 'self' blob: https:"

// playerPolicy returns the player page's policy. Streams, and the pictures on the seek bar, come from any https host. The media
// element plays streams as blob:, and hls.js gives each track of captions an empty file as data:. The controls' style elements
// are allowed by the hashes that build.mjs has written.
func playerPolicy(files fs.FS) string {
	list := brandPolicy + "; connect-src 'self' https:; media-src 'self' https: blob: data:"
	if styles, err := fs.ReadFile(files, "player-styles.txt"); err == nil {
		list += "; style-src 'self' " + string(styles)
	}

	return list
}

// shopPolicy is the shopping page's policy. Pictures of products, and a show's video, may come from any host; the SFU and the
// realtime channel may be on another node.
const shopPolicy = brandPolicy + "; connect-src 'self' ws: wss: https:; media-src 'self' blob: https:"

// The devices that pages may ask for: none, except for the microphone, camera and screen of rooms and of the studio.
const (
	noDevices   = "camera=(), microphone=(), display-capture=(), geolocation=()"
	roomDevices = "camera=(self), microphone=(self), display-capture=(self), autoplay=(self), fullscreen=(self), geolocation=()"
)

// playerPath is the path of the page that plays one playback URL.
const playerPath = "/player"

// roomPath is the path of the page for joining a session.
const roomPath = "/scenarios/conference/"

// shopPath is the path of the page for live shows and their replays.
const shopPath = "/scenarios/shopping/"

// studioPath is the path of the page with which a host runs a show.
const studioPath = "/scenarios/studio/"

// missingPath is the key of the page that answers all other paths. No request has it.
const missingPath = "404"

// Pages serves the embedded pages: "/", "/docs", "/player", the room's page, the shows' page, the pages for links in
// mails and after payments, the development mailbox, their files below "/assets/", and the icon that
// browsers request for documents without a page. All other paths are answered with 404 and a page.
type Pages struct {
	source fs.FS
	files  map[string]page // by request path
	// heads finds the heads of pages with a tenant's brand; nil for none.
	heads Heads
}

// page describes a file. Its content is read from the source for each request: embedded files are part of the binary, so a
// copy in memory would be the second one.
type page struct {
	name    string // its extension gives the content type
	gzipped bool   // there is a compressed file; false if compression saves nothing
	etag    string
	policy  string // empty for assets
	devices string // empty for assets
	headed  bool   // it has headMarker
	console bool   // it has nonceMarker
	hashed  bool   // its name contains a hash of its content
}

// NewPages serves the embedded files, or those of another folder with the same layout, whose open files must implement
// io.Seeker. Pages that were not built are left out. The files must not change afterwards.
func NewPages(files fs.FS) (*Pages, error) {
	pages := &Pages{source: files, files: map[string]page{}}
	if err := pages.findAssets(); err != nil {
		return nil, err
	}

	for _, p := range []struct{ path, name, policy string }{
		{"/", "index.html", policy},
		// The viewer's stylesheet contains its icons as data: images.
		{"/docs", "docs.html", policy + "; img-src 'self' data:"},
		{playerPath, "player.html", playerPolicy(files)},
		{"/accept-invite", "accept-invite.html", policy},
		{"/reset-password", "reset-password.html", policy},
		{"/purchase", "purchase.html", brandPolicy},
		{"/mailbox", "mailbox.html", policy},
		{missingPath, "404.html", policy},
		{roomPath, "conference.html", roomPolicy},
		{shopPath, "shopping.html", shopPolicy},
		{studioPath, "studio.html", shopPolicy},
		{consolePath, "console.html", consolePolicy},
		{adminPath, "admin.html", consolePolicy},
	} {
		served, err := pages.newPage(p.name, p.policy)
		if errors.Is(err, fs.ErrNotExist) {
			continue // not built
		}
		if err != nil {
			return nil, err
		}
		served.devices = noDevices
		served.console = p.path == consolePath || p.path == adminPath
		if p.path == roomPath || p.path == studioPath {
			served.devices = roomDevices
		}
		pages.files[p.path] = served
	}

	return pages, nil
}

// Paths returns the routes to mount; a trailing "*" stands for the rest. The mailbox is not
// among them, because only callers on this machine may open it.
func Paths() []string {
	return []string{
		"/", "/docs", playerPath, "/accept-invite", "/reset-password", "/purchase", roomPath, strings.TrimSuffix(roomPath, "/"),
		shopPath, strings.TrimSuffix(shopPath, "/"), studioPath, strings.TrimSuffix(studioPath, "/"),
		consolePath, consolePath + "/*", adminPath, adminPath + "/*", "/assets/*", "/favicon.ico",
	}
}

// Built reports whether the pages were built.
func (p *Pages) Built() bool {
	return len(p.files) > 0
}

func (p *Pages) findAssets() error {
	names, err := fs.Glob(p.source, "assets/*.*")
	if err != nil {
		return fmt.Errorf("list assets: %w", err)
	}
	hashed, err := fs.Glob(p.source, hashedFolder+"*")
	if err != nil {
		return fmt.Errorf("list assets of consoles: %w", err)
	}
	names = append(names, hashed...)

	for _, name := range names {
		if path.Ext(name) == ".gz" {
			continue
		}
		asset, err := p.newPage(name, "")
		if err != nil {
			return err
		}
		asset.gzipped = slices.Contains(names, name+".gz")
		asset.hashed = strings.HasPrefix(name, hashedFolder)
		p.files["/"+name] = asset
	}
	if icon, ok := p.files["/assets/favicon.svg"]; ok {
		p.files["/favicon.ico"] = icon
	}

	return nil
}

// newPage describes a file. Its ETag is a hash of the content.
func (p *Pages) newPage(name, policy string) (page, error) {
	const tagBytes = 8
	file, err := p.source.Open(name)
	if err != nil {
		return page{}, fmt.Errorf("open page: %w", err)
	}
	defer file.Close()
	if _, ok := file.(io.ReadSeekCloser); !ok {
		return page{}, fmt.Errorf("open page %s: can't be read from any position", name)
	}
	hash := sha256.New()
	var text bytes.Buffer
	to := io.Writer(hash)
	if policy != "" {
		to = io.MultiWriter(hash, &text)
	}
	if _, err := io.Copy(to, file); err != nil {
		return page{}, fmt.Errorf("read page: %w", err)
	}

	return page{
		name: name, etag: hex.EncodeToString(hash.Sum(nil)[:tagBytes]), policy: policy, headed: bytes.Contains(text.Bytes(), []byte(headMarker)),
	}, nil
}

// ServeHTTP answers GET and HEAD. Browsers cache files and revalidate them with each request, so
// that an upgrade takes effect at once. Files of the consoles have a hash in their name and are never revalidated.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, ok := p.files[shellOf(r.URL.Path)]
	if other, isPage := p.files[r.URL.Path+"/"]; isPage && other.policy != "" {
		to := url.URL{Path: r.URL.Path + "/", RawQuery: r.URL.RawQuery}
		http.Redirect(w, r, to.String(), http.StatusMovedPermanently)

		return
	}
	if !ok {
		p.ServeMissing(w, r)

		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)

		return
	}

	if file.console {
		p.serveConsole(w, r, file)

		return
	}
	if file.headed {
		p.serveHeaded(w, r, file)

		return
	}

	name, etag := file.name, file.etag
	if file.gzipped && acceptsGzip(r) {
		name, etag = name+".gz", etag+"-gzip"
	}
	content, ok := p.open(w, name)
	if !ok {
		return
	}
	defer content.Close()
	head := w.Header()
	file.describe(head)
	if file.gzipped {
		head.Set("Vary", "Accept-Encoding")
	}
	if name != file.name {
		head.Set("Content-Encoding", "gzip")
	}
	head.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, content)
}

// open opens a file. If it can't, which doesn't happen with embedded files, it answers 500.
func (p *Pages) open(w http.ResponseWriter, name string) (content io.ReadSeekCloser, ok bool) {
	file, err := p.source.Open(name)
	if err == nil {
		if content, ok = file.(io.ReadSeekCloser); ok {
			return content, true
		}
		_ = file.Close()
	}
	http.Error(w, "internal error", http.StatusInternalServerError)

	return nil, false
}

// describe sets the headers of a file's answer.
func (p *page) describe(head http.Header) {
	head.Set("Content-Type", contentType(p.name))
	head.Set("Cache-Control", "no-cache")
	if p.hashed {
		head.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer") // URLs of pages may contain tokens
	if p.policy != "" {
		head.Set("Content-Security-Policy", p.policy)
		head.Set("Permissions-Policy", p.devices)
	}
}

// ServeMissing answers 404 with a page.
func (p *Pages) ServeMissing(w http.ResponseWriter, r *http.Request) {
	file, ok := p.files[missingPath]
	if !ok {
		http.NotFound(w, r)

		return
	}
	content, ok := p.open(w, file.name)
	if !ok {
		return
	}
	defer content.Close()
	file.describe(w.Header())
	w.WriteHeader(http.StatusNotFound)
	if r.Method != http.MethodHead {
		_, _ = io.Copy(w, content) // an error means that the client has gone
	}
}

// contentType returns the media type of a file. For scripts it doesn't use the system's tables,
// because browsers refuse to run scripts if the entry there is wrong.
func contentType(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	default:
		return mime.TypeByExtension(ext)
	}
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" {
			return strings.TrimSpace(weight) != "q=0"
		}
	}

	return false
}
