// Package rtmpurl parses the addresses of RTMP servers that hold a stream key, and keeps them out of texts.
package rtmpurl

import (
	"errors"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Address is a parsed address. It holds the stream key, so its text form is empty of everything.
type Address struct {
	// Host is the server's name or IP address with a port.
	Host string
	// Secure means RTMPS.
	Secure bool
	// App is the application, which may hold slashes.
	App string
	// URL is the address up to and including App.
	URL string
	// Key is the stream's name with its query.
	Key string
}

// Errors of Parse. They hold no part of the address.
var (
	ErrScheme = errors.New("must begin with rtmp:// or rtmps://")
	ErrUser   = errors.New("must not hold a user name or password: write the stream key behind the application")
	ErrHost   = errors.New("must name a host, an application and a stream key, such as rtmps://live.example.com/app/key")
)

// Parse parses rtmp[s]://host[:port]/app[/instance]/key[?query]. The key is what follows the last slash before the query. Nothing is
// decoded, because servers compare keys as text.
func Parse(raw string) (Address, error) {
	scheme, rest, ok := strings.Cut(raw, "://")
	scheme = strings.ToLower(scheme)
	if !ok || scheme != "rtmp" && scheme != "rtmps" {
		return Address{}, ErrScheme
	}
	authority, path, ok := strings.Cut(rest, "/")
	if strings.Contains(authority, "@") {
		return Address{}, ErrUser
	}
	u, err := url.Parse(scheme + "://" + authority)
	if err != nil || u.Hostname() == "" || u.Host != authority || !ok || path == "" {
		return Address{}, ErrHost
	}
	app, key := path, ""
	before, query := cutQuery(path)
	if i := strings.LastIndexByte(before, '/'); i >= 0 {
		app, key = before[:i], before[i+1:]+query
	}
	if strings.Trim(app, "/") == "" {
		return Address{}, ErrHost
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"rtmp": "1935", "rtmps": "443"}[scheme]
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return Address{}, ErrHost
	}
	return Address{
		Host: net.JoinHostPort(u.Hostname(), port), Secure: scheme == "rtmps",
		App: app, URL: scheme + "://" + authority + "/" + app, Key: key,
	}, nil
}

// cutQuery cuts a path before its question mark, which stays with the query.
func cutQuery(path string) (before, query string) {
	if i := strings.IndexByte(path, '?'); i >= 0 {
		return path[:i], path[i:]
	}
	return path, ""
}

// Name returns the server's name or IP address without the port.
func (a Address) Name() string {
	name, _, err := net.SplitHostPort(a.Host)
	if err != nil {
		return ""
	}
	return name
}

// hidden stands for an address in texts.
const hidden = "(secret)"

// String keeps the address out of texts.
func (Address) String() string { return hidden }

// GoString keeps the address out of texts.
func (Address) GoString() string { return hidden }

// MarshalText keeps the address out of JSON and logs.
func (Address) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// Redact removes the parts of the address from a text of the server.
func (a Address) Redact(text string) string {
	for _, secret := range a.secrets() {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

// shortest is the length of the shortest part of a path or query that is hidden: shorter ones are in many words.
const shortest = 4

// secrets returns the parts of the address that must not be shown, the longest first: the whole key, the path behind the application's
// name, its parts, and the names and values of the query, as they are and decoded.
func (a Address) secrets() []string {
	bare, _ := cutQuery(a.Key)
	list := []string{a.URL + "/" + a.Key, a.App + "/" + a.Key, a.Key, bare}
	name := strings.IndexAny(a.App, "/?")
	if name < 0 {
		name = len(a.App)
	}
	rest := a.App[name:]
	parts := strings.FieldsFunc(rest+"/"+a.Key, func(r rune) bool { return strings.ContainsRune("/?&=", r) })
	parts = append(parts, strings.TrimLeft(rest, "/?"))
	if a.Key == "" {
		parts = append(parts, a.App[:name]) // perhaps it is the key
	}
	for _, part := range parts {
		if len(part) >= shortest {
			list = append(list, part)
		}
	}
	for _, one := range list {
		if decoded, err := url.PathUnescape(one); err == nil {
			list = append(list, decoded)
		}
	}
	var secrets []string
	for _, s := range append(list, a.URL, a.Host, a.Name()) {
		if s != "" {
			secrets = append(secrets, s)
		}
	}
	slices.SortStableFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}
