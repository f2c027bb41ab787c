package handlers_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers"
	"showfloor/handlers/pipeline"
	"showfloor/internal/base/ratelimit"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/redistest"
)

// hourly is a rate whose bucket doesn't refill during a test.
func hourly(burst int) ratelimit.Rate {
	return ratelimit.Rate{Events: 1, Per: time.Hour, Burst: burst}
}

func inMemory() *ratelimit.Limiter {
	return ratelimit.New(ratelimit.NewMemory(time.Now), nil, slog.New(slog.DiscardHandler))
}

// onBothEngines runs a test with limits that are counted in memory, and with limits that are
// counted in Redis.
func onBothEngines(t *testing.T, limits pipeline.Limits, test func(t *testing.T, s *apitest.Server)) {
	t.Helper()
	t.Run("memory", func(t *testing.T) {
		t.Parallel()
		limits := limits
		limits.Limiter = inMemory()
		test(t, apitest.New(t, apitest.Options{Limits: limits, TrustedProxies: loopback()}))
	})
	t.Run("redis", func(t *testing.T) {
		t.Parallel()
		shared, err := ratelimit.NewRedis(redistest.New(t).URL, time.Minute)
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, shared.Close()) })
		limits := limits
		limits.Limiter = ratelimit.New(ratelimit.NewMemory(time.Now), shared, slog.New(slog.DiscardHandler))
		test(t, apitest.New(t, apitest.Options{Limits: limits, TrustedProxies: loopback()}))
	})
}

func loopback() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")} }

// behind sends a request that a proxy forwards for this address.
func behind(t *testing.T, c *apitest.Caller, s *apitest.Server, ip, method, path, body string) apitest.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("X-Forwarded-For", ip)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	return c.Do(t, r)
}

// limited requires a 429 with the time to wait.
func limited(t *testing.T, r apitest.Response, policy string) api.Problem {
	t.Helper()
	p := r.Problem(t, http.StatusTooManyRequests, "rate_limited")
	after, err := strconv.Atoi(r.Header.Get("Retry-After"))
	require.NoError(t, err)
	require.Positive(t, after)
	require.LessOrEqual(t, after, 3600)
	require.Contains(t, r.Header.Get("RateLimit"), `"`+policy+`";r=0;t=`)
	require.Contains(t, p.Message, "try again in "+strconv.Itoa(after)+" second")
	return p
}

func TestEachCallerHasALimit(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Caller: hourly(4)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		key := owner.Key(t) // the owner's first call
		require.Equal(t, `"caller";q=4;w=14400`, owner.Call(t, "GET", "/v1/me", nil).Is(t, 200).Header.Get("RateLimit-Policy"))
		r := owner.Call(t, "GET", "/v1/me/streams/none", nil).Is(t, 404)
		require.Regexp(t, `^"caller";r=1;t=108\d\d$`, r.Header.Get("RateLimit"), "every answer has it")
		owner.Call(t, "POST", "/v1/me/streams", "{").Is(t, 400)
		p := limited(t, owner.Call(t, "GET", "/v1/me", nil), "caller")
		require.Contains(t, p.Message, "too many requests: 1 an hour are allowed, and up to 4 at once")

		// A key has a limit of its own. A refusal for a missing scope counts too.
		for range 4 {
			key.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 403, "forbidden")
		}
		limited(t, key.Call(t, "GET", "/v1/me", nil), "caller")
		limited(t, key.Call(t, "GET", "/v1/auth/me", nil), "caller")
		s.Register(t).Call(t, "GET", "/v1/me", nil).Is(t, 200)
	})
}

