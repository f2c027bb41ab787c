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
	"showfloor/internal/account"
)

// Request is a request to a capture URL, whole.
type Request struct {
	Token string
	// TenantID is whose URL the token opens, as Expect returned it.
	TenantID string
	Method   string
	// URL is the address as it came; only path and query count.
	URL *url.URL
	// Host is the Host header, which Header hasn't.
	Host   string
	Header http.Header
	Body   []byte
	IP     string

	// id is what it is kept under. It is given before the request is written, which
	// may be tried twice.
	id string
}

// Header is one header of a request or an answer. What is no UTF-8 is in base64.
type Header struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Base64 bool   `json:"base64"`
}

// headers lists h by name, a name's values in their order.
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

// Text is what can be shown of bytes: themselves if they are text, else base64.
func Text(b []byte) (text string, isBase64 bool) {
	if utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 {
		return string(b), false
	}
	return base64.StdEncoding.EncodeToString(b), true
}

// raw is the header's value as it came.
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

// escapeQuery percent-encodes what is no printable ASCII and leaves the rest as
// it came, be it valid or not.
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

// Captured is a request as its tenant sees it.
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

// ListCaptures pages through what a capture URL has kept, newest first. more
// tells that there is another page, which may begin before limit is reached.
func (s *Service) ListCaptures(
	ctx context.Context, c account.Caller, token string, cursor *string, limit int,
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

// since is from when on captures are kept.
func (s *Service) since() time.Time { return s.config.Now().Add(-keep) }
