package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// ListTeam pages through the tenant's users, newest first, those who are invited
// included.
func (s *Service) ListTeam(ctx context.Context, c Caller, cursor *string, limit int) ([]db.User, error) {
	rows, err := db.New(s.pool).ListUsers(ctx, db.ListUsersParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	return rows, nil
}

// ChangeTeamMemberRole gives a member another role and ends the member's tokens, which
// carry the old one. Giving the role that the member has changes nothing.
func (s *Service) ChangeTeamMemberRole(ctx context.Context, c Caller, userID string, to Role) (db.User, error) {
	var row db.User
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		member, err := lockMember(ctx, q, c, userID, to)
		if err != nil || Role(member.Role) == to {
			row = member
			return err
		}
		row, err = q.SetUserRole(ctx, db.SetUserRoleParams{TenantID: c.TenantID, ID: userID, Role: string(to), Now: now})
		if err != nil {
			return fmt.Errorf("set user role: %w", err)
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.change_role", Entity: entityUser, EntityID: userID,
			Before: map[string]any{"role": member.Role}, After: map[string]any{"role": row.Role},
		})
	})
	s.cache.clear()
	return row, err
}

// RemoveTeamMember removes a user, whose tokens end with it; the API keys that
// the user made are the tenant's and go on.
func (s *Service) RemoveTeamMember(ctx context.Context, c Caller, userID string) (db.User, error) {
	var row db.User
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		var err error
		if row, err = lockMember(ctx, q, c, userID, ""); err != nil {
			return err
		}
		if err := q.DeleteUser(ctx, db.DeleteUserParams{TenantID: c.TenantID, ID: userID}); err != nil {
			return fmt.Errorf("delete user: %w", err)
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.remove", Entity: entityUser, EntityID: userID,
			Before: userView(row),
		})
	})
	s.cache.clear()
	return row, err
}

// lockMember locks the tenant, so that two owners can't remove each other at
// once, and the member whose role is to become another, or none.
func lockMember(ctx context.Context, q *db.Queries, c Caller, userID string, to Role) (db.User, error) {
	if _, err := q.LockTenant(ctx, c.TenantID); err != nil {
		return db.User{}, fmt.Errorf("lock tenant: %w", err)
	}
	member, err := q.LockUser(ctx, db.LockUserParams{TenantID: c.TenantID, ID: userID})
	if errors.Is(err, pgx.ErrNoRows) {
		return member, problem.Missing("team member")
	}
	if err != nil {
		return member, fmt.Errorf("lock user: %w", err)
	}
	if err := checkRoleChange(c.Role, Role(member.Role), to); err != nil {
		return member, err
	}
	owners, err := q.CountActiveOwners(ctx, c.TenantID)
	if err != nil {
		return member, fmt.Errorf("count owners: %w", err)
	}
	return member, checkOwnersLeft(Role(member.Role), member.Status, to, owners)
}
