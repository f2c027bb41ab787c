package tester

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"showfloor/gen/db"
	"showfloor/internal/tenancy"
)

// Request is a complete request to a capture URL.
type Request struct {
	Token string
	// TenantID is the tenant of the token's URL, as Expect returned it.
	TenantID string
	Method   string
	// URL is the request's URL; only path and query are used.
	URL *url.URL
	// Host is the Host header, which isn't in Header.
	Host   string
	Header http.Header
	Body   []byte
	IP     string

	// id is the capture's id. It is assigned before the request is written, because
	// writing may be retried.
	id string
}

// Header is one header of a request or an answer. A value that isn't UTF-8 is in
// base64.
type Header struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Base64 bool   `json:"base64"`
}

// headers lists h sorted by name; the values of a name keep their order.
func headers(h http.Header) []Header {
	list := []Header{}
	for _, name := range slices.Sorted(maps.Keys(h)) {
		for _, value := range h[name] {
			one := Header{Name: name}
			one.Value, one.Base64 = Text([]byte(value))
			list = append(list, one)
		}
	}
	return list
}

// Text returns bytes as text: as they are if they are UTF-8 without NUL, else in
// base64.
func Text(b []byte) (text string, isBase64 bool) {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b), false
	}
	return base64.StdEncoding.EncodeToString(b), true
}

// raw is the header's original value.
func (h Header) raw() (string, error) {
	if !h.Base64 {
		return h.Value, nil
	}
	b, err := base64.StdEncoding.DecodeString(h.Value)
	if err != nil {
		return "", fmt.Errorf("read header %s: %w", h.Name, err)
	}
	return string(b), nil
}

// escapeQuery percent-encodes all bytes that aren't printable ASCII, and leaves
// the rest as it is, valid or not.
func escapeQuery(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Captured is a request as the API shows it to the tenant.
type Captured struct {
	db.Capture

	Headers []Header
}

func newCaptured(row db.Capture) (Captured, error) {
	c := Captured{Capture: row}
	if err := json.Unmarshal(row.Headers, &c.Headers); err != nil {
		return c, fmt.Errorf("read headers of %s: %w", row.ID, err)
	}
	return c, nil
}

// ListCaptures pages through the captures of a URL, newest first. more reports
// that there is another page; a page may end before limit because of pageBytes.
func (s *Service) ListCaptures(
	ctx context.Context, c tenancy.Caller, token string, cursor *string, limit int,
) (list []Captured, more bool, err error) {
	q := db.New(s.config.Pool)
	row, err := q.GetCaptureURL(ctx, db.GetCaptureURLParams{TenantID: c.TenantID, Token: token})
	if err := found(err, "capture URL"); err != nil {
		return nil, false, err
	}
	rows, err := q.ListCaptures(ctx, db.ListCapturesParams{
		TenantID: c.TenantID, CaptureURLID: row.ID, Since: s.since(), Cursor: cursor, MaxRows: int32(limit), MaxBytes: pageBytes,
	})
	if err != nil {
		return nil, false, fmt.Errorf("list captures: %w", err)
	}
	for _, r := range rows {
		one, err := newCaptured(r.Capture)
		if err != nil {
			return nil, false, err
		}
		list, more = append(list, one), r.More
	}
	return list, more, nil
}

// since is the time of the oldest captures that are still kept.
func (s *Service) since() time.Time { return s.config.Now().Add(-keep) }
