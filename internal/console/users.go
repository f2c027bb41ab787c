package console

import (
	"context"
	"fmt"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/account"
)

// UserFilter narrows the list of users; nil is no filter.
type UserFilter struct {
	// Q is searched for in e-mail addresses, names and ids.
	Q        *string
	TenantID *string
}

// ListUsers returns a page of all tenants' users that match, newest first, and
// the number of all that match.
func (s *Service) ListUsers(ctx context.Context, f UserFilter, p Page) (list []account.PlatformUser, total int64, err error) {
	q, pattern := db.New(s.pool), containing(f.Q)
	total, err = q.CountPlatformUsers(ctx, db.CountPlatformUsersParams{Q: pattern, TenantID: f.TenantID})
	if err != nil {
		return nil, 0, fmt.Errorf("count users: %w", err)
	}
	rows, err := q.ListPlatformUsers(ctx, db.ListPlatformUsersParams{
		Q: pattern, TenantID: f.TenantID, MaxRows: int32(p.Size), Skip: p.offset(),
	})
	if err != nil {
		return nil, 0, fmt.Errorf("list users: %w", err)
	}
	for _, row := range rows {
		list = append(list, account.PlatformUser{TeamMember: row.TeamMember, TenantName: row.TenantName})
	}
	return list, total, nil
}
