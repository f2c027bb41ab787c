package account

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/secret"
)

// generatedPassword is the length of a password that we make up: 142 bits.
const generatedPassword = 24

// EnsureSuperAdmin makes the first super admin of a new database, with a
// generated password when none is given. Created is false, and nothing is
// changed, when there are admins already.
func (s *Service) EnsureSuperAdmin(ctx context.Context, email, password string) (usedPassword string, created bool, err error) {
	n, err := db.New(s.pool).CountAdmins(ctx)
	if err != nil {
		return "", false, fmt.Errorf("count admins: %w", err)
	}
	if n > 0 {
		return "", false, nil
	}
	if password == "" {
		password = secret.Text(generatedPassword)
	}
	hash, err := s.hasher.hash(ctx, password)
	if err != nil {
		return "", false, err
	}
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		if err := q.LockName(ctx, "admins"); err != nil {
			return fmt.Errorf("lock admins: %w", err)
		}
		if n, err := q.CountAdmins(ctx); err != nil || n > 0 {
			return err
		}
		admin, err := q.CreateAdmin(ctx, db.CreateAdminParams{
			ID: id.New(id.Admin), Email: canonicalEmail(email), PasswordHash: hash, Role: "SUPER_ADMIN", Now: now,
		})
		if err != nil {
			return fmt.Errorf("create admin: %w", err)
		}
		created = true
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: audit.System("setup"), Action: "admin.create", Entity: "admin", EntityID: admin.ID,
			After: map[string]any{"email": admin.Email, "role": admin.Role},
		})
	})
	return password, created, err
}