// TestATenantHasALimitOverAllItsCallers counts keys and users together. The refusal names the
// tenant's limit, and a request that the caller's own limit refuses isn't counted.
func TestATenantHasALimitOverAllItsCallers(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Caller: hourly(4), Tenant: hourly(7)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		colleague := owner.Colleague(t, "VIEWER")
		key := owner.Key(t) // the tenant's first call
		r := owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		require.Equal(t, `"caller";q=4;w=14400, "tenant";q=7;w=25200`, r.Header.Get("RateLimit-Policy"))
		require.Regexp(t, `^"caller";r=2;t=\d+, "tenant";r=5;t=\d+$`, r.Header.Get("RateLimit"), "the tighter one first")
		owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		for range 3 {
			limited(t, owner.Call(t, "GET", "/v1/me", nil), "caller")
		}
		colleague.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		key.Call(t, "GET", "/v1/me/streams", nil).Problem(t, 403, "forbidden")
		r = colleague.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		require.Regexp(t, `^"tenant";r=0;t=\d+, "caller";r=2;t=\d+$`, r.Header.Get("RateLimit"))
		for _, c := range []*apitest.Caller{colleague, key} {
			p := limited(t, c.Call(t, "GET", "/v1/me", nil), "tenant")
			require.Contains(t, p.Message, "too many requests of your tenant's users and API keys together: 1 an hour are allowed, and up to 7 at once")
		}
		other := s.Register(t)
		other.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	})
}

// TestParticipantsDontUseUpTheTenantsLimit checks that an audience can't lock out the tenant's
// own servers.
func TestParticipantsDontUseUpTheTenantsLimit(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Tenant: hourly(10)}})
	owner := s.Register(t)
	session := owner.Session(t, nil)
	guest := owner.Ticket(t, session.ID, "guest", nil)
	for range 20 {
		guest.Call(t, "GET", "/v1/me/sessions/"+session.ID+"/participants", nil).Is(t, 200)
	}
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
}

func TestPublicOperationsAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Auth: hourly(2), Email: hourly(100)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		anyone := s.With(t, "")
		login := `{"email":"nobody@example.test","password":"wrong password"}`
		for i, ip := range []string{"203.0.113.1", "203.0.113.2", "2001:db8:1:2::1", "2001:db8:1:3::1"} {
			other := []string{"1.2.3.4, 203.0.113.1", "203.0.113.2", "2001:db8:1:2::ffff", "2001:db8:1:3:4:5:6:7"}[i]
			r := behind(t, anyone, s, ip, "POST", "/v1/auth/login", login).Is(t, 401)
			require.Equal(t, `"auth";q=2;w=7200, "email";q=100;w=360000`, r.Header.Get("RateLimit-Policy"))
			require.Regexp(t, `^"auth";r=1;t=\d+, "email";r=\d+;t=\d+$`, r.Header.Get("RateLimit"))
			behind(t, anyone, s, other, "POST", "/v1/auth/login", "{").Is(t, 400)
			p := limited(t, behind(t, anyone, s, ip, "POST", "/v1/auth/login", login), "auth")
			require.Contains(t, p.Message, "attempts from this address")
		}
		behind(t, anyone, s, "203.0.113.1", "GET", "/v1/health", "").Is(t, 200)
	})
}

// attemptLogin logs in with a wrong password from an address.
func attemptLogin(t *testing.T, s *apitest.Server, ip, email string) apitest.Response {
	t.Helper()
	return behind(t, s.With(t, ""), s, ip, "POST", "/v1/auth/login", `{"email":"`+email+`","password":"wrong password"}`)
}

// TestEMailAddressesAreLimitedPerNetwork checks the limit for all spellings of an address,
// whether or not a user has it.
func TestEMailAddressesAreLimitedPerNetwork(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Email: hourly(3)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		for _, email := range []string{owner.Email, strings.ToUpper(owner.Email), strings.Replace(owner.Email, "e", "E", 1)} {
			attemptLogin(t, s, "203.0.113.1", email).Problem(t, 401, "invalid_credentials")
		}
		p := limited(t, attemptLogin(t, s, "203.0.113.1", owner.Email), "email")
		require.Contains(t, p.Message, "attempts for this e-mail address from this network")
		r := attemptLogin(t, s, "203.0.113.1", `x","email":"`+owner.Email)
		limited(t, r, "email") // the limit counts the last of two values, as the handler reads it

		for range 3 {
			attemptLogin(t, s, "203.0.113.1", "nobody@example.test").Problem(t, 401, "invalid_credentials")
		}
		unknown := limited(t, attemptLogin(t, s, "203.0.113.1", "nobody@example.test"), "email")
		seconds := regexp.MustCompile(`in \d+ seconds`)
		require.Equal(t, seconds.ReplaceAllString(p.Message, ""), seconds.ReplaceAllString(unknown.Message, ""), "the answer doesn't tell who exists")
		attemptLogin(t, s, "203.0.113.1", "somebody@example.test").Is(t, 401)
	})
}

