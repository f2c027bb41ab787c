package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/compliance"
)

// entityUser is the entity of a user in the audit log.
const entityUser = "user"

// PlatformUser is a user or an invitation with the name of its tenant.
type PlatformUser struct {
	db.TeamMember
	TenantName string
}

// ActivateUser reactivates a deactivated user, for a platform admin. It has no
// effect on an active user.
func (s *Service) ActivateUser(ctx context.Context, actor audit.Actor, userID string) (PlatformUser, error) {
	return s.changeUser(ctx, userID, func(tx pgx.Tx, u db.TeamMember) error {
		if u.Status == userActive {
			return nil
		}
		if u.Status == userInvited {
			return errInvited()
		}
		return s.setUserStatus(ctx, db.New(tx), actor, u, userActive, "user.activate")
	})
}

// DeactivateUser prevents a user from logging in and ends the user's tokens, for a
// platform admin. It has no effect on a deactivated user.
func (s *Service) DeactivateUser(ctx context.Context, actor audit.Actor, userID string) (PlatformUser, error) {
	return s.changeUser(ctx, userID, func(tx pgx.Tx, u db.TeamMember) error {
		if u.Status == userDeactivated {
			return nil
		}
		if u.Status == userInvited {
			return errInvited()
		}
		if err := s.checkLeaves(ctx, db.New(tx), u); err != nil {
			return err
		}
		return s.setUserStatus(ctx, db.New(tx), actor, u, userDeactivated, "user.deactivate")
	})
}

// DeleteUser deletes a user and so ends its tokens, for a platform admin. API keys
// that the user created belong to the tenant and stay valid.
func (s *Service) DeleteUser(ctx context.Context, actor audit.Actor, userID string) (PlatformUser, error) {
	var gone PlatformUser
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		var err error
		if gone, err = lockPlatformUser(ctx, q, userID); err != nil {
			return err
		}
		if err := s.checkLeaves(ctx, q, gone.TeamMember); err != nil {
			return err
		}
		if err := compliance.RefuseHeldTx(ctx, tx, gone.TenantID); err != nil {
			return err
		}
		if err := s.deleteMember(ctx, tx, gone.TeamMember); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, s.now(), audit.Entry{
			Actor: actor, TenantID: gone.TenantID, Action: "user.delete", Entity: entityUser, EntityID: userID,
			Before: memberView(gone.TeamMember),
		})
	})
	s.cache.clear()
	return gone, err
}

// ResetUserPassword voids a user's password, ends the user's tokens and mails a
// link to set a new one, for a platform admin.
func (s *Service) ResetUserPassword(ctx context.Context, actor audit.Actor, userID string) (PlatformUser, error) {
	if err := s.mails.Require(); err != nil {
		return PlatformUser{}, err
	}
	return s.changeUser(ctx, userID, func(tx pgx.Tx, u db.TeamMember) error {
		if u.Status != userActive {
			return problem.Conflicting("this user cannot log in; resetting the password does not change that")
		}
		q, now := db.New(tx), s.now()
		// The empty hash matches no password.
		user, err := q.SetUserPassword(ctx, db.SetUserPasswordParams{TenantID: u.TenantID, ID: u.ID, PasswordHash: "", Now: now})
		if err != nil {
			return fmt.Errorf("void password: %w", err)
		}
		expires := now.Add(PasswordLinkLife)
		token, err := s.putPasswordLink(ctx, q, user, actor.RequestID, expires)
		if err != nil {
			return err
		}
		if err := s.mails.PostTx(ctx, tx, voidedLetter(user, s.pageLink("/reset-password", token), expires)); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: actor, TenantID: u.TenantID, Action: "user.void_password", Entity: entityUser, EntityID: u.ID,
		})
	})
}

// checkLeaves refuses to remove the last owner.
func (s *Service) checkLeaves(ctx context.Context, q *db.Queries, u db.TeamMember) error {
	owners, err := q.CountActiveOwners(ctx, u.TenantID)
	if err != nil {
		return fmt.Errorf("count owners: %w", err)
	}
	return checkOwnersLeft(tenancy.Role(u.Role), u.Status, "", owners)
}

func (s *Service) setUserStatus(ctx context.Context, q *db.Queries, actor audit.Actor, u db.TeamMember, status, action string) error {
	now := s.now()
	err := q.SetUserStatus(ctx, db.SetUserStatusParams{TenantID: u.TenantID, ID: u.ID, Status: status, Now: now})
	if err != nil {
		return fmt.Errorf("set user status: %w", err)
	}
	return audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: actor, TenantID: u.TenantID, Action: action, Entity: entityUser, EntityID: u.ID,
		Before: map[string]any{"status": u.Status}, After: map[string]any{"status": status},
	})
}

// changeUser runs change on the locked user and returns the changed user.
func (s *Service) changeUser(ctx context.Context, userID string, change func(tx pgx.Tx, u db.TeamMember) error) (PlatformUser, error) {
	var after PlatformUser
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q := db.New(tx)
		before, err := lockPlatformUser(ctx, q, userID)
		if err != nil {
			return err
		}
		if err := change(tx, before.TeamMember); err != nil {
			return err
		}
		after, err = getPlatformUser(ctx, q, userID)
		return err
	})
	s.cache.clear()
	return after, err
}

// lockPlatformUser locks the user's tenant, so that its last two owners can't be
// removed concurrently, and then the user or invitation.
func lockPlatformUser(ctx context.Context, q *db.Queries, userID string) (PlatformUser, error) {
	found, err := getPlatformUser(ctx, q, userID)
	if err != nil {
		return found, err
	}
	if _, err := q.LockTenant(ctx, found.TenantID); err != nil {
		return found, fmt.Errorf("lock tenant: %w", err)
	}
	found.TeamMember, err = lockMemberRow(ctx, q, found.TenantID, userID)
	if errors.Is(err, pgx.ErrNoRows) {
		return found, problem.Missing("user") // deleted meanwhile
	}
	return found, err
}

func getPlatformUser(ctx context.Context, q *db.Queries, userID string) (PlatformUser, error) {
	row, err := q.GetPlatformUser(ctx, userID)
	if errors.Is(err, pgx.ErrNoRows) {
		return PlatformUser{}, problem.Missing("user")
	}
	if err != nil {
		return PlatformUser{}, fmt.Errorf("get user: %w", err)
	}
	return PlatformUser{row.TeamMember, row.TenantName}, nil
}

// memberView is a user or invitation in the audit log.
func memberView(u db.TeamMember) map[string]any {
	return map[string]any{"email": u.Email, "role": u.Role, "status": u.Status}
}

func errInvited() error {
	return problem.Conflicting("this user has not accepted the invitation yet")
}
