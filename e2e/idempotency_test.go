package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// create creates a stream named after its Idempotency-Key. It returns an error
// if the server is killed during the request.
func create(ctx context.Context, a *tenant, url, key string) (status int, replayed bool, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/me/streams", strings.NewReader(`{"name":"`+key+`"}`))
	if err != nil {
		return 0, false, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+a.apiKey)
	req.Header.Set("Idempotency-Key", key)
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, false, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, resp.Header.Get("Idempotent-Replayed") == "true", string(raw), err
}

// streamsByName returns the ids of the tenant's streams, by name.
func streamsByName(t testing.TB, a *tenant) map[string][]string {
	t.Helper()
	list := map[string][]string{}
	for cursor := (*string)(nil); ; {
		page, err := a.ListStreamsWithResponse(t.Context(), &api.ListStreamsParams{Limit: new(200), Cursor: cursor})
		require.NoError(t, err)
		require.Equal(t, http.StatusOK, page.StatusCode())
		for _, st := range *page.JSON200 {
			list[st.Name] = append(list[st.Name], st.ID)
			cursor = &st.ID
		}
		if page.HTTPResponse.Header.Get("Link") == "" {
			return list
		}
	}
}

// TestKillWhileRequestsRun kills the server and its database during requests
// with Idempotency-Keys, and sends each of them again.
func TestKillWhileRequestsRun(t *testing.T) {
	t.Parallel()
	const senders, enough = 16, 150
	s := serve(t, set("RATE_LIMIT_CALLER", "off"), set("RATE_LIMIT_TENANT", "off"))
	a := signUp(t, s)
	var answered atomic.Int64
	var answers sync.Map // by key; "" for a request that was not answered
	var sending sync.WaitGroup
	for i := range senders {
		sending.Go(func() {
			for n := 0; ; n++ {
				key := fmt.Sprintf("key-%d-%d", i, n)
				status, _, body, err := create(context.Background(), a, s.url, key)
				if err != nil {
					answers.Store(key, "")
					return
				}
				if status != http.StatusCreated {
					t.Errorf("answered %d: %s", status, body)
				}
				answers.Store(key, body)
				answered.Add(1)
			}
		})
	}
	until(t, "enough requests are answered", func() bool { return answered.Load() >= enough })
	s.kill()
	sending.Wait()
	s.start(t)

	outcomes := map[string]int{}
	answers.Range(func(k, before any) bool {
		key := k.(string)
		var status int
		var replayed bool
		var body string
		until(t, "the dead run's lease is over", func() bool {
			var err error
			status, replayed, body, err = create(t.Context(), a, s.url, key)
			require.NoError(t, err)
			return !strings.Contains(body, "idempotency_in_progress")
		})
		switch {
		case status == http.StatusCreated && before != "":
			require.True(t, replayed, "%s: %s, now %s", key, before, body)
			require.Equal(t, before, body, "the stored answer is repeated")
			outcomes["answered"]++
		case status == http.StatusCreated:
			outcomes[fmt.Sprintf("not answered, replayed: %v", replayed)]++
		default:
			require.Empty(t, before)
			require.Equal(t, http.StatusConflict, status, body)
			require.Contains(t, body, "idempotency_lost")
			outcomes["lost"]++
		}
		return true
	})
	made := streamsByName(t, a)
	answers.Range(func(key, _ any) bool {
		require.Len(t, made[key.(string)], 1, "%s was carried out once", key)
		return true
	})
	t.Logf("after the kill: %v", outcomes)
}