// TestWrongPasswordsDoNotLockOutOtherUsers sends wrong passwords from one network, for a tenant's user
// and for the super admin, who log in from another one.
func TestWrongPasswordsDoNotLockOutOtherUsers(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Email: hourly(3)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner, root := s.Register(t), s.Admin(t, platform.SuperAdmin)
		for path, email := range map[string]string{"/v1/auth/login": owner.Email, "/v1/admin/auth/login": root.Email} {
			login := func(ip, password string) apitest.Response {
				t.Helper()
				return behind(t, s.With(t, ""), s, ip, "POST", path, `{"email":"`+email+`","password":"`+password+`"}`)
			}
			for range 3 {
				login("203.0.113.66", "wrong password").Problem(t, 401, "invalid_credentials")
			}
			limited(t, login("203.0.113.66", apitest.Password), "email")
			login("203.0.113.7", apitest.Password).Is(t, 201)
		}
	})
}

// TestGuessingFromManyNetworksIsLimited checks that failed logins for one address count over all
// networks. A network from which the user has logged in stays exempt.
func TestGuessingFromManyNetworksIsLimited(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Failures: hourly(4)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		login := func(ip string) apitest.Response {
			t.Helper()
			return behind(t, s.With(t, ""), s, ip, "POST", "/v1/auth/login", `{"email":"`+owner.Email+`","password":"`+apitest.Password+`"}`)
		}
		login("203.0.113.7").Is(t, 201)
		for i := range 4 {
			attemptLogin(t, s, "198.51.100."+strconv.Itoa(i), owner.Email).Problem(t, 401, "invalid_credentials")
			login("203.0.113.7").Is(t, 201) // successes don't count
		}
		p := limited(t, attemptLogin(t, s, "198.51.100.9", owner.Email), "failures")
		require.Contains(t, p.Message, "failed logins for this e-mail address")
		limited(t, login("198.51.100.10"), "failures")
		login("203.0.113.7").Is(t, 201)
		attemptLogin(t, s, "198.51.100.9", "somebody@example.test").Is(t, 401)
	})
}

// TestOneSiteCannotLockOutUsers checks that one network, or all /64 networks of one /48, use up at
// most a tenth of an address's failed logins.
func TestOneSiteCannotLockOutUsers(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Failures: hourly(20)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		for _, site := range []string{"203.0.113.%d", "2001:db8:1:%d::1"} {
			at := func(i int) string {
				if strings.HasPrefix(site, "203") {
					return "203.0.113.1"
				}
				return fmt.Sprintf(site, i)
			}
			for i := range 2 {
				attemptLogin(t, s, at(i), owner.Email).Problem(t, 401, "invalid_credentials")
			}
			for i := range 30 {
				limited(t, attemptLogin(t, s, at(i), owner.Email), "failures-network")
			}
		}
		behind(t, s.With(t, ""), s, "198.51.100.1", "POST", "/v1/auth/login", `{"email":"`+owner.Email+`","password":"`+apitest.Password+`"}`).Is(t, 201)
	})
}

// TestSignupMailsOfOneNetworkAreLimited checks that other networks can still ask for a code when one
// network has used up its mails.
func TestSignupMailsOfOneNetworkAreLimited(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Mails: hourly(2)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		email := newEmail()
		send := func(ip string) apitest.Response {
			t.Helper()
			body := `{"tenantName":"Acme","name":"Ada","email":"` + email + `","password":"` + apitest.Password + `"}`
			return behind(t, s.With(t, ""), s, ip, "POST", "/v1/auth/send-code", body)
		}
		send("203.0.113.1").Is(t, 201)
		behind(t, s.With(t, ""), s, "203.0.113.1", "POST", "/v1/auth/resend-code", `{"email":"`+email+`"}`).Is(t, 201)
		limited(t, send("203.0.113.1"), "mails")
		send("203.0.113.2").Is(t, 201)
	})
}

