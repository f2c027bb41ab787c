package seller

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/commerce/processor"
	"showfloor/internal/testkit/dbtest"
)

// TestALaterAnswerCounts checks that the late answer to an earlier question is ignored.
func TestALaterAnswerCounts(t *testing.T) {
	t.Parallel()
	pool, now := dbtest.Shared(t), time.Now()
	s := New(Config{Pool: pool, Processor: processor.New(processor.Config{}), Log: slog.New(slog.DiscardHandler)})
	tenant, err := db.New(pool).CreateTenant(t.Context(), db.CreateTenantParams{ID: id.New(id.Tenant), Name: "Acme", Now: now})
	require.NoError(t, err)
	require.NoError(t, db.New(pool).EnsureSeller(t.Context(), db.EnsureSellerParams{TenantID: tenant.ID, Now: now}))
	accountID := "acct_" + tenant.ID
	_, err = db.New(pool).SetSellerAccount(t.Context(), db.SetSellerAccountParams{TenantID: tenant.ID, ProcessorAccountID: accountID, Now: now})
	require.NoError(t, err)
	enabled := func(question int64, yes bool) bool {
		require.NoError(t, s.store(t.Context(), state{
			tenantID: tenant.ID, accountID: accountID, question: question, detailsSubmitted: &yes, chargesEnabled: yes,
		}))
		row, err := s.get(t.Context(), tenant.ID)
		require.NoError(t, err)
		require.Equal(t, row.ChargesEnabled, row.Seller.DetailsSubmitted)
		return row.ChargesEnabled
	}
	require.True(t, enabled(2, true))
	require.True(t, enabled(1, false), "too late")
	require.True(t, enabled(2, false), "the same question again")
	require.False(t, enabled(3, false))
	require.True(t, enabled(4, true))
}
