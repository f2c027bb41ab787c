package signing

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

const (
	// rotateAfter is the age at which the newest key is replaced.
	rotateAfter = 90 * 24 * time.Hour
	// retireAfter is how long a replaced key is accepted. Its last token lives for
	// MaxLife. But a code key of the same row signs viewer sessions, which live as long
	// as their broadcast, and a channel may broadcast for weeks.
	retireAfter = 31 * 24 * time.Hour
)

// ensureFirst creates the first key of a database. If several processes start on it at
// the same time, one of them creates the key.
func (k *Keys) ensureFirst(ctx context.Context) error {
	return k.change(ctx, func(q *db.Queries, live []db.SigningKey) error {
		if len(live) > 0 {
			return nil
		}
		_, err := k.create(ctx, q)
		return err
	})
}

// Rotate creates a new key, which signs from now on; tokens of the old keys stay valid
// until they expire. The key is in the database before it signs, and processes that
// don't know it read it there, so no token is refused.
func (k *Keys) Rotate(ctx context.Context, actor audit.Actor) (made db.SigningKey, err error) {
	err = k.change(ctx, func(q *db.Queries, live []db.SigningKey) error {
		made, err = k.replace(ctx, q, actor, live)
		return err
	})
	return made, k.reload(ctx, err)
}

// RotateDue rotates if the newest key is old enough, and retires keys without valid
// tokens. It may run at any time, in several processes.
func (k *Keys) RotateDue(ctx context.Context) error {
	actor := audit.System("keys")
	err := k.change(ctx, func(q *db.Queries, live []db.SigningKey) error {
		now := k.config.Now()
		if len(live) == 0 || now.Sub(live[0].CreatedAt) >= rotateAfter {
			if _, err := k.replace(ctx, q, actor, live); err != nil {
				return err
			}
		}
		before := now.Add(-retireAfter)
		retired, err := q.RetireSigningKeys(ctx, db.RetireSigningKeysParams{Now: &now, Before: before})
		if err != nil {
			return fmt.Errorf("retire signing keys: %w", err)
		}
		for _, kid := range retired {
			if err := k.note(ctx, q, actor, "signing_key.retire", kid, "", nil); err != nil {
				return err
			}
		}
		return nil
	})
	return k.reload(ctx, err)
}

// Revoke revokes a key and every token that it signed, in all processes within two
// seconds. If it is the key that signs, Revoke creates a new one and returns its kid.
func (k *Keys) Revoke(ctx context.Context, actor audit.Actor, kid, reason string) (successor string, err error) {
	err = k.change(ctx, func(q *db.Queries, live []db.SigningKey) error {
		successor = ""
		now := k.config.Now()
		at := slices.IndexFunc(live, func(row db.SigningKey) bool { return row.ID == kid })
		if at < 0 {
			return problem.Missing("signing key that is in use")
		}
		if at == 0 {
			made, err := k.replace(ctx, q, actor, live)
			if err != nil {
				return err
			}
			successor = made.ID
		}
		if err := q.RevokeSigningKey(ctx, db.RevokeSigningKeyParams{ID: kid, Now: &now}); err != nil {
			return fmt.Errorf("revoke signing key: %w", err)
		}
		return k.note(ctx, q, actor, "signing_key.revoke", kid, reason, nil)
	})
	return successor, k.reload(ctx, err)
}

// List returns all keys, newest first, including retired ones.
func (k *Keys) List(ctx context.Context) ([]db.SigningKey, error) {
	rows, err := db.New(k.config.Pool).ListAllSigningKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list signing keys: %w", err)
	}
	return rows, nil
}

// change runs fn in a transaction with the keys that aren't retired, newest first, and
// excludes other changes. It must be able to decrypt all of them: a key that was sealed
// with a different master key would stop every server.
func (k *Keys) change(ctx context.Context, fn func(q *db.Queries, live []db.SigningKey) error) error {
	return postgres.InTx(ctx, k.config.Pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockSigningKeys(ctx); err != nil {
			return fmt.Errorf("lock signing keys: %w", err)
		}
		live, err := q.ListSigningKeys(ctx)
		if err != nil {
			return fmt.Errorf("list signing keys: %w", err)
		}
		for _, row := range live {
			if _, err := k.open(row); err != nil {
				return err
			}
		}
		return fn(q, live)
	})
}

// replace creates the key that signs next.
func (k *Keys) replace(ctx context.Context, q *db.Queries, actor audit.Actor, live []db.SigningKey) (db.SigningKey, error) {
	made, err := k.create(ctx, q)
	if err != nil {
		return made, err
	}
	var before any
	if len(live) > 0 {
		before = map[string]any{"signingKeyId": live[0].ID}
	}
	return made, k.note(ctx, q, actor, "signing_key.rotate", made.ID, "", before)
}

func (k *Keys) create(ctx context.Context, q *db.Queries) (db.SigningKey, error) {
	seed := make([]byte, ed25519.SeedSize)
	rand.Read(seed) // never fails
	kid := id.New(id.SigningKey)
	row, err := q.CreateSigningKey(ctx, db.CreateSigningKeyParams{
		ID: kid, PrivateKey: k.config.Box.Seal(seed, sealContext(kid)), Now: k.config.Now(),
	})
	if err != nil {
		return row, fmt.Errorf("create signing key: %w", err)
	}
	return row, nil
}

func (k *Keys) note(ctx context.Context, q *db.Queries, actor audit.Actor, action, kid, reason string, before any) error {
	return audit.WriteTx(ctx, q, k.config.Now(), audit.Entry{
		Actor: actor, Action: action, Entity: "signing_key", EntityID: kid, Reason: reason, Before: before,
	})
}

// reload reads the keys after a change, so that this process uses them at once.
func (k *Keys) reload(ctx context.Context, err error) error {
	if err != nil {
		return err
	}
	return k.load(ctx)
}
