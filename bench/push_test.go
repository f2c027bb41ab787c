package bench

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sideshow/apns2"
	"github.com/sideshow/apns2/token"
	"github.com/stretchr/testify/require"

	"showfloor/internal/areas"
	"showfloor/internal/media/hub"
	"showfloor/internal/outflow/push"
	"showfloor/internal/outflow/push/apns"
	"showfloor/internal/outflow/push/provider"
	rooms "showfloor/internal/rooms/call"
	"showfloor/internal/testkit/pushtest"
	"showfloor/jobs"
)

const (
	pushRounds = 7
	// pushUsers is the number of users of a notification, with a device each.
	pushUsers = 5000
	// pushSenders is how many pushes of one tenant the server has in flight, and so has the baseline.
	pushSenders = 288
	// pushRings is the number of calls.
	pushRings = 150
)

// BenchmarkPush notifies 5000 users, until the last answer is stored. The baseline is a loop with apns2 to the same sink, a process of its
// own, which stores nothing.
func BenchmarkPush(b *testing.B) {
	a, sink, users := newPushing(b)
	stop := a.runJobs(b)
	defer stop()
	bare := apnsLoop(b, sink)
	a.notify(b, users) // the connections
	bare()
	var sent, plain, ratio []float64
	for b.Loop() {
		for range pushRounds {
			plain = append(plain, pushUsers/bare().Seconds())
			sent = append(sent, pushUsers/a.notify(b, users).Seconds())
			ratio = append(ratio, sent[len(sent)-1]/plain[len(plain)-1])
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(quantile(plain, .5), "apns2/s")
	b.ReportMetric(quantile(sent, .5), "pushes/s")
	b.ReportMetric(quantile(ratio, .5), "ratio") // within one round
}

// BenchmarkRinging measures the time from the invite to the arrival of the ringing push at the sink, while another tenant's notifications
// to 5000 users are sent one after the other.
func BenchmarkRinging(b *testing.B) {
	a, sink, users := newPushing(b)
	stop := a.runJobs(b)
	defer stop()
	require.NoError(b, a.Sessions.Beat(b.Context(), 0))
	device := push.DeviceInput{UserID: "ben", ProjectID: "launch", Platform: "ios", Kind: push.VoIP, Token: "ring"}
	_, err := a.Pushes.RegisterPushDevice(b.Context(), a.caller, device)
	require.NoError(b, err)
	ring := func() float64 {
		start := time.Now()
		_, err := a.Calls.InviteCall(b.Context(), a.caller, rooms.Input{FromUserID: "ada", ToUserID: "ben", Kind: "video", ProjectID: new("launch")})
		require.NoError(b, err)
		return milliseconds((<-sink.rings).Sub(start))
	}
	var quiet, busy []float64
	var notified atomic.Int64
	for b.Loop() {
		for range pushRings {
			quiet = append(quiet, ring())
		}
		ctx, end := context.WithCancel(b.Context())
		var work sync.WaitGroup
		work.Go(func() {
			for ctx.Err() == nil {
				if _, err := a.Pushes.NotifyUsers(ctx, a.caller, push.Notice{ProjectID: "launch", UserIDs: users, Title: "We are live"}); err == nil {
					notified.Add(1)
				}
			}
		})
		for range pushRings {
			busy = append(busy, ring())
		}
		end()
		work.Wait()
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(notified.Load()), "notifications")
	b.ReportMetric(quantile(quiet, .5), "quiet-p50-ms")
	b.ReportMetric(quantile(quiet, .95), "quiet-p95-ms")
	b.ReportMetric(quantile(busy, .5), "p50-ms")
	b.ReportMetric(quantile(busy, .95), "p95-ms")
}

// newPushing returns the services with credentials, and users with a device each.
func newPushing(b *testing.B) (*services, *pushSink, []string) {
	b.Helper()
	sink := newPushSink(b)
	a := newServicesWith(b, hub.New(hub.Config{}), time.Now, areas.Settings{
		SFUURL: "ws://localhost/sfu", Push: provider.Addresses{APNS: sink.url, Roots: sink.roots},
	})
	_, err := a.Pushes.SetIosPushCredentials(b.Context(), a.caller, "launch", push.IosInput{
		Enabled: true, TeamID: new("TEAM"), KeyID: new("KEY"), BundleID: new("com.acme.shop"), PrivateKey: new(pushtest.SigningKey(b)),
	})
	require.NoError(b, err)
	_, err = a.pool.Exec(b.Context(), `INSERT INTO push_devices (tenant_id, project_id, user_id, platform, token, token_hash, registered_at, last_seen_at)
		SELECT $1, 'launch', 'user-' || n, 'ios', md5(n::text) || md5('x' || n), sha256(n::text::bytea), now(), now() FROM generate_series(1, $2) n`,
		a.caller.TenantID, pushUsers)
	require.NoError(b, err)
	users := make([]string, pushUsers)
	for i := range users {
		users[i] = fmt.Sprint("user-", i+1)
	}
	return a, sink, users
}

// runJobs starts the server's queues.
func (a *services) runJobs(b *testing.B) (stop func()) {
	b.Helper()
	client, err := jobs.New(jobs.Config{Pool: a.pool, Areas: a.Areas, Node: "node_bench", Log: quiet()})
	require.NoError(b, err)
	require.NoError(b, client.Start(context.WithoutCancel(b.Context())))
	return func() { require.NoError(b, client.Stop(context.Background())) }
}

// notify sends one notification and returns the time until its last answer is stored.
func (a *services) notify(b *testing.B, users []string) time.Duration {
	b.Helper()
	start := time.Now()
	got, err := a.Pushes.NotifyUsers(b.Context(), a.caller, push.Notice{ProjectID: "launch", UserIDs: users, Title: "We are live", Body: "Come in"})
	require.NoError(b, err)
	require.Equal(b, []int64{pushUsers, pushUsers, 0}, []int64{got.Attempted, got.Delivered, got.Pending})
	return time.Since(start)
}

// apnsLoop returns a function that sends pushUsers pushes with apns2 and returns the time that it took.
func apnsLoop(b *testing.B, sink *pushSink) func() time.Duration {
	b.Helper()
	key, err := apns.ParseKey([]byte(pushtest.SigningKey(b)))
	require.NoError(b, err)
	client := apns2.NewTokenClient(&token.Token{AuthKey: key, KeyID: "KEY", TeamID: "TEAM"})
	client.Host = sink.url
	client.HTTPClient = &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: sink.roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true, MaxConnsPerHost: 8,
	}}
	payload := []byte(`{"aps":{"alert":{"title":"We are live","body":"Come in"},"sound":"default"}}`)
	return func() time.Duration {
		start := time.Now()
		var at atomic.Int64
		var work sync.WaitGroup
		for range pushSenders {
			work.Go(func() {
				for n := at.Add(1); n <= pushUsers; n = at.Add(1) {
					r, err := client.Push(&apns2.Notification{
						DeviceToken: fmt.Sprintf("%064x", n), Topic: "com.acme.shop", Payload: payload, CollapseID: "ntf_1", Priority: apns2.PriorityHigh,
						Expiration: start.Add(time.Hour),
					})
					if err != nil || !r.Sent() {
						b.Errorf("%v %v", r, err)
					}
				}
			})
		}
		work.Wait()
		return time.Since(start)
	}
}

