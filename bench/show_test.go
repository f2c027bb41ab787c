package bench

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	showViewers    = 2000
	showHLSViewers = 300
	showTime       = 20 * time.Second
	showHearts     = 200 // a second, of all viewers together
	showMessages   = 10  // a second
)

// BenchmarkShow runs the built server with one stream and 2,000 viewers, each with a realtime connection: 10 chat messages and 200
// hearts a second, a pin and a change of stock each second; 300 of them play LL-HLS. It prints the server's CPU by part, and the time
// from the host's request to the arrival at 99 % of the viewers. The players have less priority, because they use 0.7 of a core
// themselves. The baseline is a bare server that writes as many messages of the same size to as many TCP connections.
func BenchmarkShow(b *testing.B) {
	bin, clip := serverBinary(b), publishClip(b, 10)
	for b.Loop() {
		r := runShow(b, bin, clip)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(r.encoder, "encoder-core%")
		b.ReportMetric(r.players, "players-core%")
		b.ReportMetric(r.connections, "idle-connections-core%")
		b.ReportMetric(r.talk, "chat-pins-hearts-core%")
		b.ReportMetric(r.rate, "messages/s")
		b.ReportMetric(r.talk/r.bare, "cpu-ratio")
		b.ReportMetric(quantile(r.pins, .5), "pin-ms-p50")
		b.ReportMetric(quantile(r.pins, .99), "pin-ms-p99")
		b.ReportMetric(quantile(r.ticks, .99), "stock-ms-p99")
		b.ReportMetric(r.memory, "RSS-MiB")
	}
}

// showResult holds percents of a core, milliseconds and MiB.
type showResult struct {
	encoder, players, connections, talk, bare, rate, memory float64
	pins, ticks                                             []float64
}

func runShow(b *testing.B, bin, clip string) (r showResult) {
	b.Helper()
	s := startServer(b, bin, publicDir(b), "HTTP_MAX_PER_ADDRESS=20000", "HLS_MAX_PER_ADDRESS=10000", "RATE_LIMIT_PUBLIC=off",
		"RATE_LIMIT_CALLER=off", "RATE_LIMIT_TENANT=off", "RATE_LIMIT_AUDIENCE=off", "LOG_LEVEL=warn")
	defer s.stop(b)
	sh := openShow(b, s, showViewers)
	idle := cpuOver(b, s, 5*time.Second)
	p := startPublishers(b, s.rtmp, []string{sh.StreamKey}, clip, 300)
	defer p.stop()
	<-time.After(4 * time.Second)
	onAir := cpuOver(b, s, 5*time.Second)
	r.encoder = onAir - idle

	var playback struct {
		URL string `json:"url"`
	}
	s.post(b, "/v1/me/streams/"+sh.ID+"/playback-url", sh.owner, map[string]int{}, &playback)
	players := startHLSCrowd(b, hlsCrowdPlan{
		Root: playback.URL[:len(playback.URL)-len("index.m3u8")], Viewers: showHLSViewers, For: 2 * time.Minute, Nice: true,
	})
	<-time.After(4 * time.Second)
	watched := cpuOver(b, s, 5*time.Second)
	r.players = watched - onAir

	crowd := startShowCrowd(b, showCrowdPlan{
		Address: "ws" + s.api[len("http"):] + "/v1/realtime/websocket", Room: sh.ID, Tokens: sh.tokens,
		HeartEvery: showViewers * time.Second / showHearts,
	})
	<-time.After(4 * time.Second)
	r.connections = cpuOver(b, s, 5*time.Second) - watched // with the hearts
	crowd.arrivals(b)

	begin, cpu := time.Now(), s.cpu(b)
	sent := sh.talk(b, s)
	took := time.Since(begin).Seconds()
	r.talk = 100*(s.cpu(b)-cpu).Seconds()/took - watched
	<-time.After(time.Second)
	got, all := crowd.arrivals(b)
	r.rate = float64(all) / took
	r.pins, r.ticks = delays(b, got["prod-pin"], sent.pins), delays(b, got["stock-tick"], sent.ticks)
	r.memory = s.memory(b, "VmRSS")
	crowd.stop(b)
	players.stop(b)
	r.bare = bareBroadcast(b, r.rate/showViewers)
	return r
}

// benchShow is a stream with viewers' tokens.
type benchShow struct {
	ID        string `json:"id"`
	StreamKey string `json:"streamKey"`

	owner, host string
	tokens      []string
	products    []string
}

