package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

// The states of a stream key.
const (
	// KeyActive is the key with which the stream is published.
	KeyActive = "ACTIVE"
	// KeyRotated is a key that the tenant has replaced.
	KeyRotated = "ROTATED"
	// KeyRevoked is a key that an admin has revoked.
	KeyRevoked = "REVOKED"
)

// CodeKeyRevoked is the problem's code for a key that an admin has revoked.
const CodeKeyRevoked = "stream_key_revoked"

// keptKeys is the number of a stream's keys that are kept, the current one included.
const keptKeys = 100

// KeyView is a stream key as admins see it.
type KeyView struct {
	db.StreamKey

	TenantName, StreamName, Status string
	// BlockedUntil is the time until which the key is refused after a forced stop; nil if it isn't.
	BlockedUntil *time.Time
}

// keyStatus returns the state of a key. current: it is the key in the stream's row.
func keyStatus(revokedAt *time.Time, current bool) string {
	switch {
	case revokedAt != nil:
		return KeyRevoked
	case current:
		return KeyActive
	default:
		return KeyRotated
	}
}

// issueKey stores the row of a stream's new key.
func issueKey(ctx context.Context, q *db.Queries, row db.Stream, now time.Time) error {
	err := q.CreateStreamKey(ctx, db.CreateStreamKeyParams{
		ID: id.New(id.StreamKey), TenantID: row.TenantID, StreamID: row.ID, Hash: row.KeyHash, Last4: row.KeyLast4, Now: now,
	})
	if err != nil {
		return fmt.Errorf("create stream key: %w", err)
	}
	return nil
}

// RevokeStreamKey makes servers refuse a key. If an encoder publishes with it, the broadcast ends as after a forced stop. The
// tenant gets a new key with RotateStreamKey. A key that isn't ACTIVE is a conflict.
func (s *Service) RevokeStreamKey(ctx context.Context, actor audit.Actor, keyID, reason string) (v KeyView, err error) {
	err = postgres.InTx(ctx, s.config.Pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.config.Now()
		row, key, err := lockKey(ctx, q, keyID)
		if err != nil {
			return err
		}
		if err := mayRevoke(keyStatus(key.RevokedAt, bytes.Equal(key.Hash, row.KeyHash))); err != nil {
			return err
		}
		if err := s.revoke(ctx, tx, row, key, reason); err != nil {
			return err
		}
		err = audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, TenantID: row.TenantID, Action: "stream.revoke_key", Entity: "stream", EntityID: row.ID, Reason: reason,
			Before: map[string]any{"keyId": key.ID, "keyStatus": KeyActive}, After: map[string]any{"keyId": key.ID, "keyStatus": KeyRevoked},
		})
		if err != nil {
			return err
		}
		views, err := s.keyViews(ctx, q, []string{keyID})
		if err == nil {
			v = views[0]
		}
		return err
	})
	return v, err
}

// mayRevoke returns an error if a key with this status can't be revoked.
func mayRevoke(status string) error {
	switch status {
	case KeyRotated:
		return problem.Conflicting("the tenant has replaced this key, so it is refused already")
	case KeyRevoked:
		return problem.Conflicting("this key is revoked already")
	default:
		return nil
	}
}

// lockKey returns a key and its locked stream.
func lockKey(ctx context.Context, q *db.Queries, keyID string) (row db.Stream, key db.StreamKey, err error) {
	key, err = q.GetStreamKey(ctx, keyID)
	if errors.Is(err, pgx.ErrNoRows) {
		return row, key, problem.Missing("stream key")
	}
	if err != nil {
		return row, key, fmt.Errorf("get stream key: %w", err)
	}
	if row, err = q.LockStream(ctx, key.StreamID); err != nil {
		return row, key, fmt.Errorf("lock stream: %w", err)
	}
	// Read it again under the stream's lock.
	if key, err = q.GetStreamKey(ctx, keyID); err != nil {
		return row, key, fmt.Errorf("get stream key: %w", err)
	}
	return row, key, nil
}