// pushSink is a process that accepts all pushes.
type pushSink struct {
	url   string
	roots *x509.CertPool
	// rings has the times at which pushes to the device "ring" arrived.
	rings chan time.Time
}

const pushSinkEnv = "SHOWFLOOR_BENCH_PUSH_SINK"

func newPushSink(b *testing.B) *pushSink {
	b.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestPushSink$", "-test.v=false")
	cmd.Env, cmd.Stderr = append(os.Environ(), pushSinkEnv+"=1"), os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(b, err)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	lines := bufio.NewReader(out)
	line, err := lines.ReadString('\n')
	require.NoError(b, err)
	s := &pushSink{url: strings.TrimSpace(line), roots: x509.NewCertPool(), rings: make(chan time.Time, 10)}
	same := httptest.NewTLSServer(nil) // all of them have the same certificate
	s.roots.AddCert(same.Certificate())
	same.Close()
	read := make(chan struct{})
	go func() {
		defer close(read)
		for {
			if line, err := lines.ReadString('\n'); err != nil {
				return
			} else if strings.TrimSpace(line) == "ring" {
				s.rings <- time.Now()
			}
		}
	}()
	b.Cleanup(func() {
		require.NoError(b, in.Close())
		<-read
		require.NoError(b, cmd.Wait())
	})
	return s
}

// TestPushSink is the sink's process. As a test it does nothing.
func TestPushSink(t *testing.T) {
	if os.Getenv(pushSinkEnv) == "" {
		t.Skip("runs as a child of the benchmarks")
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Apns-Id", "1")
		if strings.HasSuffix(r.URL.Path, "/ring") {
			fmt.Println("ring")
		}
	}))
	server.EnableHTTP2 = true
	server.StartTLS()
	fmt.Println(server.URL)
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it or ends
	server.CloseClientConnections()
	server.Close()
}
