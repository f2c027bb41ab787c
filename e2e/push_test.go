package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/pushtest"
	"showfloor/internal/testkit/soak"
)

// pushed counts the pushes of notifications by notification and device.
func pushed(p *pushtest.Providers, devices int) map[string]map[string]int {
	list := map[string]map[string]int{}
	for n := range devices {
		token := fmt.Sprint("phone-", n)
		for _, one := range p.Pushes(token) {
			id := one.Header.Get("apns-collapse-id")
			if list[id] == nil {
				list[id] = map[string]int{}
			}
			list[id][token]++
		}
	}
	return list
}

// TestPushesOutliveKills kills the server repeatedly while it sends notifications. In the end each device has received each notification.
// A device whose answer was stored before a kill receives no second push; others may, and it replaces the first one there.
func TestPushesOutliveKills(t *testing.T) {
	t.Parallel()
	const devices = 400
	kills := soak.Times(10, 30)
	random := rand.New(rand.NewPCG(7, uint64(time.Now().UnixNano())))
	providers := pushtest.New(t)
	roots := filepath.Join(t.TempDir(), "push.pem")
	require.NoError(t, os.WriteFile(roots, providers.Certificate(), 0o600))
	s := serve(t, onTestDatabase, set("PUSH_APNS_URL", providers.URL), set("PUSH_CA_FILE", roots))
	a := signUp(t, s)
	credentials, err := json.Marshal(pushtest.IosCredentials(t))
	require.NoError(t, err)
	created(a.SetIosPushCredentialsWithBodyWithResponse(t.Context(), "launch", "application/json", bytes.NewReader(credentials)))(t)
	db, err := pgx.Connect(t.Context(), s.settings["DATABASE_URL"])
	require.NoError(t, err)
	defer db.Close(t.Context())
	_, err = db.Exec(t.Context(), "UPDATE tenants SET plan = 'PRO'")
	require.NoError(t, err)
	users := make([]string, devices)
	for n := range users {
		users[n] = fmt.Sprint("user-", n)
		token := fmt.Sprint("phone-", n)
		_, err = db.Exec(t.Context(), `INSERT INTO push_devices (tenant_id, project_id, user_id, platform, token, token_hash, registered_at, last_seen_at)
			VALUES ($1, 'launch', $2, 'ios', $3::text, sha256($3::text::bytea), now(), now())`, a.id, users[n], token)
		require.NoError(t, err)
		slow := time.Duration(random.IntN(100)) * time.Millisecond
		providers.Answer(token, func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-time.After(slow):
			case <-r.Context().Done():
			}
		})
	}

	settled := map[string]map[string]int{} // as pushed, of the devices whose answers are stored
	for kill := range kills {
		notified := make(chan struct{})
		go func() {
			defer close(notified)
			_, _ = a.NotifyUsersWithResponse(t.Context(), api.PushNoticeInput{ProjectID: "launch", UserIds: users, Title: fmt.Sprint("Notice ", kill)})
		}()
		before, enough := total(pushed(providers, devices)), 1+random.IntN(devices)
		until(t, "pushes", func() bool { return total(pushed(providers, devices)) >= before+enough })
		s.kill()
		<-notified
		noteAnswered(t, settled, pushed(providers, devices), waitingPushes(t, db))
		s.start(t)
	}
	until(t, "all answers", func() bool {
		resp, err := a.ListPushNotificationsWithResponse(t.Context(), &api.ListPushNotificationsParams{})
		require.NoError(t, err)
		pending := 0
		for _, n := range *resp.JSON200 {
			pending += n.Pending
			require.Equal(t, devices, n.Attempted)
			require.Equal(t, n.Attempted, n.Pending+n.Outcomes.Delivered)
		}
		return pending == 0
	})
	list, twice := pushed(providers, devices), 0
	stored := waitingPushes(t, db)
	require.Equal(t, len(stored), len(list), "a kill may come before the notification is stored: then nothing was sent") //nolint:testifylint // maps are long
	for id, tokens := range list {
		require.Contains(t, slices.Collect(maps.Keys(stored)), id)
		require.Equal(t, devices, len(tokens)) //nolint:testifylint // as above
		for token, n := range tokens {
			twice += n - 1
			if answered := settled[id][token]; answered > 0 {
				require.Equal(t, answered, n, "a push to an answered device")
			}
		}
	}
	t.Logf("%d pushes to %d devices, of which %d again because of %d kills", total(list), devices, twice, kills)
}

// noteAnswered notes how many pushes each device has received whose answer is stored: those that don't wait.
func noteAnswered(t *testing.T, settled, received map[string]map[string]int, waiting map[string]map[string]bool) {
	t.Helper()
	for id, tokens := range waiting {
		if settled[id] == nil {
			settled[id] = map[string]int{}
		}
		for token, n := range received[id] {
			if !tokens[token] && settled[id][token] == 0 {
				settled[id][token] = n
			}
		}
	}
}

func total(list map[string]map[string]int) (n int) {
	for _, tokens := range list {
		for _, count := range tokens {
			n += count
		}
	}
	return n
}

// waitingPushes are the devices without a stored answer by notification.
func waitingPushes(t *testing.T, db *pgx.Conn) map[string]map[string]bool {
	t.Helper()
	rows, err := db.Query(t.Context(), `SELECT b.notification_id, coalesce(d.token, '') FROM push_batches b
		LEFT JOIN LATERAL unnest(b.waiting) AS w (id) ON true LEFT JOIN push_devices d ON d.id = w.id`)
	require.NoError(t, err)
	list := map[string]map[string]bool{}
	for rows.Next() {
		var id, token string
		require.NoError(t, rows.Scan(&id, &token))
		if list[id] == nil {
			list[id] = map[string]bool{}
		}
		list[id][token] = true
	}
	require.NoError(t, rows.Err())
	return list
}
