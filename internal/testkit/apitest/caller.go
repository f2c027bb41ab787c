package apitest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"

	"showfloor/gen/api"
	"showfloor/gen/client"
	"showfloor/gen/db"
	"showfloor/internal/base/id"
	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/audit"
	"showfloor/internal/testkit/pushtest"
)

// Password is the password of every user that apitest creates.
const Password = "correct horse battery"

// Caller is a client of the API with a credential.
type Caller struct {
	// Client is the generated client with the caller's token.
	Client *client.ClientWithResponses
	Token  string
	Email  string

	TenantID, UserID string

	server *Server
}

// With returns a caller with this token or key; "" for none.
func (s *Server) With(t testing.TB, token string) *Caller {
	t.Helper()
	c, err := client.NewClientWithResponses(s.URL, client.WithHTTPClient(s.client),
		client.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			return nil
		}))
	must(t, err)
	return &Caller{Client: c, Token: token, server: s}
}

// Register signs a new tenant up and returns its owner.
func (s *Server) Register(t testing.TB) *Caller {
	t.Helper()
	email := strings.ToLower(id.New("u")) + "@example.test"
	var l api.Login
	s.With(t, "").Call(t, "POST", "/v1/auth/register", map[string]any{
		"tenantName": "Tenant of " + t.Name(), "name": "Ada", "email": email, "password": Password,
	}).Into(t, http.StatusCreated, &l)
	return s.loggedIn(t, l)
}

// Admin creates an admin of the platform with this role and logs the admin in.
// The caller's UserID is the admin's id.
func (s *Server) Admin(t testing.TB, role platform.Role) *Caller {
	t.Helper()
	email := strings.ToLower(id.New("u")) + "@example.test"
	_, _, err := s.Console.CreateAdmin(t.Context(), audit.System("test"), email, role, Password)
	must(t, err)
	var l api.AdminLogin
	s.With(t, "").Call(t, "POST", "/v1/admin/auth/login", map[string]any{"email": email, "password": Password}).
		Into(t, http.StatusCreated, &l)
	c := s.With(t, l.Token)
	c.Email, c.UserID = email, l.Admin.ID
	return c
}

func (s *Server) loggedIn(t testing.TB, l api.Login) *Caller {
	t.Helper()
	c := s.With(t, l.Token)
	c.Email, c.TenantID, c.UserID = l.User.Email, l.Tenant.ID, l.User.ID
	return c
}

// Colleague creates another user of the caller's tenant and logs that user in.
func (c *Caller) Colleague(t testing.TB, role tenancy.Role) *Caller {
	t.Helper()
	q := db.New(c.server.Pool)
	self, err := q.GetUser(t.Context(), db.GetUserParams{TenantID: c.TenantID, ID: c.UserID})
	must(t, err)
	email := strings.ToLower(id.New("u")) + "@example.test"
	_, err = q.CreateUser(t.Context(), db.CreateUserParams{
		ID: id.New(id.User), TenantID: c.TenantID, Email: email, Name: "Colleague",
		PasswordHash: self.PasswordHash, Role: string(role), Now: self.CreatedAt,
	})
	must(t, err)
	return c.server.logIn(t, email)
}

// LogInAgain returns the same user with a new token, for tests that move the
// clock beyond the life of the first.
func (c *Caller) LogInAgain(t testing.TB) *Caller {
	t.Helper()
	return c.server.logIn(t, c.Email)
}

func (s *Server) logIn(t testing.TB, email string) *Caller {
	t.Helper()
	var l api.Login
	s.With(t, "").Call(t, "POST", "/v1/auth/login", map[string]any{"email": email, "password": Password}).
		Into(t, http.StatusCreated, &l)
	return s.loggedIn(t, l)
}

// Key creates an API key with these scopes and returns a caller with that key.
func (c *Caller) Key(t testing.TB, scopes ...tenancy.Scope) *Caller {
	t.Helper()
	if scopes == nil {
		scopes = []tenancy.Scope{}
	}
	var k api.APIKey
	c.Call(t, "POST", "/v1/me/api-keys", map[string]any{"name": "Key", "scopes": scopes}).Into(t, http.StatusCreated, &k)
	key := c.server.With(t, *k.Key)
	key.TenantID = c.TenantID
	return key
}

// Stream creates a stream; fields replace or add to the request's body.
func (c *Caller) Stream(t testing.TB, fields map[string]any) api.Stream {
	t.Helper()
	body := map[string]any{"name": "Launch"}
	maps.Copy(body, fields)
	var st api.Stream
	c.Call(t, "POST", "/v1/me/streams", body).Into(t, http.StatusCreated, &st)
	return st
}

// Discount creates a discount code of 20 %; fields replace or add to the
// request's body, and null removes a field.
func (c *Caller) Discount(t testing.TB, fields map[string]any) api.Discount {
	t.Helper()
	body := map[string]any{"code": "LAUNCH20", "percentOff": 20}
	maps.Copy(body, fields)
	var d api.Discount
	c.Call(t, "POST", "/v1/me/commerce/discounts", body).Into(t, http.StatusCreated, &d)
	return d
}

// Product creates a product with an SKU of its own; fields replace or add to the
// request's body.
func (c *Caller) Product(t testing.TB, fields map[string]any) api.Product {
	t.Helper()
	body := map[string]any{"externalId": id.New(id.Product), "name": "Blue mug", "priceCents": 1999, "stock": 40}
	maps.Copy(body, fields)
	var p api.Product
	c.Call(t, "POST", "/v1/me/catalog/products", body).Into(t, http.StatusCreated, &p)
	return p
}

