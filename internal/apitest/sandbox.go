package apitest

import (
	"net/http/httptest"
	"testing"
	"time"

	"showfloor/internal/processor"
	"showfloor/internal/sandbox"
)

// Secrets of every test server's payment processor.
const (
	processorKey           = "sk_test_for_tests_only"
	processorSecret        = "whsec_platform"
	processorConnectSecret = "whsec_connect"
)

// Sandbox is the payment processor of a test server. Its reports go to the
// server's /v1/billing/webhook: by themselves with Options.Jobs, otherwise when
// Deliver is called.
type Sandbox struct {
	*sandbox.Server

	// URL is where its pages are; its API is below /api.
	URL string
	// Client calls it.
	Client *processor.Client
}

// openSandbox makes the server's processor, unless it shares another server's.
func (s *Server) openSandbox(t testing.TB, o Options, now func() time.Time) {
	t.Helper()
	if o.Sandbox != nil {
		s.Sandbox = o.Sandbox
		return
	}
	server := httptest.NewUnstartedServer(nil)
	url := "http://" + server.Listener.Addr().String()
	box, err := sandbox.Open(sandbox.Config{
		URL: url, Key: processorKey, Secret: processorSecret, ConnectSecret: processorConnectSecret,
		Automatic: o.Jobs, Now: now, Log: o.Log,
	})
	must(t, err)
	server.Config.Handler = box
	server.Start()
	s.Sandbox = &Sandbox{Server: box, URL: url, Client: processor.New(processor.Config{
		Key: processorKey, URL: sandbox.APIURL(url), Secret: processorSecret, ConnectSecret: processorConnectSecret,
	})}
	t.Cleanup(func() {
		must(t, box.Close())
		server.Close()
	})
}

// Deliver sends the reports that are owed and not held to the server, now, and
// returns the statuses that it answered, in order.
func (b *Sandbox) Deliver(t testing.TB) []int {
	t.Helper()
	attempts, err := b.Server.Deliver(t.Context())
	must(t, err)
	statuses := []int{}
	for _, a := range attempts {
		if a.Error != "" {
			t.Fatalf("%s wasn't delivered: %s", a.Type, a.Error)
		}
		statuses = append(statuses, a.Status)
	}
	return statuses
}

// Seller makes the caller's tenant one that may sell, and returns its account at
// the processor. No report of it is owed.
func (c *Caller) Seller(t testing.TB) (accountID string) {
	t.Helper()
	box := c.server.Sandbox
	made, err := box.Client.CreateAccount(t.Context(), c.TenantID, "Tenant of "+t.Name())
	must(t, err)
	must(t, box.Onboard(made.ID))
	must(t, box.DropEvents(made.ID))
	now := time.Now()
	if c.server.Clock != nil {
		now = c.server.Clock.Now()
	}
	_, err = c.server.Pool.Exec(t.Context(), `INSERT INTO sellers (tenant_id, processor_account_id, details_submitted, created_at, updated_at)
		VALUES ($1, $2, true, $3, $3)`, c.TenantID, made.ID, now)
	must(t, err)
	_, err = c.server.Pool.Exec(t.Context(), "UPDATE tenants SET charges_enabled = true WHERE id = $1", c.TenantID)
	must(t, err)
	return made.ID
}