// TestUnknownCaptureURLsAreLimited checks that made-up tokens count against the network that
// sends them, not against clients that use existing capture URLs.
func TestUnknownCaptureURLsAreLimited(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Misses: hourly(5)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		path := apitest.CapturePath(t, s.Register(t).CaptureURL(t))
		send := func(ip, method, path string) apitest.Response {
			t.Helper()
			return behind(t, s.With(t, ""), s, ip, method, path, "")
		}
		for i := range 5 {
			method := []string{"POST", "GET", "MADEUP"}[i%3]
			send("203.0.113.1", method, "/v1/webhooks/capture/unknown-"+strconv.Itoa(i)).Problem(t, 404, "not_found")
			send("203.0.113.1", method, path).Is(t, 200)
		}
		p := limited(t, send("203.0.113.1", "POST", "/v1/webhooks/capture/unknown-6"), "misses")
		require.Contains(t, p.Message, "capture URLs that don't exist")
		limited(t, send("203.0.113.1", "MADEUP", "/v1/webhooks/capture/unknown-7/x"), "misses")
		send("203.0.113.2", "POST", "/v1/webhooks/capture/unknown-8").Is(t, 404)
		send("203.0.113.2", "POST", path).Is(t, 200)
	})
}

// TestDeletedCaptureURLsCountAsUnknownAfterADay checks that senders have a day to learn of a
// deletion. A token that was found to be deleted costs no further query once its network has used
// up its misses.
func TestDeletedCaptureURLsCountAsUnknownAfterADay(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Misses: hourly(5)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		live, deleted := apitest.CapturePath(t, owner.CaptureURL(t)), owner.CaptureURL(t)
		path := apitest.CapturePath(t, deleted)
		owner.Call(t, "POST", "/v1/me/webhook-tester/"+deleted.Token+"/delete", nil).Is(t, 200)
		send := func(ip, path string) apitest.Response {
			t.Helper()
			return behind(t, s.With(t, ""), s, ip, "POST", path, "")
		}
		s.Clock.Advance(24 * time.Hour)
		for range 10 {
			send("203.0.113.1", path).Problem(t, 404, "not_found")
		}
		s.Clock.Advance(time.Second)
		for range 5 {
			send("203.0.113.1", path).Problem(t, 404, "not_found")
		}
		limited(t, send("203.0.113.1", path), "misses")
		limited(t, send("203.0.113.1", "/v1/webhooks/capture/unknown"), "misses")
		send("203.0.113.1", live).Is(t, 200)
		send("203.0.113.2", path).Is(t, 404)
	})
}

// TestGarbageIsRefused checks that a network with made-up credentials is limited, and that
// clients of the same network with valid credentials are not.
func TestGarbageIsRefused(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Guesses: hourly(5)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		key := owner.Key(t, "account:read")
		fresh := owner.Key(t, "account:read") // not used before the made-up credentials arrive
		garbage := s.With(t, "sk_live_"+strings.Repeat("x", 32))
		call := func(c *apitest.Caller, ip string) apitest.Response {
			t.Helper()
			return behind(t, c, s, ip, "GET", "/v1/me", "")
		}
		call(key, "203.0.113.1").Is(t, 200)
		for i := range 5 {
			r := call(garbage, "203.0.113.1")
			r.Problem(t, 401, "unauthenticated")
			require.Contains(t, r.Header.Get("RateLimit"), `"guesses";r=`+strconv.Itoa(4-i))
		}
		for _, token := range []string{garbage.Token, "another", "sk_live_short", owner.Token + "x", "eyJhbGciOiJub25lIn0.e30."} {
			limited(t, call(s.With(t, token), "203.0.113.1"), "guesses")
		}
		call(garbage, "203.0.113.2").Is(t, 401)
		call(s.With(t, ""), "203.0.113.1").Problem(t, 401, "unauthenticated") // a missing credential doesn't count as a guess
		for _, good := range []*apitest.Caller{owner, key, fresh, owner.Colleague(t, "VIEWER")} {
			call(good, "203.0.113.1").Is(t, 200)
		}
	})
}

