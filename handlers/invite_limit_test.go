package handlers_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/apitest"
)

func TestNobodyIsInvitedOverAndOver(t *testing.T) {
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
		owner.Call(t, "DELETE", "/v1/me/team/"+member.ID, nil).Is(t, 200) // what is counted stays
	}
	invite(owner, target).Problem(t, 429, "rate_limited")
	invite(s.Register(t), target).Problem(t, 429, "rate_limited")
	require.Len(t, s.MailsTo(t, target), 5)
	s.Clock.Advance(time.Hour)
	invite(owner, target).Is(t, 201)
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
