package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/audit"
	"showfloor/internal/id"
	"showfloor/internal/postgres"
	"showfloor/internal/problem"
)

// Invite is whom to invite. Name is nil for the part of the e-mail before the @,
// or, when inviting again, for the name of before.
type Invite struct {
	Email string
	Name  *string
	Role  Role
}

// InviteTeamMember creates a user who can't log in yet and mails the link that
// changes that; inviting again mails another one, and the one before ends.
func (s *Service) InviteTeamMember(ctx context.Context, c Caller, in Invite) (db.User, error) {
	if err := s.mails.Require(); err != nil {
		return db.User{}, err
	}
	if err := checkRoleChange(c.Role, "", in.Role); err != nil {
		return db.User{}, err
	}
	var invited db.User
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		inviter, err := q.GetUser(ctx, db.GetUserParams{TenantID: c.TenantID, ID: c.UserID})
		if err != nil {
			return fmt.Errorf("get inviter: %w", err)
		}
		// The lock makes invitations wait for each other: they are counted.
		tenant, err := q.LockTenant(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		if invited, err = s.putInvited(ctx, q, c, in); err != nil {
			return err
		}
		if err := s.limitInvites(ctx, tx, invited); err != nil {
			return err
		}
		token, err := s.putLink(ctx, q, invited, purposeInvite, c.RequestID, *invited.InviteExpiresAt)
		if err != nil {
			return err
		}
		letter := inviteLetter(invited, inviter.Name, tenant, s.pageLink("/accept-invite", token), *invited.InviteExpiresAt)
		if err := s.mails.Post(ctx, tx, letter); err != nil {
			return err
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.invite", Entity: entityUser, EntityID: invited.ID,
			After: map[string]any{"email": invited.Email, "role": invited.Role},
		})
	})
	return invited, err
}

// Anybody can make a tenant and write what they like into its name and theirs:
// so many invitations are mailed per invitePeriod, and no more.
const (
	invitePeriod        = time.Hour
	maxInvites          = 100
	maxInvitesRecipient = 5
)

// limitInvites refuses an invitation when the tenant has sent too many, or too
// many were sent to this address, be it by whom it may.
func (s *Service) limitInvites(ctx context.Context, tx pgx.Tx, invited db.User) error {
	now := s.now()
	recent, err := s.mails.CountRecent(ctx, tx, inviteKind, invited.TenantID, invited.Email, now.Add(-invitePeriod))
	if err != nil {
		return err
	}
	if recent.OfTenant < maxInvites && recent.ToRecipient < maxInvitesRecipient {
		return nil
	}
	return problem.Limited(recent.Oldest.Add(invitePeriod).Sub(now),
		"too many invitations: a tenant may send %d an hour, and %d an hour can be sent to one address", maxInvites, maxInvitesRecipient)
}

// putInvited creates the invited user, or changes one who was invited before.
func (s *Service) putInvited(ctx context.Context, q *db.Queries, c Caller, in Invite) (db.User, error) {
	email, now := CanonicalEmail(in.Email), s.now()
	expires := now.Add(InviteLife)
	before, err := q.GetUserByEmail(ctx, email)
	if errors.Is(err, pgx.ErrNoRows) {
		name, _, _ := strings.Cut(email, "@")
		if in.Name != nil {
			name = *in.Name
		}
		invited, err := q.CreateInvitedUser(ctx, db.CreateInvitedUserParams{
			ID: id.New(id.User), TenantID: c.TenantID, Email: email, Name: name, Role: string(in.Role), InviteExpiresAt: &expires, Now: now,
		})
		if postgres.IsUnique(err, emailIndex) {
			return invited, errInviteTaken()
		}
		if err != nil {
			return invited, fmt.Errorf("create invited user: %w", err)
		}
		return invited, nil
	}
	if err != nil {
		return before, fmt.Errorf("get user: %w", err)
	}
	if before.TenantID != c.TenantID || before.Status != userInvited {
		return before, errInviteTaken()
	}
	if err := checkRoleChange(c.Role, Role(before.Role), in.Role); err != nil {
		return before, err
	}
	invited, err := q.UpdateInvitedUser(ctx, db.UpdateInvitedUserParams{
		TenantID: c.TenantID, ID: before.ID, Name: in.Name, Role: string(in.Role), InviteExpiresAt: &expires, Now: now,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return invited, errInviteTaken() // has accepted, or was removed, this moment
	}
	if err != nil {
		return invited, fmt.Errorf("update invited user: %w", err)
	}
	return invited, nil
}

func errInviteTaken() error { return errEmailTaken("it belongs to a user already") }

// Acceptance is what an invited user adds to an invitation; Name is nil to keep
// the one that it was made out to.
type Acceptance struct {
	Token, Password string
	Name            *string
}

// AcceptInvite makes an invited user one who can log in, and logs the user in.
func (s *Service) AcceptInvite(ctx context.Context, a Acceptance, from Origin) (Login, error) {
	link, err := s.findLink(ctx, a.Token, purposeInvite, userInvited)
	if err != nil {
		return Login{}, err
	}
	if err := CheckTenant(link.TenantStatus); err != nil {
		return Login{}, err
	}
	hash, err := s.hasher.hash(ctx, a.Password)
	if err != nil {
		return Login{}, err
	}
	var l Login
	err = postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		user, err := s.useLink(ctx, q, link.UserLink, userInvited)
		if err != nil {
			return err
		}
		if l.Tenant, err = q.GetTenant(ctx, user.TenantID); err != nil {
			return fmt.Errorf("get tenant: %w", err)
		}
		if err := CheckTenant(l.Tenant.Status); err != nil {
			return err
		}
		l.User, err = q.ActivateInvitedUser(ctx, db.ActivateInvitedUserParams{
			TenantID: user.TenantID, ID: user.ID, Name: a.Name, PasswordHash: hash, Now: &now,
		})
		if err != nil {
			return fmt.Errorf("activate invited user: %w", err)
		}
		return audit.Write(ctx, q, now, audit.Entry{
			Actor: from.user(user.ID), TenantID: user.TenantID, Action: "team.accept_invite", Entity: entityUser, EntityID: user.ID,
			After: map[string]any{"email": l.User.Email, "role": l.User.Role},
		})
	})
	if err != nil {
		return Login{}, err
	}
	l.Token, l.ExpiresAt, err = s.issueToken(ctx, l.User)
	return l, err
}
