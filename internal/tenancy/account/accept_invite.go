package account

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
)

// Acceptance is the input of AcceptInvite. Name is nil to keep the name in the
// invitation.
type Acceptance struct {
	Token, Password string
	Name            *string
}

// AcceptInvite turns an invitation into a user with the invitation's id, and logs
// the user in. If another user has taken the address meanwhile, the problem is a
// conflict.
func (s *Service) AcceptInvite(ctx context.Context, a Acceptance, from tenancy.Origin) (Login, error) {
	if err := s.checkInvitation(ctx, a.Token); err != nil {
		return Login{}, err
	}
	hash, err := s.hasher.hash(ctx, a.Password)
	if err != nil {
		return Login{}, err
	}
	var l Login
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		l, err = s.takeInvitation(ctx, tx, a, hash, from)
		return err
	})
	if err != nil {
		return Login{}, err
	}
	return s.withToken(ctx, l)
}

// checkInvitation refuses a bad token before the password is hashed, which is
// expensive.
func (s *Service) checkInvitation(ctx context.Context, token string) error {
	row, err := db.New(s.pool).GetInvitationByToken(ctx, hashToken(token))
	if errors.Is(err, pgx.ErrNoRows) {
		return errInvalidLink()
	}
	if err != nil {
		return fmt.Errorf("get invitation: %w", err)
	}
	if err := checkLinkExpiry(row.Invitation.ExpiresAt, s.now()); err != nil {
		return err
	}
	return tenancy.CheckTenant(row.TenantStatus)
}

// takeInvitation deletes the invitation and creates its user. Of several
// concurrent calls only one finds the invitation.
func (s *Service) takeInvitation(
	ctx context.Context, tx pgx.Tx, a Acceptance, passwordHash string, from tenancy.Origin,
) (Login, error) {
	var l Login
	q, now := db.New(tx), s.now()
	found, err := q.GetInvitationByToken(ctx, hashToken(a.Token))
	if errors.Is(err, pgx.ErrNoRows) {
		return l, errInvalidLink()
	}
	if err != nil {
		return l, fmt.Errorf("get invitation: %w", err)
	}
	if l.Tenant, err = q.LockTenant(ctx, found.Invitation.TenantID); err != nil {
		return l, fmt.Errorf("lock tenant: %w", err)
	}
	if err := tenancy.CheckTenant(l.Tenant.Status); err != nil {
		return l, err
	}
	invited, err := q.TakeInvitation(ctx, db.TakeInvitationParams{TenantID: l.Tenant.ID, TokenHash: hashToken(a.Token)})
	if errors.Is(err, pgx.ErrNoRows) {
		return l, errInvalidLink()
	}
	if err != nil {
		return l, fmt.Errorf("take invitation: %w", err)
	}
	if err := checkLinkExpiry(invited.ExpiresAt, now); err != nil {
		return l, err
	}
	if a.Name != nil {
		invited.Name = *a.Name
	}
	l.User, err = s.createUser(ctx, q, db.CreateUserParams{
		ID: invited.ID, TenantID: invited.TenantID, Email: invited.Email, Name: invited.Name,
		PasswordHash: passwordHash, Role: invited.Role, Now: now,
	})
	if err != nil {
		return l, err
	}
	if l.SignIn, err = s.BeginSignInTx(ctx, tx, l.User, from); err != nil {
		return l, err
	}
	return l, audit.WriteTx(ctx, q, now, audit.Entry{
		Actor: from.User(l.User.ID), TenantID: l.Tenant.ID, Action: "team.accept_invite", Entity: entityUser, EntityID: l.User.ID,
		After: map[string]any{"email": l.User.Email, "role": l.User.Role},
	})
}