// openShow signs a tenant up, and makes a stream, two products and tokens for a number of viewers.
func openShow(b *testing.B, s *server, viewers int) *benchShow {
	b.Helper()
	sh := &benchShow{owner: s.register(b), tokens: make([]string, viewers)}
	s.post(b, "/v1/me/streams", sh.owner, map[string]string{"name": "Show", "mode": "LOW_LATENCY"}, sh)
	for i := range 2 {
		var product struct {
			ID string `json:"id"`
		}
		s.post(b, "/v1/me/catalog/products", sh.owner, map[string]any{"externalId": fmt.Sprint("p", i), "name": "Mug", "priceCents": 1000, "stock": 1000}, &product)
		sh.products = append(sh.products, product.ID)
	}
	sh.host = sh.token(b, s, "host", "host")
	var wg sync.WaitGroup
	slots := make(chan struct{}, 16)
	for i := range sh.tokens {
		slots <- struct{}{}
		wg.Go(func() {
			sh.tokens[i] = sh.token(b, s, fmt.Sprint("viewer", i), "viewer")
			<-slots
		})
	}
	wg.Wait()
	return sh
}

func (sh *benchShow) token(b *testing.B, s *server, user, role string) string {
	b.Helper()
	var token struct {
		Token string `json:"token"`
	}
	s.post(b, "/v1/me/streams/"+sh.ID+"/sfu-token", sh.owner, map[string]string{"userId": user, "role": role, "displayName": "Bo Lindqvist"}, &token)
	return token.Token
}

// showSent are the times of the requests whose publications viewers received.
type showSent struct{ pins, ticks []time.Time }

// talk sends chat messages for showTime, and each second a pin and a change of stock.
func (sh *benchShow) talk(b *testing.B, s *server) (sent showSent) {
	b.Helper()
	message := time.NewTicker(time.Second / showMessages)
	defer message.Stop()
	var posts sync.WaitGroup
	for i := range int(showTime.Seconds() * showMessages) {
		<-message.C
		switch i % showMessages {
		case 2:
			sent.pins = append(sent.pins, time.Now())
			sh.put(b, s, "/v1/me/shows/"+sh.ID+"/pin", map[string]string{"productId": sh.products[len(sent.pins)%2]})
		case 7: // an auction holds a unit
			sent.ticks = append(sent.ticks, time.Now())
			var auction struct {
				ID string `json:"id"`
			}
			s.post(b, "/v1/me/shows/"+sh.ID+"/auctions", sh.host, map[string]any{
				"productId": sh.products[0], "startingBidCents": 100, "bidIncrementCents": 100, "durationSec": 3600,
			}, &auction)
		}
		posts.Go(func() {
			var out struct{}
			s.post(b, "/v1/me/streams/"+sh.ID+"/chat", sh.tokens[i%len(sh.tokens)], map[string]string{
				"body": "Is it dishwasher safe?", "authorId": fmt.Sprint("viewer", i%len(sh.tokens)), "authorName": "Bo",
			}, &out)
		})
	}
	posts.Wait()
	return sent
}

func (sh *benchShow) put(b *testing.B, s *server, path string, in any) {
	b.Helper()
	body, err := json.Marshal(in)
	require.NoError(b, err)
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPut, s.api+path, bytes.NewReader(body))
	require.NoError(b, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+sh.host)
	resp, err := client().Do(r)
	require.NoError(b, err)
	require.NoError(b, resp.Body.Close())
	require.Equal(b, http.StatusOK, resp.StatusCode)
}

// delays returns the milliseconds from each sending to its arrival at each viewer. Every viewer must have received all.
func delays(b *testing.B, arrivals [][]int64, sent []time.Time) (ms []float64) {
	b.Helper()
	for _, of := range arrivals {
		require.Len(b, of, len(sent), "publications were lost")
		for i, at := range of {
			ms = append(ms, milliseconds(time.Unix(0, at).Sub(sent[i])))
		}
	}
	return ms
}

// bareBroadcast returns the CPU of a server that writes messages of a chat message's size to as many TCP connections, in percent
// of a core.
func bareBroadcast(b *testing.B, perSecond float64) float64 {
	b.Helper()
	const measured = 5 * time.Second
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(b, err)
	defer listener.Close()
	conns := make(chan net.Conn, showViewers)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns <- conn
		}
	}()
	crowd := startShowCrowd(b, showCrowdPlan{Address: listener.Addr().String(), Bare: true, Tokens: make([]string, showViewers)})
	open := make([]net.Conn, showViewers)
	for i := range open {
		open[i] = <-conns
	}
	frame := bytes.Repeat([]byte("x"), 300)
	every := time.NewTicker(time.Duration(float64(time.Second) / perSecond))
	defer every.Stop()
	cpu, begin := processCPU(b), time.Now()
	for time.Since(begin) < measured {
		<-every.C
		for _, conn := range open {
			_, err := conn.Write(frame)
			require.NoError(b, err)
		}
	}
	used := 100 * (processCPU(b) - cpu).Seconds() / time.Since(begin).Seconds()
	for _, conn := range open {
		require.NoError(b, conn.Close())
	}
	crowd.stop(b)
	return used
}
