package account

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
)

// ListTeam pages through the tenant's users and invitations, newest first.
func (s *Service) ListTeam(ctx context.Context, c tenancy.Caller, cursor *string, limit int) ([]db.TeamMember, error) {
	rows, err := db.New(s.pool).ListTeamMembers(ctx, db.ListTeamMembersParams{TenantID: c.TenantID, Cursor: cursor, MaxRows: int32(limit)})
	if err != nil {
		return nil, fmt.Errorf("list team members: %w", err)
	}
	return rows, nil
}

// ChangeTeamMemberRole gives a user or an invitation another role. It ends the
// user's tokens, which contain the old role. It has no effect if the member has
// the role already.
func (s *Service) ChangeTeamMemberRole(ctx context.Context, c tenancy.Caller, memberID string, to tenancy.Role) (db.TeamMember, error) {
	var row db.TeamMember
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		member, err := lockMember(ctx, q, c, memberID, to)
		if err != nil || tenancy.Role(member.Role) == to {
			row = member
			return err
		}
		if row, err = setMemberRole(ctx, q, member, to, now); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.change_role", Entity: entityUser, EntityID: memberID,
			Before: map[string]any{"role": member.Role}, After: map[string]any{"role": row.Role},
		})
	})
	s.cache.clear()
	return row, err
}

func setMemberRole(ctx context.Context, q *db.Queries, m db.TeamMember, to tenancy.Role, now time.Time) (db.TeamMember, error) {
	if m.Status == userInvited {
		row, err := q.SetInvitationRole(ctx, db.SetInvitationRoleParams{TenantID: m.TenantID, ID: m.ID, Role: string(to), Now: now})
		if err != nil {
			return m, fmt.Errorf("set invitation role: %w", err)
		}
		return memberOfInvitation(row), nil
	}
	row, err := q.SetUserRole(ctx, db.SetUserRoleParams{TenantID: m.TenantID, ID: m.ID, Role: string(to), Now: now})
	if err != nil {
		return m, fmt.Errorf("set user role: %w", err)
	}
	return MemberOfUser(row), nil
}

// RemoveTeamMember deletes a user and so ends its tokens, or withdraws an
// invitation. API keys that the user created belong to the tenant and stay.
func (s *Service) RemoveTeamMember(ctx context.Context, c tenancy.Caller, memberID string) (db.TeamMember, error) {
	var row db.TeamMember
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		var err error
		if row, err = lockMember(ctx, q, c, memberID, ""); err != nil {
			return err
		}
		if err := compliance.RefuseHeldTx(ctx, tx, c.TenantID); err != nil {
			return err
		}
		if err := s.deleteMember(ctx, tx, row); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.remove", Entity: entityUser, EntityID: memberID,
			Before: memberView(row),
		})
	})
	s.cache.clear()
	return row, err
}

// deleteMember deletes the user, with its logins and its second factor, or the invitation.
func (s *Service) deleteMember(ctx context.Context, tx pgx.Tx, m db.TeamMember) error {
	q := db.New(tx)
	if m.Status == userInvited {
		if err := q.DeleteInvitation(ctx, db.DeleteInvitationParams{TenantID: m.TenantID, ID: m.ID}); err != nil {
			return fmt.Errorf("delete invitation: %w", err)
		}
		return nil
	}
	if err := q.DeleteUser(ctx, db.DeleteUserParams{TenantID: m.TenantID, ID: m.ID}); err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	return errors.Join(s.signIns.ForgetTx(ctx, tx, m.ID), s.factors.ForgetTx(ctx, tx, m.ID))
}

// lockMember locks the tenant, so that two owners can't remove each other
// concurrently, and then the user or invitation. It refuses a change that the
// caller may not make: to is the member's new role, or "" to remove the member.
func lockMember(ctx context.Context, q *db.Queries, c tenancy.Caller, memberID string, to tenancy.Role) (db.TeamMember, error) {
	if _, err := q.LockTenant(ctx, c.TenantID); err != nil {
		return db.TeamMember{}, fmt.Errorf("lock tenant: %w", err)
	}
	member, err := lockMemberRow(ctx, q, c.TenantID, memberID)
	if errors.Is(err, pgx.ErrNoRows) {
		return member, problem.Missing("team member")
	}
	if err != nil {
		return member, err
	}
	if err := checkRoleChange(c.Role, tenancy.Role(member.Role), to); err != nil {
		return member, err
	}
	owners, err := q.CountActiveOwners(ctx, c.TenantID)
	if err != nil {
		return member, fmt.Errorf("count owners: %w", err)
	}
	return member, checkOwnersLeft(tenancy.Role(member.Role), member.Status, to, owners)
}

// lockMemberRow locks the user or the invitation with this id. If there is
// neither, the error is pgx.ErrNoRows.
func lockMemberRow(ctx context.Context, q *db.Queries, tenantID, memberID string) (db.TeamMember, error) {
	user, err := q.LockUser(ctx, db.LockUserParams{TenantID: tenantID, ID: memberID})
	if err == nil {
		return MemberOfUser(user), nil
	}
	if !errors.Is(err, pgx.ErrNoRows) {
		return db.TeamMember{}, fmt.Errorf("lock user: %w", err)
	}
	invitation, err := q.LockInvitation(ctx, db.LockInvitationParams{TenantID: tenantID, ID: memberID})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return db.TeamMember{}, fmt.Errorf("lock invitation: %w", err)
	}
	return memberOfInvitation(invitation), err
}
