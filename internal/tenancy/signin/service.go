// Package signin holds the logins of tenants' users and of the platform's admins. Each token that a password or a mailed code has
// issued belongs to one, and ends with it.
package signin

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/gen/db"
	"showfloor/internal/base/batch"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
)

const (
	// MaxPerHolder is how many logins a user or an admin has. A further one ends the oldest.
	MaxPerHolder = 50
	// seenGrain is the precision of last_seen_at. It saves writes.
	seenGrain = 5 * time.Minute
	// seenBatch is how many logins one query marks as seen.
	seenBatch = 500
	// maxUserAgent is the length to which a User-Agent is cut, in characters.
	maxUserAgent = 200
)

// Holder is a user or an admin.
type Holder struct {
	ID string
	// TokenVersion is the version of the holder's tokens. Logins of other versions have ended.
	TokenVersion int32
}

// Service stores the logins.
type Service struct {
	pool *pgxpool.Pool
	now  func() time.Time
	log  *slog.Logger
	seen *batch.Batcher[string, struct{}]
}

// New makes the service.
func New(pool *pgxpool.Pool, log *slog.Logger, now func() time.Time) *Service {
	s := &Service{pool: pool, now: now, log: log}
	s.seen = batch.New(seenBatch, s.touch)
	return s
}

// BeginTx stores a login whose token lives for life. It ends the oldest logins above MaxPerHolder, and deletes those of earlier
// versions. The caller holds a lock of the holder's row.
func (s *Service) BeginTx(ctx context.Context, tx pgx.Tx, h Holder, from tenancy.Origin, life time.Duration) (db.SignIn, error) {
	q, now := db.New(tx), s.now()
	row, err := q.CreateSignIn(ctx, db.CreateSignInParams{
		ID: id.New(id.Token), HolderID: h.ID, TokenVersion: h.TokenVersion, IP: from.IP, UserAgent: cut(from.UserAgent),
		Now: now, ExpiresAt: now.Add(life),
	})
	if err != nil {
		return row, fmt.Errorf("create sign-in: %w", err)
	}
	err = q.DeleteExcessSignIns(ctx, db.DeleteExcessSignInsParams{HolderID: h.ID, TokenVersion: h.TokenVersion, Keep: MaxPerHolder})
	if err != nil {
		return row, fmt.Errorf("delete excess sign-ins: %w", err)
	}
	return row, nil
}

// cut shortens a User-Agent, and replaces bytes that are not UTF-8.
func cut(userAgent string) string {
	runes := []rune(userAgent)
	clean := make([]rune, 0, min(len(runes), maxUserAgent))
	for _, r := range runes[:min(len(runes), maxUserAgent)] {
		if r == 0 {
			r = '\uFFFD' // PostgreSQL stores no NUL
		}
		clean = append(clean, r)
	}
	return string(clean)
}

// Seen notes that a login's token is used. last is its last_seen_at. It writes once per 5 minutes, and concurrent writes share a
// query. A failure is logged: the request goes on.
func (s *Service) Seen(ctx context.Context, signInID string, last time.Time) {
	if s.now().Sub(last) < seenGrain {
		return
	}
	if _, err := s.seen.Do(ctx, signInID); err != nil {
		s.log.WarnContext(ctx, "the use of a login was not noted", "error", err)
	}
}

func (s *Service) touch(ctx context.Context, ids []string) ([]struct{}, error) {
	now := s.now()
	err := db.New(s.pool).TouchSignIns(ctx, db.TouchSignInsParams{Ids: ids, Now: now, Stale: now.Add(-seenGrain)})
	if err != nil {
		return nil, fmt.Errorf("touch sign-ins: %w", err)
	}
	return make([]struct{}, len(ids)), nil
}

// List returns the holder's logins whose tokens are valid, newest first.
func (s *Service) List(ctx context.Context, h Holder) ([]db.SignIn, error) {
	rows, err := db.New(s.pool).ListSignIns(ctx, db.ListSignInsParams{
		HolderID: h.ID, TokenVersion: h.TokenVersion, Now: s.now(), MaxRows: MaxPerHolder,
	})
	if err != nil {
		return nil, fmt.Errorf("list sign-ins: %w", err)
	}
	return rows, nil
}

// EndTx ends one login of the holder. The problem is not_found if the holder has no such login.
func (s *Service) EndTx(ctx context.Context, tx pgx.Tx, holderID, signInID string) (db.SignIn, error) {
	row, err := db.New(tx).DeleteSignIn(ctx, db.DeleteSignInParams{HolderID: holderID, ID: signInID})
	if errors.Is(err, pgx.ErrNoRows) {
		return row, problem.Missing("login")
	}
	if err != nil {
		return row, fmt.Errorf("delete sign-in: %w", err)
	}
	return row, nil
}

// EndOthersTx ends all logins of the holder but one, and returns the ids of those that it ended.
func (s *Service) EndOthersTx(ctx context.Context, tx pgx.Tx, holderID, keptID string) ([]string, error) {
	ids, err := db.New(tx).DeleteOtherSignIns(ctx, db.DeleteOtherSignInsParams{HolderID: holderID, KeptID: keptID})
	if err != nil {
		return nil, fmt.Errorf("delete other sign-ins: %w", err)
	}
	return ids, nil
}

// ForgetTx deletes the logins of a holder who is deleted.
func (s *Service) ForgetTx(ctx context.Context, tx pgx.Tx, holderID string) error {
	if err := db.New(tx).DeleteSignInsOf(ctx, holderID); err != nil {
		return fmt.Errorf("delete sign-ins: %w", err)
	}
	return nil
}

// DeleteOld deletes logins whose tokens have expired.
func (s *Service) DeleteOld(ctx context.Context) error {
	q, now := db.New(s.pool), s.now()
	return postgres.DeleteInBatches(ctx, "sign-ins", func(maxRows int32) (int64, error) {
		return q.DeleteSignInsBefore(ctx, db.DeleteSignInsBeforeParams{Before: now, MaxRows: maxRows})
	})
}

// Gone returns nil for the problem of a login that has ended already, and any other error as it is.
func Gone(err error) error {
	if p, ok := problem.As(err); ok && p.Kind == problem.NotFound {
		return nil
	}
	return err
}
