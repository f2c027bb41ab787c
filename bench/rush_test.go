package bench

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const (
	rushBuyers = 500
	rushUnits  = 50
)

// BenchmarkShowRush lets 500 viewers of a show on the built server press Buy at the same time, on a product of 50 units. It fails
// unless there are 50 orders and 450 refusals for the stock. The time of an answer includes the payment page that the sandbox makes.
// The baseline is the same number of viewers who store a cart.
func BenchmarkShowRush(b *testing.B) {
	bin := serverBinary(b)
	for b.Loop() {
		s := startServer(b, bin, publicDir(b), "HTTP_MAX_PER_ADDRESS=20000", "RATE_LIMIT_PUBLIC=off", "RATE_LIMIT_CALLER=off",
			"RATE_LIMIT_TENANT=off", "RATE_LIMIT_AUDIENCE=off", "LOG_LEVEL=warn")
		sh := openShow(b, s, showViewers)
		s.becomeSeller(b, sh.owner)
		var product struct {
			ID string `json:"id"`
		}
		s.post(b, "/v1/me/catalog/products", sh.owner, map[string]any{"externalId": "rare", "name": "Rare mug", "priceCents": 1000, "stock": rushUnits}, &product)
		items := []map[string]any{{"productId": product.ID, "quantity": 1}}

		stored, carts := sh.rush(b, s, http.MethodPut, "/cart", map[string]any{"items": items})
		require.Equal(b, map[string]int{"200": rushBuyers}, stored)
		answers, took := sh.rush(b, s, http.MethodPost, "/checkout", map[string]any{"items": items, "customerEmail": "bo@buyer.example"})
		require.Equal(b, map[string]int{"201": rushUnits, "400 insufficient_stock": rushBuyers - rushUnits}, answers)
		var free struct {
			Stock int `json:"stock"`
		}
		s.get(b, "/v1/me/catalog/products/"+product.ID, sh.owner, &free)
		require.Equal(b, rushUnits, free.Stock, "the stock falls with the payment")
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(milliseconds(quantile(took, .5)), "p50-ms")
		b.ReportMetric(milliseconds(quantile(took, .99)), "p99-ms")
		b.ReportMetric(milliseconds(quantile(carts, .99)), "cart-p99-ms")
		b.ReportMetric(float64(quantile(took, .99))/float64(quantile(carts, .99)), "p99-ratio")
		s.stop(b)
	}
}

// rush sends one request of each of rushBuyers viewers at the same time, and returns how often each answer came and their times.
func (sh *benchShow) rush(b *testing.B, s *server, method, path string, in any) (answers map[string]int, took []time.Duration) {
	b.Helper()
	body, err := json.Marshal(in)
	require.NoError(b, err)
	c := &http.Client{Timeout: patience, Transport: &http.Transport{MaxIdleConnsPerHost: rushBuyers}}
	defer c.CloseIdleConnections()
	answers = map[string]int{}
	var mu sync.Mutex
	var ready, done sync.WaitGroup
	begin := make(chan struct{})
	for i := range rushBuyers {
		ready.Add(1)
		done.Go(func() {
			r, err := http.NewRequestWithContext(b.Context(), method, s.api+"/v1/me/shows/"+sh.ID+path, bytes.NewReader(body))
			ready.Done()
			<-begin
			if err != nil {
				b.Error(err)
				return
			}
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Authorization", "Bearer "+sh.tokens[i])
			start := time.Now()
			resp, err := c.Do(r)
			if err != nil {
				b.Error(err)
				return
			}
			defer resp.Body.Close()
			var answer struct {
				Code string `json:"code"`
			}
			_ = json.NewDecoder(resp.Body).Decode(&answer)
			mu.Lock()
			defer mu.Unlock()
			answers[strings.TrimSpace(fmt.Sprint(resp.StatusCode, " ", answer.Code))]++
			took = append(took, time.Since(start))
		})
	}
	ready.Wait()
	close(begin)
	done.Wait()
	return answers, took
}

// becomeSeller finishes the onboarding at the sandbox.
func (s *server) becomeSeller(b *testing.B, owner string) {
	b.Helper()
	var link struct {
		URL string `json:"onboardingUrl"`
	}
	s.post(b, "/v1/me/commerce/connect/onboarding-link", owner, map[string]string{"returnUrl": s.api + "/", "refreshUrl": s.api + "/"}, &link)
	jar, err := cookiejar.New(nil)
	require.NoError(b, err)
	browser := &http.Client{Timeout: patience, Jar: jar} // the page sets a cookie that its form needs
	shown, err := browser.Get(link.URL)
	require.NoError(b, err)
	require.NoError(b, shown.Body.Close())
	done, err := browser.PostForm(link.URL, url.Values{"action": {"finish"}, "name": {"Acme"}, "email": {"o@acme.example"}})
	require.NoError(b, err)
	require.NoError(b, done.Body.Close())
	until(b, time.Now(), func() error {
		var status struct {
			ChargesEnabled bool `json:"chargesEnabled"`
		}
		if s.get(b, "/v1/me/commerce/connect/status", owner, &status); !status.ChargesEnabled {
			return errors.New("charges are not enabled")
		}
		return nil
	})
}