// Webhook registers an endpoint for these events, or for all if none are given.
func (c *Caller) Webhook(t testing.TB, url string, events ...string) api.WebhookEndpoint {
	t.Helper()
	body := map[string]any{"url": url}
	if events != nil {
		body["events"] = events
	}
	var w api.WebhookEndpoint
	c.Call(t, "POST", "/v1/me/webhooks", body).Into(t, http.StatusCreated, &w)
	return w
}

// RestreamTarget adds a restream target with an address.
func (c *Caller) RestreamTarget(t testing.TB, rtmpURL string) api.RestreamTarget {
	t.Helper()
	var target api.RestreamTarget
	body := map[string]any{"name": "Our channel", "platform": "custom", "rtmpUrl": rtmpURL}
	c.Call(t, "POST", "/v1/me/restream/targets", body).Into(t, http.StatusCreated, &target)
	return target
}

// SetPlan changes the plan of the caller's tenant directly in the database, for
// tests that need more than FREE allows.
func (c *Caller) SetPlan(t testing.TB, tier string) {
	t.Helper()
	q := db.New(c.server.Pool)
	tenant, err := q.GetTenant(t.Context(), c.TenantID)
	must(t, err)
	must(t, q.SetTenantPlan(t.Context(), db.SetTenantPlanParams{ID: c.TenantID, Plan: tier, Now: tenant.UpdatedAt}))
}

// SetTenantStatus changes the status of the caller's tenant directly in the database.
func (c *Caller) SetTenantStatus(t testing.TB, status string) {
	t.Helper()
	tenant, err := db.New(c.server.Pool).GetTenant(t.Context(), c.TenantID)
	must(t, err)
	_, err = db.New(c.server.Pool).SetTenantStatus(t.Context(), db.SetTenantStatusParams{
		ID: c.TenantID, Status: status, Now: tenant.UpdatedAt,
	})
	must(t, err)
}

// Response is an answer with its whole body.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// Call sends a request with body as JSON, or without a body if it is nil. A
// string or []byte is sent unchanged.
func (c *Caller) Call(t testing.TB, method, path string, body any) Response {
	t.Helper()
	var raw []byte
	switch b := body.(type) {
	case nil:
	case string:
		raw = []byte(b)
	case []byte:
		raw = b
	default:
		var err error
		raw, err = json.Marshal(body)
		must(t, err)
	}
	r, err := http.NewRequestWithContext(t.Context(), method, c.server.URL+path, bytes.NewReader(raw))
	must(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	return c.Do(t, r)
}

// Do sends a request with the caller's token.
func (c *Caller) Do(t testing.TB, r *http.Request) Response {
	t.Helper()
	if c.Token != "" {
		r.Header.Set("Authorization", "Bearer "+c.Token)
	}
	resp, err := c.server.client.Do(r)
	must(t, err)
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	must(t, err)
	return Response{resp.StatusCode, resp.Header, body}
}

// Is requires the status.
func (r Response) Is(t testing.TB, status int) Response {
	t.Helper()
	if r.Status != status {
		t.Fatalf("answered %d instead of %d: %s", r.Status, status, r.Body)
	}
	return r
}

// Into requires the status and decodes the body.
func (r Response) Into(t testing.TB, status int, v any) {
	t.Helper()
	r.Is(t, status)
	if err := json.Unmarshal(r.Body, v); err != nil {
		t.Fatalf("%v: %s", err, r.Body)
	}
}

// Problem requires a problem with this status and code.
func (r Response) Problem(t testing.TB, status int, code string) api.Problem {
	t.Helper()
	var p api.Problem
	r.Into(t, status, &p)
	if got := r.Header.Get("Content-Type"); got != "application/problem+json" {
		t.Fatalf("Content-Type %q: %s", got, r.Body)
	}
	if p.Code != code {
		t.Fatalf("code %q instead of %q: %s", p.Code, code, r.Body)
	}
	return p
}

// NextPage returns the path of the next page in the Link header, or "" on the last page.
func (r Response) NextPage(t testing.TB) string {
	t.Helper()
	link := r.Header.Get("Link")
	if link == "" {
		return ""
	}
	path, ok := strings.CutPrefix(link, "<"+PublicURL)
	path, isNext := strings.CutSuffix(path, `>; rel="next"`)
	if !ok || !isNext {
		t.Fatalf("Link: %s", link)
	}
	return path
}

// SetPushCredentials enables pushes to all platforms in a project.
func (c *Caller) SetPushCredentials(t testing.TB, projectID string) {
	t.Helper()
	at := "/v1/me/push/projects/" + projectID + "/credentials/"
	c.Call(t, "POST", at+"ios-push", pushtest.IosCredentials(t)).Is(t, http.StatusCreated)
	c.Call(t, "POST", at+"cloud-push", pushtest.CloudCredentials(t)).Is(t, http.StatusCreated)
}

// Device registers a device in the project "launch". fields replace or add fields of the request.
func (c *Caller) Device(t testing.TB, userID, platform, token string, fields map[string]any) api.PushDevice {
	t.Helper()
	body := map[string]any{"userId": userID, "platform": platform, "token": token, "projectId": "launch"}
	maps.Copy(body, fields)
	var d api.PushDevice
	c.Call(t, "POST", "/v1/me/push/devices", body).Into(t, http.StatusCreated, &d)
	return d
}
