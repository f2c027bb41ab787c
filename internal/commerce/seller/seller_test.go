package seller_test

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

const (
	statusPath = "/v1/me/commerce/connect/status"
	linkPath   = "/v1/me/commerce/connect/onboarding-link"
)

func landing() map[string]any {
	return map[string]any{"returnUrl": "https://acme.example/selling", "refreshUrl": "https://acme.example/selling/again"}
}

func status(t *testing.T, c *apitest.Caller) api.ConnectStatus {
	t.Helper()
	var got api.ConnectStatus
	c.Call(t, "GET", statusPath, nil).Into(t, http.StatusOK, &got)
	return got
}

// link creates an onboarding link and returns its account.
func link(t *testing.T, s *apitest.Server, c *apitest.Caller) (accountID string) {
	t.Helper()
	var got api.OnboardingLink
	c.Call(t, "POST", linkPath, landing()).Into(t, http.StatusCreated, &got)
	require.Contains(t, got.OnboardingURL, s.Sandbox.URL)
	require.True(t, got.ExpiresAt.After(s.Clock.Now()))
	require.Len(t, s.Sandbox.Accounts(), 1)
	accountID = s.Sandbox.Accounts()[0].ID
	require.Equal(t, accountID, status(t, c).ProcessorAccountID.MustGet())
	return accountID
}

// audited lists the actions in the audit log about the tenant as a seller.
func audited(t *testing.T, s *apitest.Server, tenantID string) []string {
	t.Helper()
	list := []string{}
	rows, err := s.Pool.Query(t.Context(),
		"SELECT actor_type || ' ' || action || ' ' || coalesce(reason, '') FROM audit_entries WHERE tenant_id = $1 AND entity = 'seller' ORDER BY id", tenantID)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		list = append(list, line)
	}
	require.NoError(t, rows.Err())
	return list
}

func TestATenantBecomesASeller(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	before := status(t, owner)
	require.False(t, before.Onboarded || before.ChargesEnabled)
	require.True(t, before.ProcessorAccountID.IsNull())

	accountID := link(t, s, owner)
	require.Equal(t, accountID, link(t, s, owner), "there is one account")
	made, _ := s.Sandbox.Account(accountID)
	require.Equal(t, owner.TenantID, made.Metadata["tenant_id"])
	require.False(t, status(t, owner).Onboarded)

	require.NoError(t, s.Sandbox.Onboard(accountID)) // its webhook isn't delivered
	s.Clock.Advance(11 * time.Second)
	after := status(t, owner)
	require.True(t, after.Onboarded && after.ChargesEnabled)
	link(t, s, owner) // to change the seller's data
	require.Equal(t, []string{"user seller.create ", "system seller.enable "}, audited(t, s, owner.TenantID))
}

func TestLinksWantAddresses(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, body := range []any{
		map[string]any{}, map[string]any{"returnUrl": "https://a.example"},
		map[string]any{"returnUrl": "javascript:alert(1)", "refreshUrl": "https://a.example"},
	} {
		owner.Call(t, "POST", linkPath, body).Problem(t, http.StatusBadRequest, "invalid_input")
	}
	require.Empty(t, s.Sandbox.Accounts())
}

// TestOnlyLeadersOnboard checks that only admins and owners may onboard, because the
// onboarding page sets the bank account for payouts.
func TestOnlyLeadersOnboard(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for _, c := range []*apitest.Caller{
		owner.Colleague(t, "VIEWER"), owner.Colleague(t, "DEVELOPER"), owner.Key(t, tenancy.CommerceRead, tenancy.CommerceWrite),
	} {
		c.Call(t, "POST", linkPath, landing()).Problem(t, http.StatusForbidden, "forbidden")
	}
	require.Empty(t, s.Sandbox.Accounts())
	owner.Colleague(t, "ADMIN").Call(t, "POST", linkPath, landing()).Into(t, http.StatusCreated, new(api.OnboardingLink))
	link(t, s, owner)
}

func TestALostReportIsReplacedByAQuery(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	accountID := owner.Seller(t)
	require.True(t, status(t, owner).ChargesEnabled)
	asked := s.Sandbox.Count("GET", "/v1/accounts/")

	require.NoError(t, s.Sandbox.SetCharges(accountID, false))
	s.Clock.Advance(5 * time.Minute)
	require.True(t, status(t, owner).ChargesEnabled)
	require.Equal(t, asked, s.Sandbox.Count("GET", "/v1/accounts/"), "the processor's word is believed for a while")
	s.Clock.Advance(time.Second)
	s.Sandbox.Down(true)
	require.True(t, status(t, owner).ChargesEnabled, "the stored state is returned")
	s.Sandbox.Down(false)
	s.Clock.Advance(11 * time.Second)
	got := status(t, owner)
	require.False(t, got.ChargesEnabled)
	require.True(t, got.Onboarded)
	require.Equal(t, []string{"system seller.disable "}, audited(t, s, owner.TenantID))

	require.NoError(t, s.Sandbox.SetCharges(accountID, true))
	asked = s.Sandbox.Count("GET", "/v1/accounts/")
	for range 20 {
		require.False(t, status(t, owner).ChargesEnabled)
	}
	require.Equal(t, asked, s.Sandbox.Count("GET", "/v1/accounts/"), "polls within 10 seconds read the stored state")
	s.Clock.Advance(11 * time.Second)
	require.True(t, status(t, owner).ChargesEnabled)
}

