package tester

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
)

// rowBytes is the size of a capture without its body, headers, path and query.
const rowBytes = 256

// ErrGone marks the refusal of a token whose URL doesn't exist or was deleted more
// than a day ago.
var ErrGone = errors.New("no capture URL has this token, or it was deleted more than a day ago")

// goneAfter is how long after its deletion a capture URL isn't reported as
// ErrGone, so that senders have time to stop.
const goneAfter = 24 * time.Hour

// Expect decides, before the body is read, whether a request may be captured, and
// returns the tenant of the token's URL. length is the body's length in bytes,
// negative if unknown. It refuses unknown tokens and URLs that were deleted more
// than a day ago (ErrGone), URLs that were deleted later, URLs of suspended
// tenants, URLs of tenants whose limit for this minute doesn't allow the body, and
// every request while Config.Refuse returns an error.
func (s *Service) Expect(ctx context.Context, token string, length int64) (tenantID string, err error) {
	if !postgres.Storable(token) {
		token = "" // matches no capture URL
	}
	t, err := db.New(s.config.Pool).GetCaptureTarget(ctx, token)
	now := s.config.Now()
	switch {
	case errors.Is(err, pgx.ErrNoRows) || err == nil && t.DeletedAt != nil && now.Sub(*t.DeletedAt) > goneAfter:
		return "", fmt.Errorf("%w: %w", ErrGone, problem.Missing("capture URL"))
	case err != nil:
		return "", fmt.Errorf("get capture URL: %w", err)
	case t.DeletedAt != nil:
		return "", problem.Missing("capture URL")
	}
	if err := newRoom(db.LockCaptureTargetsRow{
		Token: token, TenantID: t.TenantID, TenantStatus: t.TenantStatus, MaxCaptureBytes: t.MaxCaptureBytes,
		Bytes: t.Bytes, Minute: t.Minute, MinuteBytes: t.MinuteBytes,
	}, now).take(max(length, 0)+rowBytes, now); err != nil {
		return "", err
	}
	return t.TenantID, s.config.Refuse()
}

// Capture stores a request and returns its id. If a tenant's captures exceed its
// plan's limit, the oldest are deleted. Refused with a problem are: unknown URLs,
// URLs of suspended tenants, requests without a place in unwritten, and requests
// above the tenant's limit for this minute; after such a request the tenant's URLs
// accept nothing until the next minute.
func (s *Service) Capture(ctx context.Context, r Request) (captureID string, err error) {
	if !s.unwritten.Take(r.TenantID) {
		return "", problem.Limited(time.Second, "too many requests are being captured at the moment; try again in a second")
	}
	defer s.unwritten.Release(r.TenantID)
	// Without cancellation: if the sender disconnects, the place stays taken until the
	// body's memory is free.
	r.id = id.New(id.Capture)
	k, err := s.write.Do(context.WithoutCancel(ctx), r)
	if err != nil {
		return "", err
	}
	return k.id, k.refusal
}

// kept is the result of a request: its capture's id, or why it was refused.
type kept struct {
	id      string
	refusal error
}

// createCaptures stores requests in one transaction.
func (s *Service) createCaptures(ctx context.Context, requests []Request) ([]kept, error) {
	ctx = postgres.WithHook(ctx, nil) // none of the senders has an Idempotency-Key
	entries, bytes, err := newEntries(requests)
	if err != nil {
		return nil, err
	}
	if err := s.makeRoom(ctx, bytes); err != nil {
		return nil, err
	}
	var list []kept
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		var err error
		list, err = s.createEntries(ctx, db.New(tx), entries)
		return err
	})
	return list, err
}

