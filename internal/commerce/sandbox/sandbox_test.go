package sandbox_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/stripe/stripe-go/v76"
	"github.com/stripe/stripe-go/v76/client"
	"github.com/stripe/stripe-go/v76/webhook"

	"showfloor/internal/commerce/sandbox"
)

const (
	key           = "sk_test_1234567890abcdef"
	secret        = "whsec_platform"
	connectSecret = "whsec_connect"
)

// rig is a sandbox behind real HTTP, with the library's client and a receiver of
// its webhooks.
type rig struct {
	*sandbox.Server

	url    string
	api    *client.API
	server *httptest.Server

	mu sync.Mutex
	at time.Time
	// status is the status that the receiver answers.
	status   int
	received []stripe.Event
}

func (r *rig) now() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.at
}

func (r *rig) advance(d time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = r.at.Add(d)
}

// start opens a sandbox; change changes its configuration.
func start(t *testing.T, change func(c *sandbox.Config)) *rig {
	t.Helper()
	r := &rig{at: time.Now().Truncate(time.Second), status: http.StatusCreated}
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) { r.receive(t, w, q) }))
	t.Cleanup(receiver.Close)
	r.server = httptest.NewUnstartedServer(nil)
	r.url = "http://" + r.server.Listener.Addr().String() + "/sandbox"
	c := sandbox.Config{
		URL: r.url, CallbackURL: receiver.URL, Key: key, Secret: secret, ConnectSecret: connectSecret, Now: r.now,
	}
	if change != nil {
		change(&c)
	}
	var err error
	r.Server, err = sandbox.Open(c)
	require.NoError(t, err)
	r.server.Config.Handler = http.StripPrefix("/sandbox", r.Server)
	r.server.Start()
	t.Cleanup(func() {
		require.NoError(t, r.Close())
		r.server.Close()
	})
	r.api = apiOf(r.url, key)
	return r
}

func apiOf(url, key string) *client.API {
	backend := stripe.GetBackendWithConfig(stripe.APIBackend, &stripe.BackendConfig{
		URL: new(sandbox.APIURL(url)), MaxNetworkRetries: new(int64(0)), LeveledLogger: &stripe.LeveledLogger{Level: stripe.LevelNull},
		HTTPClient: &http.Client{Timeout: 30 * time.Second},
	})
	api := &client.API{}
	api.Init(key, &stripe.Backends{API: backend, Connect: backend, Uploads: backend})
	return api
}

// receive checks the signature of a webhook like a platform.
func (r *rig) receive(t *testing.T, w http.ResponseWriter, q *http.Request) {
	t.Helper()
	body, err := io.ReadAll(q.Body)
	if err != nil {
		return
	}
	event, err := webhook.ConstructEvent(body, q.Header.Get("Stripe-Signature"), connectSecret)
	if err != nil {
		event, err = webhook.ConstructEvent(body, q.Header.Get("Stripe-Signature"), secret)
		if err != nil || event.Account != "" {
			t.Errorf("a report of account %q isn't signed as it should: %v", event.Account, err)
		}
	} else if event.Account == "" {
		t.Error("a report of the platform's is signed with the other secret")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, event)
	w.WriteHeader(r.status)
}

// answer sets the status that the receiver answers from now on.
func (r *rig) answer(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status = status
}

// got returns the types of the events that have arrived since the last call.
func (r *rig) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	types := []string{}
	for _, e := range r.received {
		types = append(types, string(e.Type))
	}
	r.received = nil
	return types
}

// delivered delivers the owed events and returns their types.
func (r *rig) delivered(t *testing.T) []string {
	t.Helper()
	_, err := r.Deliver(t.Context())
	require.NoError(t, err)
	return r.got()
}

// seller creates an account that may take charges, and returns its id.
func (r *rig) seller(t *testing.T) string {
	t.Helper()
	a, err := r.api.Accounts.New(&stripe.AccountParams{Type: new("standard")})
	require.NoError(t, err)
	require.NoError(t, r.Onboard(a.ID))
	require.NoError(t, r.DropEvents(a.ID))
	return a.ID
}

// on returns the parameters of a call for an account.
func on(account, key string) stripe.Params {
	p := stripe.Params{}
	if account != "" {
		p.SetStripeAccount(account)
	}
	if key != "" {
		p.SetIdempotencyKey(key)
	}
	return p
}