// revoke stores the revocation of the locked stream's current key and ends a broadcast that uses it.
func (s *Service) revoke(ctx context.Context, tx pgx.Tx, row db.Stream, key db.StreamKey, reason string) error {
	q, now := db.New(tx), s.config.Now()
	err := q.RevokeStreamKey(ctx, db.RevokeStreamKeyParams{TenantID: row.TenantID, ID: key.ID, Now: &now, Reason: &reason})
	if err != nil {
		return fmt.Errorf("revoke stream key: %w", err)
	}
	if err := q.SetStreamKeyRevoked(ctx, db.SetStreamKeyRevokedParams{TenantID: row.TenantID, ID: row.ID, Now: now}); err != nil {
		return fmt.Errorf("set stream key revoked: %w", err)
	}
	if row.PublisherID == nil {
		return nil
	}
	p, err := q.GetPublisher(ctx, *row.PublisherID)
	if err != nil {
		return fmt.Errorf("get publisher: %w", err)
	}
	if !publishesWith(p, key) {
		return nil
	}
	if err := s.halt(ctx, tx, row, endStopped); err != nil {
		return err
	}
	postgres.AfterCommit(tx, func() { s.config.Engine.Seal(row.ID) })
	return nil
}

// publishesWith reports whether a publisher uses a stream's current key. The row of one that connected before its key was stored
// has none: it counts as a user of the key.
func publishesWith(p db.Publisher, key db.StreamKey) bool {
	if !usesKey(p.Source) {
		return false
	}
	return p.KeyHash == nil || bytes.Equal(p.KeyHash, key.Hash)
}

// KeyFilter selects stream keys; nil selects all.
type KeyFilter struct {
	TenantID *string
	// Used selects the keys with which an encoder has published, or those with which none has.
	Used *bool
	// Q is searched for in the names and ids of streams and tenants, and compared with the last 4 characters of keys.
	Q *string
}

// Bounds of a search.
const (
	// maxFoundKeys is the number of keys that a search finds at most.
	maxFoundKeys = 1000
	// maxFoundStreams is the number of matching streams up to which their keys are read one by one. Above it, the keys
	// are read from the newest on until there are enough.
	maxFoundStreams = 1000
	// minSearch is the number of characters from which names and ids of streams are searched: indexes need three.
	minSearch = 3
)

// ListAdminStreamKeys returns a page of the keys of all tenants, newest first, and the number of all that match. A search finds
// the newest 1,000 matches.
func (s *Service) ListAdminStreamKeys(ctx context.Context, f KeyFilter, skip int64, limit int32) (list []KeyView, total int64, err error) {
	q := db.New(s.config.Pool)
	var ids []string
	if f.Q != nil {
		if ids, err = findKeys(ctx, q, f); err != nil {
			return nil, 0, fmt.Errorf("find stream keys: %w", err)
		}
		total = int64(len(ids))
		from := min(skip, total)
		ids = ids[from:min(from+int64(limit), total)]
	} else {
		if total, err = countKeys(ctx, q, f); err != nil {
			return nil, 0, fmt.Errorf("count stream keys: %w", err)
		}
		if ids, err = listKeys(ctx, q, f, windowOf(skip, limit, total)); err != nil {
			return nil, 0, fmt.Errorf("list stream keys: %w", err)
		}
	}
	list, err = s.keyViews(ctx, q, ids)
	return list, total, err
}

// countKeys reads the kept numbers.
func countKeys(ctx context.Context, q *db.Queries, f KeyFilter) (int64, error) {
	if f.Used != nil && *f.Used {
		return q.CountStreamKeys(ctx, db.CountStreamKeysParams{Scope: scopeUsedKeys, TenantID: f.TenantID})
	}
	all, err := q.CountStreamKeys(ctx, db.CountStreamKeysParams{Scope: scopeKeys, TenantID: f.TenantID})
	if err != nil || f.Used == nil {
		return all, err
	}
	used, err := q.CountStreamKeys(ctx, db.CountStreamKeysParams{Scope: scopeUsedKeys, TenantID: f.TenantID})
	return max(all-used, 0), err
}

