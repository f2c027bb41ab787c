package console

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/account"
	"showfloor/internal/tenancy/audit"
)

// generatedPassword is the length of a generated password, in characters: 142 bits.
const generatedPassword = 24

// EnsureSuperAdmin creates the first super admin of a new database. It
// generates a password if none is given. If there are admins already, it
// changes nothing and created is false.
func (s *Service) EnsureSuperAdmin(ctx context.Context, email, password string) (usedPassword string, created bool, err error) {
	n, err := db.New(s.pool).CountAdmins(ctx)
	if err != nil {
		return "", false, fmt.Errorf("count admins: %w", err)
	}
	if n > 0 {
		return "", false, nil
	}
	password, hash, err := s.password(ctx, password)
	if err != nil {
		return "", false, err
	}
	err = s.changeAdmins(ctx, func(q *db.Queries) error {
		if n, err := q.CountAdmins(ctx); err != nil || n > 0 {
			return err
		}
		created = true
		_, err := s.createAdmin(ctx, q, audit.System("setup"), email, hash, platform.SuperAdmin)
		return err
	})
	return password, created, err
}

// CreateAdmin creates an admin. It generates a password if none is given. An
// e-mail address that another admin has is a conflict.
func (s *Service) CreateAdmin(
	ctx context.Context, actor audit.Actor, email string, role platform.Role, password string,
) (admin db.Admin, usedPassword string, err error) {
	if !slices.Contains(platform.Roles(), role) {
		return admin, "", problem.BadField("role", "must be one of %v", platform.Roles())
	}
	password, hash, err := s.password(ctx, password)
	if err != nil {
		return admin, "", err
	}
	err = s.changeAdmins(ctx, func(q *db.Queries) error {
		admin, err = s.createAdmin(ctx, q, actor, email, hash, role)
		return err
	})
	return admin, password, err
}

// ListAdmins lists all admins, oldest first.
func (s *Service) ListAdmins(ctx context.Context) ([]db.Admin, error) {
	rows, err := db.New(s.pool).ListAdmins(ctx)
	if err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	return rows, nil
}

// ResetAdminPassword sets another password and revokes the admin's tokens. It
// generates a password if none is given.
func (s *Service) ResetAdminPassword(ctx context.Context, actor audit.Actor, email, password string) (usedPassword string, err error) {
	password, hash, err := s.password(ctx, password)
	if err != nil {
		return "", err
	}
	err = s.changeAdmins(ctx, func(q *db.Queries) error {
		admin, err := adminByEmail(ctx, q, email)
		if err != nil {
			return err
		}
		now := s.now()
		if _, err := q.SetAdminPassword(ctx, db.SetAdminPasswordParams{ID: admin.ID, PasswordHash: hash, Now: now}); err != nil {
			return fmt.Errorf("set admin password: %w", err)
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, Action: "admin.reset_password", Entity: "admin", EntityID: admin.ID,
		})
	})
	return password, err
}

// RemoveAdmin deletes an admin and thereby revokes the admin's tokens at once.
// The last super admin can't be removed.
func (s *Service) RemoveAdmin(ctx context.Context, actor audit.Actor, email string) error {
	return s.changeAdminsTx(ctx, func(tx pgx.Tx, q *db.Queries) error {
		admin, err := adminByEmail(ctx, q, email)
		if err != nil {
			return err
		}
		if n, err := q.CountOtherSuperAdmins(ctx, admin.ID); err != nil {
			return fmt.Errorf("count super admins: %w", err)
		} else if n == 0 {
			return problem.Conflicting("this is the last %s; make another one first", platform.SuperAdmin)
		}
		if err := q.DeleteAdmin(ctx, admin.ID); err != nil {
			return fmt.Errorf("delete admin: %w", err)
		}
		if err := errors.Join(s.signIns.ForgetTx(ctx, tx, admin.ID), s.factors.ForgetTx(ctx, tx, admin.ID)); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, s.now(), audit.Entry{
			Actor: actor, Action: "admin.remove", Entity: "admin", EntityID: admin.ID, Before: adminView(admin),
		})
	})
}

// changeAdmins runs fn in a transaction that excludes other changes of admins.
func (s *Service) changeAdmins(ctx context.Context, fn func(q *db.Queries) error) error {
	return s.changeAdminsTx(ctx, func(_ pgx.Tx, q *db.Queries) error { return fn(q) })
}

func (s *Service) changeAdminsTx(ctx context.Context, fn func(tx pgx.Tx, q *db.Queries) error) error {
	return postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		if err := q.LockAdmins(ctx); err != nil {
			return fmt.Errorf("lock admins: %w", err)
		}
		return fn(tx, q)
	})
}

func (s *Service) createAdmin(
	ctx context.Context, q *db.Queries, actor audit.Actor, email, hash string, role platform.Role,
) (db.Admin, error) {
	now := s.now()
	admin, err := q.CreateAdmin(ctx, db.CreateAdminParams{
		ID: id.New(id.Admin), Email: account.CanonicalEmail(email), PasswordHash: hash, Role: string(role), Now: now,
	})
	if postgres.IsUnique(err, "admins_email_key") {
		return admin, problem.Conflicting("there is an admin with this e-mail address already")
	}
	if err != nil {
		return admin, fmt.Errorf("create admin: %w", err)
	}
	return admin, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: actor, Action: "admin.create", Entity: "admin", EntityID: admin.ID, After: adminView(admin),
	})
}

// password generates a password if none is given, and hashes it.
func (s *Service) password(ctx context.Context, given string) (password, hash string, err error) {
	if given == "" {
		given = secret.Text(generatedPassword)
	}
	hash, err = s.accounts.HashPassword(ctx, given)
	return given, hash, err
}

func adminByEmail(ctx context.Context, q *db.Queries, email string) (db.Admin, error) {
	admin, err := q.GetAdminByEmail(ctx, account.CanonicalEmail(email))
	if errors.Is(err, pgx.ErrNoRows) {
		return admin, problem.Missing("admin")
	}
	if err != nil {
		return admin, fmt.Errorf("get admin: %w", err)
	}
	return admin, nil
}

func adminView(a db.Admin) map[string]any { return map[string]any{"email": a.Email, "role": a.Role} }