// page is a payment page of two units for 15.00 each, with a fee of 3.00.
func (r *rig) page(account string) *stripe.CheckoutSessionParams {
	return &stripe.CheckoutSessionParams{
		Params: on(account, ""), Mode: new("payment"), ClientReferenceID: new("ord_1"),
		SuccessURL: new("https://shop.example/thanks?s={CHECKOUT_SESSION_ID}"), CancelURL: new("https://shop.example/cart"),
		ExpiresAt: new(r.now().Add(31 * time.Minute).Unix()), Metadata: map[string]string{"order_id": "ord_1"},
		LineItems: []*stripe.CheckoutSessionLineItemParams{{
			Quantity: new(int64(2)),
			PriceData: &stripe.CheckoutSessionLineItemPriceDataParams{
				Currency: new("usd"), UnitAmount: new(int64(1500)),
				ProductData: &stripe.CheckoutSessionLineItemPriceDataProductDataParams{Name: new("Mug")},
			},
		}},
		PaymentIntentData: &stripe.CheckoutSessionPaymentIntentDataParams{
			ApplicationFeeAmount: new(int64(300)), Metadata: map[string]string{"order_id": "ord_1"},
		},
	}
}

// refused requires a refusal with this status and code and returns it.
func refused(t *testing.T, err error, status int, code string) *stripe.Error {
	t.Helper()
	var said *stripe.Error
	require.ErrorAs(t, err, &said)
	require.Equal(t, status, said.HTTPStatusCode, said.Msg)
	require.Equal(t, code, string(said.Code), said.Msg)
	return said
}

func TestASaleAndItsRefunds(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	account := r.seller(t)
	made, err := r.api.CheckoutSessions.New(r.page(account))
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionStatusOpen, made.Status)
	require.Equal(t, int64(3000), made.AmountTotal)
	require.Equal(t, r.url+"/pay/"+made.ID, made.URL)
	require.Nil(t, made.PaymentIntent)

	_, err = r.Pay(made.ID, "ada@example.test")
	require.NoError(t, err)
	require.Equal(t, []string{"payment_intent.succeeded", "charge.succeeded", "checkout.session.completed"}, r.delivered(t))
	paid, err := r.api.CheckoutSessions.Get(made.ID, &stripe.CheckoutSessionParams{Params: on(account, "")})
	require.NoError(t, err)
	require.Equal(t, stripe.CheckoutSessionStatusComplete, paid.Status)
	require.Equal(t, stripe.CheckoutSessionPaymentStatusPaid, paid.PaymentStatus)
	require.Equal(t, "ada@example.test", paid.CustomerDetails.Email)
	require.Empty(t, paid.URL)

	give := func(cents int64, key string) (*stripe.Refund, error) {
		return r.api.Refunds.New(&stripe.RefundParams{
			Params: on(account, key), PaymentIntent: new(paid.PaymentIntent.ID), Amount: new(cents),
			RefundApplicationFee: new(true),
		})
	}
	first, err := give(1000, "a")
	require.NoError(t, err)
	again, err := give(1000, "a")
	require.NoError(t, err)
	require.Equal(t, first.ID, again.ID)
	_, err = give(2001, "b")
	refused(t, err, 400, "")
	_, err = give(2000, "c")
	require.NoError(t, err)
	_, err = give(1, "d")
	refused(t, err, 400, "charge_already_refunded")
	require.Equal(t, []string{"charge.refunded", "refund.created", "charge.refunded", "refund.created"}, r.delivered(t))
	p, known := r.Payment(paid.PaymentIntent.ID)
	require.True(t, known)
	require.Equal(t, int64(3000), p.RefundedCents)
	require.Equal(t, int64(300), p.FeeRefundedCents)
	list := r.api.Refunds.List(&stripe.RefundListParams{
		ListParams: stripe.ListParams{StripeAccount: new(account), Limit: new(int64(1))}, PaymentIntent: new(p.ID),
	})
	var amounts []int64
	for list.Next() {
		amounts = append(amounts, list.Refund().Amount)
	}
	require.NoError(t, list.Err())
	require.Equal(t, []int64{2000, 1000}, amounts)
}