// listKeys returns the ids of a page without a search.
func listKeys(ctx context.Context, q *db.Queries, f KeyFilter, w window) ([]string, error) {
	switch p := (db.ListNewestStreamKeysParams{Skip: w.skip, MaxRows: w.rows}); {
	case w.rows == 0:
		return nil, nil
	case f.TenantID != nil:
		p := db.ListNewestTenantStreamKeysParams{TenantID: *f.TenantID, Used: f.Used, Skip: w.skip, MaxRows: w.rows}
		if w.oldest {
			return q.ListOldestTenantStreamKeys(ctx, db.ListOldestTenantStreamKeysParams(p))
		}
		return q.ListNewestTenantStreamKeys(ctx, p)
	case f.Used == nil && w.oldest:
		return q.ListOldestStreamKeys(ctx, db.ListOldestStreamKeysParams(p))
	case f.Used == nil:
		return q.ListNewestStreamKeys(ctx, p)
	case *f.Used && w.oldest:
		return q.ListOldestUsedStreamKeys(ctx, db.ListOldestUsedStreamKeysParams(p))
	case *f.Used:
		return q.ListNewestUsedStreamKeys(ctx, db.ListNewestUsedStreamKeysParams(p))
	case w.oldest:
		return q.ListOldestUnusedStreamKeys(ctx, db.ListOldestUnusedStreamKeysParams(p))
	default:
		return q.ListNewestUnusedStreamKeys(ctx, db.ListNewestUnusedStreamKeysParams(p))
	}
}

// findKeys returns the ids of the newest keys that match the search.
func findKeys(ctx context.Context, q *db.Queries, f KeyFilter) ([]string, error) {
	pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(*f.Q) + "%"
	var streams []string
	var err error
	if utf8.RuneCountInString(*f.Q) >= minSearch {
		streams, err = q.FindStreamsByText(ctx, db.FindStreamsByTextParams{Q: pattern, TenantID: f.TenantID, MaxRows: maxFoundStreams + 1})
		if err != nil {
			return nil, err
		}
	}
	if len(streams) > maxFoundStreams {
		return q.FindNewestStreamKeys(ctx, db.FindNewestStreamKeysParams{
			Q: pattern, Last4: *f.Q, TenantID: f.TenantID, Used: f.Used, MaxRows: maxFoundKeys,
		})
	}
	tenants, err := q.FindTenantsByText(ctx, db.FindTenantsByTextParams{Q: pattern, TenantID: f.TenantID, MaxRows: maxFoundStreams})
	if err != nil {
		return nil, err
	}
	return q.FindStreamKeys(ctx, db.FindStreamKeysParams{
		StreamIds: streams, TenantIds: tenants, Last4: *f.Q, TenantID: f.TenantID, Used: f.Used, MaxRows: maxFoundKeys,
	})
}

// keyViews reads keys, newest first.
func (s *Service) keyViews(ctx context.Context, q *db.Queries, ids []string) ([]KeyView, error) {
	rows, err := q.ListStreamKeyViews(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list stream keys: %w", err)
	}
	views := make([]KeyView, len(rows))
	for i, r := range rows {
		views[i] = KeyView{StreamKey: r.StreamKey, TenantName: r.TenantName, StreamName: r.StreamName}
		views[i].Status = keyStatus(r.StreamKey.RevokedAt, r.Current)
		if views[i].Status == KeyActive { // the stop refuses only the key with which the stream is published
			views[i].BlockedUntil = s.BlockedUntil(r.BlockedUntil)
		}
	}
	return views, nil
}
