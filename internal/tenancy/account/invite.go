package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/base/secret"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/tenancy/quota"
)

// InviteLife is how long an invitation can be accepted.
const InviteLife = 7 * 24 * time.Hour

// Invite is the input of InviteTeamMember. If Name is nil, the name is the part of
// the e-mail address before the @, or, for an address that is invited again, the
// name in the invitation.
type Invite struct {
	Email string
	Name  *string
	Role  tenancy.Role
}

// InviteTeamMember creates an invitation and mails its link. Inviting the address
// again mails a new link and invalidates the old one. The address is not reserved:
// other tenants may invite it, and anyone may sign up with it.
func (s *Service) InviteTeamMember(ctx context.Context, c tenancy.Caller, in Invite) (db.TeamMember, error) {
	if err := s.mails.Require(); err != nil {
		return db.TeamMember{}, err
	}
	if err := checkRoleChange(c.Role, "", in.Role); err != nil {
		return db.TeamMember{}, err
	}
	var invited db.Invitation
	err := postgres.InTx(ctx, s.pool, func(tx pgx.Tx) error {
		q, now := db.New(tx), s.now()
		inviter, err := q.GetUser(ctx, db.GetUserParams{TenantID: c.TenantID, ID: c.UserID})
		if err != nil {
			return fmt.Errorf("get inviter: %w", err)
		}
		// The tenant's lock serializes its invitations, so that their limit is exact.
		tenant, err := q.LockTenant(ctx, c.TenantID)
		if err != nil {
			return fmt.Errorf("lock tenant: %w", err)
		}
		token := secret.Text(linkTokenLength)
		if invited, err = s.putInvitation(ctx, tx, c, in, token); err != nil {
			return err
		}
		if err := s.limitInvites(ctx, tx, invited); err != nil {
			return err
		}
		if err := s.mails.PostTx(ctx, tx, inviteLetter(invited, inviter.Name, tenant, s.pageLink("/accept-invite", token))); err != nil {
			return err
		}
		return audit.WriteTx(ctx, q, now, audit.Entry{
			Actor: c.Actor(), TenantID: c.TenantID, Action: "team.invite", Entity: entityUser, EntityID: invited.ID,
			After: map[string]any{"email": invited.Email, "role": invited.Role},
		})
	})
	return memberOfInvitation(invited), err
}

// Limits on invitation mails. Anyone can create a tenant with any text as its
// name, so without limits the mails could be used for spam. The limit per address
// is higher for all tenants together than for one, so one tenant alone can't block
// another's invitation.
const (
	maxInvites            = 100 // of a tenant per mailPeriod
	inviteRecipientPeriod = 24 * time.Hour
	maxInvitesTo          = 5  // of a tenant to one address per inviteRecipientPeriod
	maxInvitesOfAll       = 20 // of all tenants to one address per inviteRecipientPeriod
)

// limitInvites refuses an invitation above one of these limits, and says which. The
// caller holds the tenant's lock; limitInvites takes the address's lock after it.
// Retry-After of the limit of all tenants is always inviteRecipientPeriod: the exact
// time would show when other tenants invited the address.
func (s *Service) limitInvites(ctx context.Context, tx pgx.Tx, invited db.Invitation) error {
	now := s.now()
	sent, err := s.mails.CountOfTx(ctx, tx, invited.TenantID, now.Add(-mailPeriod), inviteKind)
	if err != nil {
		return err
	}
	if err := db.New(tx).LockInvitations(ctx, invited.Email); err != nil {
		return fmt.Errorf("lock invited address: %w", err)
	}
	ofAll, ofTenant, err := s.mails.CountToTx(ctx, tx, invited.Email, invited.TenantID, now.Add(-inviteRecipientPeriod), inviteKind)
	if err != nil {
		return err
	}
	switch {
	case ofTenant.Count >= maxInvitesTo:
		return problem.Limited(ofTenant.Oldest.Add(inviteRecipientPeriod).Sub(now),
			"too many invitations: your tenant can send %d a day to one address", maxInvitesTo)
	case ofAll.Count >= maxInvitesOfAll:
		return problem.Limited(inviteRecipientPeriod,
			"too many invitations: all tenants together can send %d a day to one address", maxInvitesOfAll)
	case sent.Count >= maxInvites:
		return problem.Limited(sent.Oldest.Add(mailPeriod).Sub(now), "too many invitations: your tenant can send %d an hour", maxInvites)
	}
	return nil
}

// putInvitation creates the tenant's invitation of an address, or changes the
// existing one. The caller holds the tenant's lock.
func (s *Service) putInvitation(ctx context.Context, tx pgx.Tx, c tenancy.Caller, in Invite, token string) (db.Invitation, error) {
	q, email, now := db.New(tx), CanonicalEmail(in.Email), s.now()
	taken, err := isTaken(ctx, q, email)
	if err != nil {
		return db.Invitation{}, err
	}
	if taken {
		return db.Invitation{}, errEmailTaken("it belongs to a user already")
	}
	before, err := q.LockInvitationByEmail(ctx, db.LockInvitationByEmailParams{TenantID: c.TenantID, Email: email})
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return before, fmt.Errorf("lock invitation: %w", err)
	}
	if err := checkRoleChange(c.Role, tenancy.Role(before.Role), in.Role); err != nil {
		return before, err
	}
	if !before.ExpiresAt.After(now) { // an open invitation is counted already
		err := s.quotas.CheckTx(ctx, tx, c.TenantID, quota.Users, 1, func(ctx context.Context) (int64, error) {
			return q.CountTeamMembers(ctx, db.CountTeamMembersParams{TenantID: c.TenantID, Now: now})
		})
		if err != nil {
			return before, err
		}
	}
	localPart, _, _ := strings.Cut(email, "@")
	invited, err := q.PutInvitation(ctx, db.PutInvitationParams{
		ID: id.New(id.User), TenantID: c.TenantID, Email: email, Name: in.Name, DefaultName: localPart, Role: string(in.Role),
		TokenHash: hashToken(token), ExpiresAt: now.Add(InviteLife), Now: now,
	})
	if err != nil {
		return invited, fmt.Errorf("put invitation: %w", err)
	}
	return invited, nil
}

// memberOfInvitation converts an invitation for the team's list.
func memberOfInvitation(i db.Invitation) db.TeamMember {
	return db.TeamMember{
		ID: i.ID, TenantID: i.TenantID, Email: i.Email, Name: i.Name, Role: i.Role, Status: userInvited,
		InviteExpiresAt: &i.ExpiresAt, CreatedAt: i.CreatedAt, UpdatedAt: i.UpdatedAt,
	}
}

// MemberOfUser converts a user for the team's list.
func MemberOfUser(u db.User) db.TeamMember {
	return db.TeamMember{
		ID: u.ID, TenantID: u.TenantID, Email: u.Email, Name: u.Name, Role: u.Role, Status: u.Status,
		LastLoginAt: u.LastLoginAt, CreatedAt: u.CreatedAt, UpdatedAt: u.UpdatedAt,
	}
}