// TestACredentialThatEndedIsCountedByItself checks that repeated calls with a revoked key cost no
// query each and don't limit other callers.
func TestACredentialThatEndedIsCountedByItself(t *testing.T) {
	t.Parallel()
	onBothEngines(t, pipeline.Limits{Guesses: hourly(3)}, func(t *testing.T, s *apitest.Server) {
		t.Helper()
		owner := s.Register(t)
		key, other := owner.Key(t, "account:read"), owner.Key(t, "account:read")
		var keys []api.APIKey
		owner.Call(t, "GET", "/v1/me/api-keys", nil).Into(t, 200, &keys)
		for _, k := range keys {
			owner.Call(t, "DELETE", "/v1/me/api-keys/"+k.ID, nil).Is(t, 200)
		}
		for range 3 {
			key.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "key_revoked")
		}
		limited(t, key.Call(t, "GET", "/v1/me", nil), "guesses")
		other.Call(t, "GET", "/v1/me", nil).Problem(t, 401, "key_revoked")
		owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
		s.With(t, "garbage").Call(t, "GET", "/v1/me", nil).Is(t, 401)
	})
}

// TestWithoutRedisLimitsGoOn stops Redis while clients call the server.
func TestWithoutRedisLimitsGoOn(t *testing.T) {
	t.Parallel()
	redis := redistest.New(t)
	shared, err := ratelimit.NewRedis(redis.URL, time.Minute)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Close()) })
	limiter := ratelimit.New(ratelimit.NewMemory(time.Now), shared, slog.New(slog.DiscardHandler))
	s := apitest.New(t, apitest.Options{
		Limits: pipeline.Limits{Limiter: limiter, Caller: hourly(100)},
		Checks: []handlers.Check{{Name: "limits", Engine: limiter.Engine, Run: limiter.Check}},
	})
	owner := s.Register(t)
	engine := func() string {
		var r api.Readiness
		s.With(t, "").Call(t, "GET", "/v1/health/ready", nil).Into(t, 200, &r)
		return r.Checks[len(r.Checks)-1].Engine
	}
	require.Equal(t, "Redis at REDIS_URL", engine())
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
	redis.Stop(t)
	var allowed atomic.Int64
	var wg sync.WaitGroup
	for range 10 {
		wg.Go(func() {
			for range 20 {
				if r := owner.Call(t, "GET", "/v1/me", nil); r.Status == http.StatusOK {
					allowed.Add(1)
				} else if r.Status != http.StatusTooManyRequests {
					t.Errorf("answered %d", r.Status)
				}
			}
		})
	}
	wg.Wait()
	require.Equal(t, int64(100), allowed.Load(), "memory limits, from a full bucket")
	apitest.Until(t, "readiness to tell of it", func() bool { return strings.HasPrefix(engine(), "memory") })
	redis.Start(t)
	apitest.Until(t, "Redis to be used again", func() bool { return engine() == "Redis at REDIS_URL" })
	owner.Call(t, "GET", "/v1/me", nil).Is(t, 200)
}

func TestTheAuditLogHasTheAddressBehindTheProxy(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{TrustedProxies: loopback()})
	owner := s.Register(t)
	behind(t, owner, s, "203.0.113.77", "POST", "/v1/me/streams", `{"name":"x"}`).Is(t, 201)
	var ip string
	require.NoError(t, s.Pool.QueryRow(t.Context(),
		"SELECT ip FROM audit_entries WHERE tenant_id = $1 AND entity = 'stream'", owner.TenantID).Scan(&ip))
	require.Equal(t, "203.0.113.77", ip)
}

// TestLimitClasses checks that the document's rate limits are consistent.
func TestLimitClasses(t *testing.T) {
	t.Parallel()
	unlimited := map[string]bool{}
	for _, op := range operations(t) {
		stated, _ := op.spec.Extensions["x-rate-limit"].(string)
		switch {
		case stated == "none":
			unlimited[op.id] = true
			for _, scheme := range []string{"tenantToken", "userToken", "adminToken", "participantToken"} {
				for _, alternative := range *op.spec.Security {
					require.NotContains(t, alternative, scheme, "%s: callers have a limit", op.id)
				}
			}
		case strings.HasPrefix(op.path, "/v1/auth/") && op.method == http.MethodPost:
			want, special := map[string]string{
				"login": "login", "loginConsole": "login", "sendCode": "mail", "resendCode": "mail",
				"logoutConsole": "", "endImpersonation": "", // they check no password
			}[op.id]
			if !special {
				want = "auth"
			}
			require.Equal(t, want, stated, op.id)
		}
	}
	require.True(t, unlimited["getHealth"])
	require.True(t, unlimited["ingestPublish"])
}
