package handlers_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

// frozenTime is the request time in tests with frozen databases.
const frozenTime = 500 * time.Millisecond

// connectSeconds is the time after which the server ends an attempt to connect to the database.
const connectSeconds = 5

// TestFrozenDatabase calls every operation while the database is frozen. The server
// must answer all of them before the database does, and work again afterwards.
func TestFrozenDatabase(t *testing.T) {
	t.Parallel()
	line := dbtest.NewLine(t)
	patient := apitest.New(t, apitest.Options{Pool: line.Pool})
	s := apitest.New(t, apitest.Options{Pool: line.Pool, RequestTime: frozenTime})
	owner, admin := patient.Register(t), patient.Admin(t, platform.SuperAdmin)
	st, session, channel := owner.Stream(t, nil), owner.Session(t, nil), owner.Channel(t, nil)
	auction, captures := owner.Auction(t, nil), owner.CaptureURL(t)
	// No area may answer from its cache of the last second.
	ids := map[string]string{"Chat": channel.ID, "Channels": channel.ID, "Sessions": session.ID, "Moderation": session.ID, "Webhook tester": captures.Token}

	line.Freeze()
	var wg sync.WaitGroup
	var mu sync.Mutex
	answers := map[string]apitest.Response{}
	list := slices.DeleteFunc(operations(t), func(op operation) bool { return op.id == "getReadiness" }) // it waits for 2 s at most
	for _, op := range list {
		caller := s.With(t, owner.Token)
		if strings.HasPrefix(op.path, "/v1/admin/") {
			caller = s.With(t, admin.Token)
		}
		id, ok := ids[op.spec.Tags[0]]
		switch {
		case ok:
		case op.id == "placeBid":
			id = auction.ID
		default:
			id = st.ID
		}
		wg.Go(func() {
			r := caller.Call(t, op.method, op.at(id+"/"+id), sampleBody(op))
			mu.Lock()
			defer mu.Unlock()
			answers[op.id] = r
		})
	}
	wg.Wait()
	waited := 0
	for _, op := range list {
		r := answers[op.id]
		if r.Status < 500 || r.Status == http.StatusNotImplemented {
			continue // answered without the database
		}
		waited++
		code := "timeout"
		own, _ := op.spec.Extensions["x-timeout"].(float64) // in seconds; scaled as 10 s are to frozenTime
		if own/10*frozenTime.Seconds() > connectSeconds && strings.Contains(string(r.Body), "database_unavailable") {
			code = "database_unavailable" // the attempt to connect ends before the request's time
		}
		refused(t, r, op, http.StatusServiceUnavailable, code)
		require.NotEmpty(t, r.Header.Get("Retry-After"), op.id)
	}
	require.Greater(t, waited, len(answers)*2/3, "most need the database")

	line.Thaw()
	apitest.Until(t, "the server to work again", func() bool {
		return owner.Call(t, "GET", "/v1/me/streams", nil).Status == http.StatusOK
	})
	apitest.Until(t, "the handlers that went on to end", func() bool { return s.Unfinished.Count() == 0 })
}

// TestAnswerThatComesTooLateIsKept repeats a write that was answered with "timeout":
// its Idempotency-Key has the answer.
func TestAnswerThatComesTooLateIsKept(t *testing.T) {
	t.Parallel()
	pool := dbtest.New(t)
	patient := apitest.New(t, apitest.Options{Pool: pool})
	s := apitest.New(t, apitest.Options{Pool: pool, RequestTime: frozenTime})
	owner := patient.Register(t)
	channel := owner.Channel(t, nil)
	send := func(to *apitest.Server) apitest.Response {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, to.URL+"/v1/me/channels/"+channel.ID+"/messages",
			strings.NewReader(`{"body":"Hello","authorId":"ben","authorName":"Ben"}`))
		require.NoError(t, err)
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Idempotency-Key", "once")
		return owner.Do(t, r)
	}
	// Another transaction holds the channel's lock, so that the message must wait.
	lock, err := pool.Begin(t.Context())
	require.NoError(t, err)
	_, err = lock.Exec(t.Context(), "SELECT FROM channels WHERE id = $1 FOR UPDATE", channel.ID)
	require.NoError(t, err)
	send(s).Problem(t, 503, "timeout")
	require.EqualValues(t, 1, s.Unfinished.Count(), "the write goes on")
	send(patient).Problem(t, 409, "idempotency_in_progress")

	require.NoError(t, lock.Rollback(t.Context()))
	apitest.Until(t, "the write to end", func() bool { return s.Unfinished.Count() == 0 })
	require.Equal(t, "true", send(patient).Is(t, 201).Header.Get("Idempotent-Replayed"))
	var messages []api.ChatMessage
	owner.Call(t, "GET", "/v1/me/channels/"+channel.ID+"/messages", nil).Into(t, 200, &messages)
	require.Len(t, messages, 1)
}
