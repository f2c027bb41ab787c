// Package pushtest has HTTP/2 servers that answer as Apple's and Google's push services document, and credentials for them.
package pushtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"showfloor/internal/outflow/push/provider"
)

// Push is a request that a provider has received.
type Push struct {
	// Token is the device's.
	Token  string
	Header http.Header
	Body   map[string]any
	At     time.Time
}

// Providers are both services on one address.
type Providers struct {
	URL   string
	Roots *x509.CertPool

	web *httptest.Server

	mu sync.Mutex
	// pushes are the requests by device.
	pushes map[string][]Push
	// answers are the answers to a device's pushes; 200 without one.
	answers map[string]http.HandlerFunc
	tokens  int // access tokens that were issued
	grant   http.HandlerFunc
	changed chan struct{}
	keep    bool
}

// New starts the services.
func New(t testing.TB) *Providers {
	t.Helper()
	p := &Providers{pushes: map[string][]Push{}, answers: map[string]http.HandlerFunc{}, changed: make(chan struct{}), keep: true}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /3/device/{token}", p.device)
	mux.HandleFunc("POST /v1/projects/{project}/messages:send", p.message)
	mux.HandleFunc("POST /token", p.access)
	p.web = httptest.NewUnstartedServer(mux)
	p.web.EnableHTTP2 = true
	p.web.StartTLS()
	t.Cleanup(p.web.Close)
	p.URL = p.web.URL
	p.Roots = x509.NewCertPool()
	p.Roots.AddCert(p.web.Certificate())
	return p
}

// Addresses returns the settings of a server that uses the services.
func (p *Providers) Addresses() provider.Addresses {
	return provider.Addresses{APNS: p.URL, FCM: p.URL, FCMToken: p.URL + "/token", Roots: p.Roots}
}

// Certificate is that of the services, in PEM.
func (p *Providers) Certificate() []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: p.web.Certificate().Raw})
}

// CountOnly stops keeping requests, for benchmarks.
func (p *Providers) CountOnly() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.keep = false
}

// Config is the HTTP server's, which a test may change before the first request.
func (p *Providers) Config() *http.Server { return p.web.Config }

// Answer sets the answer to a device's pushes.
func (p *Providers) Answer(token string, answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answers[token] = answer
}

// Grant sets the answer to requests for access tokens.
func (p *Providers) Grant(answer http.HandlerFunc) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grant = answer
}

// Apple returns an answer of APNs; timestamp in milliseconds, 0 for none.
func Apple(status int, reason string, timestamp int64) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		if timestamp > 0 {
			fmt.Fprintf(w, `{"reason":%q,"timestamp":%d}`, reason, timestamp)
		} else {
			fmt.Fprintf(w, `{"reason":%q}`, reason)
		}
	}
}

// Google returns an answer of FCM.
func Google(status int, code, errorCode string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"error":{"code":%d,"message":"no","status":%q,"details":[
			{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":%q}]}}`, status, code, errorCode)
	}
}

// Busy answers with a status and a Retry-After header, to the first n pushes; all others are accepted.
func Busy(status int, after string, n int) http.HandlerFunc {
	var mu sync.Mutex
	return func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if n--; n < 0 {
			return
		}
		w.Header().Set("Retry-After", after)
		w.WriteHeader(status)
	}
}

// Pushes returns what a device has received, in order.
func (p *Providers) Pushes(token string) []Push {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Push{}, p.pushes[token]...)
}

// Await waits until a device has received n pushes.
func (p *Providers) Await(t testing.TB, token string, n int) []Push {
	t.Helper()
	late := time.After(time.Minute)
	for {
		p.mu.Lock()
		list, changed := append([]Push{}, p.pushes[token]...), p.changed
		p.mu.Unlock()
		if len(list) >= n {
			return list
		}
		select {
		case <-changed:
		case <-late:
			t.Fatalf("device %s received %d pushes, not %d", token, len(list), n)
		}
	}
}

// AccessTokens returns the number of access tokens that were issued.
func (p *Providers) AccessTokens() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.tokens
}

func (p *Providers) device(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "bearer ") {
		Apple(http.StatusForbidden, "MissingProviderToken", 0)(w, r)
		return
	}
	body := read(r)
	p.received(r.PathValue("token"), r, body, func() { w.Header().Set("Apns-Id", "1") }, w)
}

func (p *Providers) message(w http.ResponseWriter, r *http.Request) {
	if !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer access-") {
		Google(http.StatusUnauthorized, "UNAUTHENTICATED", "")(w, r)
		return
	}
	m, _ := read(r)["message"].(map[string]any)
	token, _ := m["token"].(string)
	p.received(token, r, m, func() { fmt.Fprint(w, `{"name":"projects/p/messages/1"}`) }, w)
}

func read(r *http.Request) (body map[string]any) {
	_ = json.NewDecoder(r.Body).Decode(&body)
	return body
}

func (p *Providers) received(token string, r *http.Request, body map[string]any, accept func(), w http.ResponseWriter) {
	p.mu.Lock()
	answer := p.answers[token]
	if p.keep {
		p.pushes[token] = append(p.pushes[token], Push{token, r.Header.Clone(), body, time.Now()})
		close(p.changed)
		p.changed = make(chan struct{})
	}
	p.mu.Unlock()
	if answer != nil {
		answer(w, r)
		return
	}
	accept()
}

func (p *Providers) access(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.tokens++
	n, grant := p.tokens, p.grant
	p.mu.Unlock()
	if grant != nil {
		grant(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"access_token":"access-%d","token_type":"Bearer","expires_in":3600}`, n)
}

// SigningKey returns an EC P-256 private key in PEM.
func SigningKey(t testing.TB) string {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM(t, key)
}

// ServiceKey returns an RSA private key in PEM.
func ServiceKey(t testing.TB) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return inPEM(t, key)
}

func inPEM(t testing.TB, key any) string {
	t.Helper()
	text, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: text}))
}

// IosCredentials returns the body of a request that enables pushes to iOS devices.
func IosCredentials(t testing.TB) map[string]any {
	t.Helper()
	return map[string]any{
		"iosPushEnabled": true, "iosPushTeamId": "TEAM123456", "iosPushKeyId": "KEY1234567", "iosPushBundleId": "com.acme.shop",
		"iosPushPrivateKey": SigningKey(t), "iosPushProduction": true,
	}
}

// CloudCredentials returns the body of a request that enables pushes to Android devices and browsers.
func CloudCredentials(t testing.TB) map[string]any {
	t.Helper()
	return map[string]any{"cloudPushEnabled": true, "cloudPushServiceAccount": map[string]any{
		"type": "service_account", "project_id": "acme-shop", "private_key": ServiceKey(t), "client_email": "push@acme-shop.iam.example",
	}}
}
