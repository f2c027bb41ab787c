package sandbox_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/commerce/sandbox"
)

// reopen opens a sandbox on a copy of the folder, like after a kill: the
// sandbox that wrote it hasn't been closed.
func reopen(t *testing.T, dir string, at time.Time, torn string) *rig {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	copied := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(copied, "journal.jsonl"), append(content, torn...), 0o600))
	r := start(t, func(c *sandbox.Config) { c.Dir = copied })
	r.mu.Lock()
	r.at = at
	r.mu.Unlock()
	return r
}

func TestAKilledServerGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "sandbox")
	r := start(t, func(c *sandbox.Config) { c.Dir = dir })
	account := r.seller(t)
	keyed := r.page(account)
	keyed.SetIdempotencyKey("one")
	open, err := r.api.CheckoutSessions.New(keyed)
	require.NoError(t, err)
	paid, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	sold, err := r.Pay(paid.ID, "ada@example.test")
	require.NoError(t, err)
	_, err = r.Refund(sold.PaymentID, 1000)
	require.NoError(t, err)

	for _, torn := range []string{"", "[", `[{"session":{"id":"cs_torn"`} {
		next := reopen(t, dir, r.now(), torn)
		require.Equal(t, r.Accounts(), next.Accounts())
		require.Equal(t, r.Sessions(""), next.Sessions(""))
		require.Equal(t, r.Payments(""), next.Payments(""))
		require.Equal(t, r.Refunds(""), next.Refunds(""))
		require.Equal(t, []string{
			"payment_intent.succeeded", "charge.succeeded", "checkout.session.completed", "charge.refunded", "refund.created",
		}, next.delivered(t), "pending events are delivered")
		again := next.page(account)
		again.SetIdempotencyKey("one")
		known, err := next.api.CheckoutSessions.New(again)
		require.NoError(t, err)
		require.Equal(t, open.ID, known.ID)
		next.advance(time.Hour)
		require.Equal(t, []string{"checkout.session.expired"}, next.delivered(t))
		_, err = next.api.CheckoutSessions.New(next.page(account))
		require.NoError(t, err, "it goes on writing")
	}
}

func TestTheJournalIsCompacted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, func(c *sandbox.Config) { c.Dir = dir })
	account := r.seller(t)
	for i := range 50 {
		require.NoError(t, r.SetCharges(account, i%2 == 0))
		require.NoError(t, r.DropEvents(account))
	}
	page := r.page(account)
	_, err := r.api.CheckoutSessions.New(page)
	require.Error(t, err)
	size := func(dir string) int64 {
		info, err := os.Stat(filepath.Join(dir, "journal.jsonl"))
		require.NoError(t, err)
		return info.Size()
	}
	before := size(dir)
	copied := t.TempDir()
	content, err := os.ReadFile(filepath.Join(dir, "journal.jsonl"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(copied, "journal.jsonl"), content, 0o600))
	start(t, func(c *sandbox.Config) { c.Dir = copied })
	require.Less(t, size(copied), before)
	aged := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(aged, "journal.jsonl"), content, 0o600))
	old := start(t, func(c *sandbox.Config) {
		c.Dir, c.Now = aged, func() time.Time { return time.Now().Add(40 * 24 * time.Hour) }
	})
	require.Zero(t, len(old.Events())) //nolint:testifylint // a failure would print them all
	require.Len(t, old.Accounts(), 1)
}

func TestAnUnreadableJournalIsReported(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "journal.jsonl"), []byte("{}\n[]\n"), 0o600))
	_, err := sandbox.Open(sandbox.Config{URL: "http://localhost", Key: key, Secret: secret, ConnectSecret: connectSecret, Dir: dir})
	require.ErrorContains(t, err, "line 1")
	require.ErrorContains(t, err, dir)
}
