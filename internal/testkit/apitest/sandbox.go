package apitest

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"showfloor/internal/commerce/processor"
	"showfloor/internal/commerce/sandbox"
)

// Secrets of every test server's payment processor.
const (
	processorKey           = "sk_test_for_tests_only"
	processorSecret        = "whsec_platform"
	processorConnectSecret = "whsec_connect"
)

// Sandbox is the payment processor of a test server. Its webhooks go to the
// server's /v1/billing/webhook: immediately with Options.Jobs, otherwise when
// Deliver is called.
type Sandbox struct {
	*sandbox.Server

	// URL is the URL of its pages; its API is below /api.
	URL string
	// Client calls it.
	Client *processor.Client

	closed    *closedPort
	transport *http.Transport
}

// closedPort is an address without a listener, which replaces the real one while
// refusing is set.
type closedPort struct {
	address  string
	refusing atomic.Bool
}

func newClosedPort(t testing.TB) *closedPort {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	must(t, err)
	must(t, l.Close())
	return &closedPort{address: l.Addr().String()}
}

// dial connects to the closed port while refusing is set, and otherwise to the address.
func (p *closedPort) dial(ctx context.Context, network, address string) (net.Conn, error) {
	if p.refusing.Load() {
		address = p.address
	}
	return (&net.Dialer{}).DialContext(ctx, network, address)
}

// Refuse makes the connections of Client fail, or succeed again. With Down they
// succeed and are then closed.
func (b *Sandbox) Refuse(refuse bool) {
	b.closed.refusing.Store(refuse)
	b.transport.CloseIdleConnections()
}

// openSandbox starts the server's processor, unless it shares another server's.
func (s *Server) openSandbox(t testing.TB, o Options, now func() time.Time) {
	t.Helper()
	if o.Sandbox != nil {
		s.Sandbox = o.Sandbox
		return
	}
	server := httptest.NewUnstartedServer(nil)
	address := "http://" + server.Listener.Addr().String()
	box, err := sandbox.Open(sandbox.Config{
		URL: address, Key: processorKey, Secret: processorSecret, ConnectSecret: processorConnectSecret,
		Automatic: o.Jobs, Now: now, Log: o.Log,
	})
	must(t, err)
	server.Config.Handler = box
	server.Start()
	closed := newClosedPort(t)
	transport := &http.Transport{DialContext: closed.dial, MaxIdleConnsPerHost: 32}
	s.Sandbox = &Sandbox{Server: box, URL: address, closed: closed, transport: transport, Client: processor.New(processor.Config{
		Key: processorKey, URL: sandbox.APIURL(address), Secret: processorSecret, ConnectSecret: processorConnectSecret,
		HTTPClient: &http.Client{Transport: transport, Timeout: 20 * time.Second},
	})}
	t.Cleanup(func() {
		must(t, box.Close())
		transport.CloseIdleConnections()
		server.Close()
	})
}

// Post calls the processor's API as its owner does, with a form, and returns the id of the object in the answer.
func (b *Sandbox) Post(t testing.TB, path string, form url.Values) (id string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, sandbox.APIURL(b.URL)+path, strings.NewReader(form.Encode()))
	must(t, err)
	r.SetBasicAuth(processorKey, "")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := (&http.Client{Transport: b.transport, Timeout: 20 * time.Second}).Do(r)
	must(t, err)
	defer answer.Body.Close()
	var got struct {
		ID string `json:"id"`
	}
	must(t, json.NewDecoder(answer.Body).Decode(&got))
	if answer.StatusCode != http.StatusOK {
		t.Fatalf("POST %s answered %d", path, answer.StatusCode)
	}
	return got.ID
}

// Deliver sends all pending webhooks that are not held to the server, and returns
// the statuses of the answers, in order.
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

// Seller onboards the caller's tenant at the processor and returns its account
// there. No webhook about it is pending.
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