// TestAClockThatWentBack checks that a state which was stored with a future time
// is still replaced by webhooks and polls.
func TestAClockThatWentBack(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	accountID := owner.Seller(t)
	s.Clock.Advance(time.Hour)
	require.True(t, status(t, owner).ChargesEnabled)
	s.Clock.Advance(-time.Hour)

	require.NoError(t, s.Sandbox.SetCharges(accountID, false))
	require.NoError(t, s.Sellers.ApplyAccount(t.Context(), accountID))
	require.False(t, status(t, owner).ChargesEnabled)

	s.Clock.Advance(time.Hour)
	require.False(t, status(t, owner).ChargesEnabled)
	s.Clock.Advance(-time.Hour)
	require.NoError(t, s.Sandbox.SetCharges(accountID, true))
	require.True(t, status(t, owner).ChargesEnabled)
}

func TestLostAnswersMakeNoSecondAccount(t *testing.T) {
	t.Parallel()
	for name, later := range map[string]time.Duration{
		"at once": 0, "within the key's life": 19 * time.Hour, "near its end": 23 * time.Hour, "a day later": 25 * time.Hour, "a year later": 365 * 24 * time.Hour,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := apitest.New(t, apitest.Options{})
			owner := s.Register(t)
			s.Sandbox.LoseAnswers(2, "/v1/accounts") // the create's, and that of the search that follows
			owner.Call(t, "POST", linkPath, landing()).Problem(t, http.StatusServiceUnavailable, "processor_unavailable")
			require.Len(t, s.Sandbox.Accounts(), 1)
			got := status(t, owner)
			require.True(t, got.ProcessorAccountID.IsNull())
			s.Clock.Advance(later)
			owner = owner.LogInAgain(t)
			require.Equal(t, s.Sandbox.Accounts()[0].ID, link(t, s, owner))
			require.Equal(t, []string{"user seller.create "}, audited(t, s, owner.TenantID))
		})
	}
}

func TestALostAnswerIsLookedFor(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.Sandbox.LoseAnswers(1, "/v1/accounts")
	link(t, s, owner)
}

func TestARenamedTenantGetsItsAccount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	s.Sandbox.LoseAnswers(2, "/v1/accounts")
	owner.Call(t, "POST", linkPath, landing()).Is(t, http.StatusServiceUnavailable)
	owner.Call(t, "PATCH", "/v1/me/tenant", map[string]any{"name": "Renamed"}).Is(t, http.StatusOK)
	link(t, s, owner)
}

func TestAnIdempotencyKeyOutlivesAnOutage(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	send := func() apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+linkPath,
			strings.NewReader(`{"returnUrl":"https://acme.example/","refreshUrl":"https://acme.example/again"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "onboard")
		return owner.Do(t, r)
	}
	s.Sandbox.Down(true)
	send().Problem(t, http.StatusServiceUnavailable, "processor_unavailable")
	s.Sandbox.Down(false)
	s.Sandbox.Fail(1, "/v1/account_links", http.StatusInternalServerError)
	send().Problem(t, http.StatusServiceUnavailable, "processor_unavailable")
	first := send().Is(t, http.StatusCreated)
	again := send().Is(t, http.StatusCreated)
	require.Equal(t, first.Body, again.Body)
	require.Len(t, s.Sandbox.Accounts(), 1)
}

// TestManyCallsMakeOneAccount makes concurrent calls, also to two servers that share
// only the database.
func TestManyCallsMakeOneAccount(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	other := apitest.New(t, apitest.Options{Pool: s.Pool, Sandbox: s.Sandbox})
	owner := s.Register(t)
	callers := []*apitest.Caller{owner, other.With(t, owner.Token)}
	var work sync.WaitGroup
	statuses := make([]int, 20)
	for i := range statuses {
		work.Go(func() { statuses[i] = callers[i%2].Call(t, "POST", linkPath, landing()).Status })
	}
	work.Wait()
	require.Len(t, s.Sandbox.Accounts(), 1)
	for _, got := range statuses {
		require.Contains(t, []int{http.StatusCreated, http.StatusServiceUnavailable}, got)
	}
	link(t, s, owner)
}

func TestAnAccountThatIsGoneIsNotReplaced(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.Seller(t)
	_, err := s.Pool.Exec(t.Context(), "UPDATE sellers SET processor_account_id = 'acct_gone' || tenant_id WHERE tenant_id = $1", owner.TenantID)
	require.NoError(t, err)
	s.Clock.Advance(time.Hour)
	p := owner.Call(t, "POST", linkPath, landing()).Problem(t, http.StatusConflict, "conflict")
	require.Contains(t, p.Message, "closed")
	require.Len(t, s.Sandbox.Accounts(), 1)
	require.True(t, status(t, owner).ChargesEnabled, "it might be a wrong key of ours")

	require.NoError(t, s.Sellers.ApplyAccount(t.Context(), "acct_gone"+owner.TenantID)) // as after the processor's webhook
	got := status(t, owner)
	require.False(t, got.ChargesEnabled)
	require.True(t, got.Onboarded)
	require.Equal(t, []string{"system seller.disable the account was closed or disconnected"}, audited(t, s, owner.TenantID))
}

func TestOtherAccountsAreIgnored(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	require.NoError(t, s.Sellers.ApplyAccount(t.Context(), "acct_nobodys"))
	require.Zero(t, s.Sandbox.Count("GET", "/v1/accounts"))
}
