package bench

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	loginFlood  = 64                    // clients that try passwords, together about 1,000 a second:
	loginPause  = 64 * time.Millisecond // between an answer and the next attempt
	loginRounds = 3
	loginTime   = 5 * time.Second // duration of each phase of a round
)

// BenchmarkLogins measures health checks and reads without logins and with many.
// Hashing a password is expensive on purpose and must not slow other requests
// down. The rate limits, which would refuse the flood, are off.
func BenchmarkLogins(b *testing.B) {
	s := startServer(b, serverBinary(b), publicDir(b), "RATE_LIMIT_AUTH=off", "RATE_LIMIT_EMAIL=off", "RATE_LIMIT_FAILURES=off", "RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off", "LOG_LEVEL=warn")
	var login struct {
		Token string `json:"token"`
	}
	s.post(b, "/v1/auth/register", "", map[string]string{
		"tenantName": "Bench", "name": "Bench", "email": "bench@example.com", "password": "correct horse battery",
	}, &login)
	addr := strings.TrimPrefix(s.api, "http://")
	others := traffic{Addr: addr, Tokens: []string{login.Token}, Clients: 8, For: loginTime, Pause: 20 * time.Millisecond, Calls: []call{
		{Name: "health", Weight: 1, Method: http.MethodGet, Path: "/v1/health"},
		{Name: "read", Weight: 1, Method: http.MethodGet, Path: "/v1/me"},
	}}
	flood := traffic{Addr: addr, Clients: loginFlood, For: loginTime, Pause: loginPause, Calls: []call{{
		Name: "login", Weight: 1, Method: http.MethodPost, Path: "/v1/auth/login",
		Body: `{"email":"bench@example.com","password":"a wrong password"}`,
	}}}
	var quiet, busy, logins outcome
	for b.Loop() {
		for range loginRounds {
			quiet.add(others.start(b)())
			flooded := flood.start(b)
			busy.add(others.start(b)())
			logins.add(flooded())
		}
	}
	require.Zero(b, busy.failures()+quiet.failures()+logins.failures())
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(logins.Statuses[http.StatusUnauthorized])/(loginRounds*loginTime).Seconds(), "checked/s")
	b.ReportMetric(float64(logins.Statuses[http.StatusTooManyRequests])/(loginRounds*loginTime).Seconds(), "turned-away/s")
	for _, name := range []string{"health", "read"} {
		calm, flooded := quantile(quiet.of(name), .99), quantile(busy.of(name), .99)
		b.ReportMetric(milliseconds(calm), name+"-quiet-p99-ms")
		b.ReportMetric(milliseconds(flooded), name+"-flood-p99-ms")
		b.ReportMetric(float64(flooded)/float64(calm), name+"-ratio")
	}
	s.stop(b)
}
