package handlers

import (
	"context"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/handlers/request"
	"showfloor/internal/base/id"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// ListTeam lists the tenant's users.
func (s *Server) ListTeam(ctx context.Context, r api.ListTeamRequestObject) (api.ListTeamResponseObject, error) {
	cursor, err := after(r.Params.Cursor, id.User)
	if err != nil {
		return nil, err
	}
	size := pageSize(r.Params.Limit)
	rows, err := s.areas.Accounts.ListTeam(ctx, request.Caller(ctx), cursor, size+1)
	if err != nil {
		return nil, err
	}
	rows, link := page(ctx, s, rows, size, func(m db.TeamMember) string { return m.ID })
	return api.ListTeam200JSONResponse{
		Body: each(rows, toTeamMember), Headers: api.ListTeam200ResponseHeaders{Link: link},
	}, nil
}

// InviteTeamMember invites a user to the team.
func (s *Server) InviteTeamMember(ctx context.Context, r api.InviteTeamMemberRequestObject) (api.InviteTeamMemberResponseObject, error) {
	user, err := s.areas.Accounts.InviteTeamMember(ctx, request.Caller(ctx), account.Invite{
		Email: r.Body.Email, Name: r.Body.Name, Role: tenancy.Role(r.Body.Role),
	})
	if err != nil {
		return nil, err
	}
	return api.InviteTeamMember201JSONResponse(toTeamMember(user)), nil
}

// ChangeTeamMemberRole changes a member's role.
func (s *Server) ChangeTeamMemberRole(
	ctx context.Context, r api.ChangeTeamMemberRoleRequestObject,
) (api.ChangeTeamMemberRoleResponseObject, error) {
	user, err := s.areas.Accounts.ChangeTeamMemberRole(ctx, request.Caller(ctx), r.ID, tenancy.Role(r.Body.Role))
	if err != nil {
		return nil, err
	}
	return api.ChangeTeamMemberRole200JSONResponse(toTeamMember(user)), nil
}

// RemoveTeamMember removes a user of the tenant.
func (s *Server) RemoveTeamMember(ctx context.Context, r api.RemoveTeamMemberRequestObject) (api.RemoveTeamMemberResponseObject, error) {
	user, err := s.areas.Accounts.RemoveTeamMember(ctx, request.Caller(ctx), r.ID)
	if err != nil {
		return nil, err
	}
	return api.RemoveTeamMember200JSONResponse(toTeamMember(user)), nil
}

func toTeamMember(u db.TeamMember) api.TeamMember {
	return api.TeamMember{
		ID: u.ID, Email: u.Email, Name: u.Name, Role: api.UserRole(u.Role), Status: api.UserStatus(u.Status),
		InviteExpiresAt: timeOrNull(u.InviteExpiresAt), LastLoginAt: timeOrNull(u.LastLoginAt),
		CreatedAt: timestamp.From(u.CreatedAt), UpdatedAt: timestamp.From(u.UpdatedAt),
	}
}
