package handlers_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestInvitationsToOneAddressAreLimited(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	invite := func(c *apitest.Caller, email string) apitest.Response {
		return c.Call(t, "POST", "/v1/me/team", map[string]any{"email": email, "role": "VIEWER"})
	}
	target := newEmail()
	for range 5 {
		var member struct{ ID string }
		invite(owner, target).Into(t, 201, &member)
		owner.Call(t, "DELETE", "/v1/me/team/"+member.ID, nil).Is(t, 200) // a deletion doesn't reduce the count
	}
	refused := invite(owner, target)
	require.Equal(t, "too many invitations: your tenant can send 5 a day to one address", refused.Problem(t, 429, "rate_limited").Message)
	require.Equal(t, "86400", refused.Header.Get("Retry-After"))
	require.Len(t, s.MailsTo(t, target), 5)
	s.Clock.Advance(24 * time.Hour)
	invite(owner.LogInAgain(t), target).Is(t, 201)
}

// TestOneTenantDoesNotUseUpAnAddress checks that other tenants can still invite an address, until all together
// have sent it 20 mails in a day.
func TestOneTenantDoesNotUseUpAnAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	target := newEmail()
	invite := func(c *apitest.Caller) apitest.Response {
		return c.Call(t, "POST", "/v1/me/team", map[string]any{"email": target, "role": "VIEWER"})
	}
	for range 4 {
		owner := s.Register(t)
		for range 5 {
			invite(owner).Is(t, 201)
		}
		invite(owner).Problem(t, 429, "rate_limited")
		s.Clock.Advance(time.Minute)
	}
	late := s.Register(t)
	refused := invite(late)
	require.Equal(t, "too many invitations: all tenants together can send 20 a day to one address", refused.Problem(t, 429, "rate_limited").Message)
	require.Equal(t, "86400", refused.Header.Get("Retry-After"), "it doesn't show when other tenants invited the address")
}

// TestTenantsShareAnAddressesLimitExactly checks that two tenants that invite an address at the same
// time don't exceed the limit of all tenants together.
func TestTenantsShareAnAddressesLimitExactly(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	target, other := newEmail(), s.Register(t)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO mails (id, tenant_id, kind, recipient, status, expires_at, created_at)
		SELECT $1 || n, $1, 'invite', $3, 'sent', $2, $2 FROM generate_series(1, 19) n`, other.TenantID, s.Clock.Now(), target)
	require.NoError(t, err)
	owners := []*apitest.Caller{s.Register(t), s.Register(t)}
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.Background()) }()
	_, err = tx.Exec(t.Context(), "LOCK TABLE mails IN SHARE MODE") // mails can be counted, but none can be added
	require.NoError(t, err)
	answers := make(chan int, len(owners))
	for _, owner := range owners {
		go func() {
			answers <- owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": target, "role": "VIEWER"}).Status
		}()
	}
	apitest.Until(t, "two transactions that wait", func() bool {
		var waiting int
		require.NoError(t, s.Pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&waiting))
		return waiting == len(owners)
	})
	require.NoError(t, tx.Rollback(t.Context()))
	require.ElementsMatch(t, []int{201, 429}, []int{<-answers, <-answers})
}

func TestATenantInvitesOnlySoMany(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	_, err := s.Pool.Exec(t.Context(), `INSERT INTO mails (id, tenant_id, kind, recipient, status, expires_at, created_at)
		SELECT $1 || n, $1, 'invite', 'x' || n || '@example.test', 'sent', $2, $2 FROM generate_series(1, 99) n`,
		owner.TenantID, s.Clock.Now())
	require.NoError(t, err)
	answers := make(chan int, 4)
	for n := range cap(answers) {
		go func() {
			answers <- owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": strconv.Itoa(n) + newEmail(), "role": "VIEWER"}).Status
		}()
	}
	byStatus := map[int]int{}
	for range cap(answers) {
		byStatus[<-answers]++
	}
	require.Equal(t, map[int]int{201: 1, 429: 3}, byStatus, "however many come at once")
	s.Register(t).Call(t, "POST", "/v1/me/team", map[string]any{"email": newEmail(), "role": "VIEWER"}).Is(t, 201)
}

// TestInvitationsWaitForNoOtherLock invites an address whose hash, after "invite ", is that of
// "signing_keys": while the signing keys are locked, the invitation must not wait.
func TestInvitationsWaitForNoOtherLock(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	owner := s.Register(t)
	tx, err := s.Pool.Begin(t.Context())
	require.NoError(t, err)
	defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
	require.NoError(t, db.New(tx).LockSigningKeys(t.Context()))
	owner.Call(t, "POST", "/v1/me/team", map[string]any{"email": "c25cf562c@example.test", "role": "VIEWER"}).Is(t, 201)
}
