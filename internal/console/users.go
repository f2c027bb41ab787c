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
	q := db.New(s.pool)
	ids, total, err := findUsers(ctx, q, f, p)
	if err != nil {
		return nil, 0, err
	}
	rows, err := q.ListPlatformUsers(ctx, ids)
	if err != nil {
		return nil, 0, fmt.Errorf("list users: %w", err)
	}
	for _, row := range rows {
		list = append(list, account.PlatformUser{TeamMember: row.TeamMember, TenantName: row.TenantName})
	}
	return list, total, nil
}

// findUsers returns the ids of the users on a page, and the number of all that match.
func findUsers(ctx context.Context, q *db.Queries, f UserFilter, p Page) (ids []string, total int64, err error) {
	newest := db.ListNewestUsersParams{Q: containing(f.Q), TenantID: f.TenantID, MaxRows: int32(p.Size), Skip: p.offset()}
	var oldest bool
	if newest.Q != nil {
		total, err = q.CountFoundUsers(ctx, db.CountFoundUsersParams{Q: *newest.Q, TenantID: f.TenantID})
	} else {
		total, err = q.CountPlatformUsers(ctx, f.TenantID)
		w := p.window(total)
		newest.MaxRows, newest.Skip, oldest = w.rows, w.skip, w.oldest
	}
	if err != nil {
		return nil, 0, fmt.Errorf("count users: %w", err)
	}
	if oldest {
		ids, err = q.ListOldestUsers(ctx, db.ListOldestUsersParams{TenantID: f.TenantID, MaxRows: newest.MaxRows, Skip: newest.Skip})
	} else {
		ids, err = q.ListNewestUsers(ctx, newest)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("find users: %w", err)
	}
	return ids, total, nil
}
