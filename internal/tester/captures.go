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
	"showfloor/internal/id"
	"showfloor/internal/problem"
)

// Request is a request to a capture URL, whole.
type Request struct {
	Token  string
	Method string
	// URL is the address as it came; only path and query count.
	URL *url.URL
	// Host is the Host header, which Header hasn't.
	Host   string
	Header http.Header
	Body   []byte
	IP     string
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

// Expect refuses a token that nobody has, so that nothing more is read of what is
// sent to it: strangers can make up tokens without end.
func (s *Service) Expect(ctx context.Context, token string) error {
	known, err := db.New(s.config.Pool).HasCaptureURL(ctx, token)
	if err != nil {
		return fmt.Errorf("look for capture URL: %w", err)
	}
	if !known {
		return problem.Missing("capture URL")
	}
	return nil
}

// maxUnwritten bounds the requests that wait to be written, and with them the
// memory of their bodies: 256 MiB at most while the database doesn't answer.
const maxUnwritten = 256

// Capture keeps a request and returns its id.
func (s *Service) Capture(ctx context.Context, r Request) (captureID string, err error) {
	select {
	case s.unwritten <- struct{}{}:
		defer func() { <-s.unwritten }()
	default:
		return "", problem.Limited(time.Second, "too many requests are being captured at the moment; try again in a second")
	}
	// Also when the sender hangs up: the place is taken until the body is let go.
	captureID, err = s.write.Do(context.WithoutCancel(ctx), r)
	if err != nil {
		return "", err
	}
	if captureID == "" {
		return "", problem.Missing("capture URL")
	}
	return captureID, nil
}

// createCaptures keeps requests; the id is empty for a token that nobody has.
func (s *Service) createCaptures(ctx context.Context, requests []Request) ([]string, error) {
	p, now := db.CreateCapturesParams{Ring: ring}, s.config.Now()
	for _, r := range requests {
		header := r.Header.Clone()
		header.Set("Host", r.Host)
		text, err := json.Marshal(headers(header))
		if err != nil {
			return nil, fmt.Errorf("encode headers: %w", err)
		}
		p.Ids = append(p.Ids, id.New(id.Capture))
		p.Tokens = append(p.Tokens, r.Token)
		p.Methods = append(p.Methods, r.Method)
		p.Paths = append(p.Paths, r.URL.EscapedPath())
		p.Queries = append(p.Queries, escapeQuery(r.URL.RawQuery))
		p.Headers = append(p.Headers, string(text))
		p.Bodies = append(p.Bodies, append([]byte{}, r.Body...)) // never nil, which would be NULL
		p.Ips = append(p.Ips, r.IP)
		p.CapturedAts = append(p.CapturedAts, now)
	}
	kept, err := db.New(s.config.Pool).CreateCaptures(ctx, p)
	if err != nil {
		return nil, fmt.Errorf("create captures: %w", err)
	}
	for i, captureID := range p.Ids {
		if !slices.Contains(kept, captureID) {
			p.Ids[i] = ""
		}
	}
	return p.Ids, nil
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