// createEntries stores the entries that are allowed, and deletes the oldest
// captures of tenants that are above their limit then.
func (s *Service) createEntries(ctx context.Context, q *db.Queries, entries []entry) ([]kept, error) {
	now := s.config.Now()
	p := db.CreateCapturesParams{Ring: ring, Now: now, Minute: now.Truncate(time.Minute)}
	tokens, ids := make([]string, len(entries)), make([]string, len(entries))
	for i, e := range entries {
		tokens[i], ids[i] = e.token, e.id
	}
	targets, err := q.LockCaptureTargets(ctx, tokens)
	if err != nil {
		return nil, fmt.Errorf("lock capture URLs: %w", err)
	}
	// A write that timed out may have committed. Then its requests come again.
	before, err := q.ListKeptCaptures(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list kept captures: %w", err)
	}
	byToken, byTenant := rooms(targets, now)
	list := make([]kept, len(entries))
	for i, e := range entries {
		if slices.Contains(before, e.id) {
			list[i].id = e.id
			continue
		}
		if list[i].refusal = byToken[e.token].take(int64(e.bytes), now); list[i].refusal == nil {
			e.addTo(&p)
		}
	}
	var rows []db.CreateCapturesRow
	if len(p.Ids) > 0 {
		if rows, err = q.CreateCaptures(ctx, p); err != nil {
			return nil, fmt.Errorf("create captures: %w", err)
		}
	}
	if err := closeMinute(ctx, q, p.Minute, byTenant); err != nil {
		return nil, err
	}
	for _, r := range rows {
		if err := dropOldest(ctx, q, r.TenantID, r.Used, byTenant[r.TenantID].most); err != nil {
			return nil, err
		}
	}
	for i, e := range entries {
		switch {
		case list[i].refusal != nil, list[i].id != "":
		case slices.ContainsFunc(rows, func(r db.CreateCapturesRow) bool { return slices.Contains(r.Ids, e.id) }):
			list[i].id = e.id
		default:
			list[i].refusal = problem.Missing("capture URL") // the URL was deleted meanwhile
		}
	}
	return list, nil
}

// closeMinute marks tenants with a request above the limit of this minute, so that
// Expect refuses their next requests before it reads the bodies.
func closeMinute(ctx context.Context, q *db.Queries, minute time.Time, byTenant map[string]*room) error {
	var full []string
	for tenantID, r := range byTenant {
		if r.full {
			full = append(full, tenantID)
		}
	}
	if len(full) == 0 {
		return nil
	}
	p := db.CloseCaptureMinuteParams{Minute: minute, Closed: maxPerMinute, TenantIds: full}
	if err := q.CloseCaptureMinute(ctx, p); err != nil {
		return fmt.Errorf("close the minute of captures: %w", err)
	}
	return nil
}

// entry is a request in its stored form.
type entry struct {
	id, token, method, path, query, headers, ip string
	body                                        []byte
	// bytes is the entry's stored size.
	bytes int32
}

// newEntries converts requests to entries, and returns their total size in bytes.
func newEntries(requests []Request) (entries []entry, bytes int64, err error) {
	for _, r := range requests {
		header := r.Header.Clone()
		header.Set("Host", r.Host)
		text, err := json.Marshal(headers(header))
		if err != nil {
			return nil, 0, fmt.Errorf("encode headers: %w", err)
		}
		e := entry{
			id: r.id, token: r.Token, method: r.Method, path: r.URL.EscapedPath(), query: escapeQuery(r.URL.RawQuery),
			headers: string(text), ip: r.IP, body: append([]byte{}, r.Body...), // never nil, which would be NULL
		}
		e.bytes = int32(len(e.body) + len(e.headers) + len(e.path) + len(e.query) + rowBytes)
		entries, bytes = append(entries, e), bytes+int64(e.bytes)
	}
	return entries, bytes, nil
}

func (e entry) addTo(p *db.CreateCapturesParams) {
	p.Ids, p.Tokens, p.Methods = append(p.Ids, e.id), append(p.Tokens, e.token), append(p.Methods, e.method)
	p.Paths, p.Queries, p.Headers = append(p.Paths, e.path), append(p.Queries, e.query), append(p.Headers, e.headers)
	p.Bodies, p.Ips, p.Bytes = append(p.Bodies, e.body), append(p.Ips, e.ip), append(p.Bytes, e.bytes)
}
