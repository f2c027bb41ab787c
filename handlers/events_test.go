package handlers_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/event"
	"showfloor/internal/testkit/apitest"
)

// events returns one page of the tenant's events.
func events(t *testing.T, c *apitest.Caller, path string) ([]api.EventRecord, apitest.Response) {
	t.Helper()
	var list []api.EventRecord
	r := c.Call(t, "GET", path, nil)
	r.Into(t, 200, &list)
	return list, r
}

// emitted returns an event about a subject.
func emitted(t *testing.T, tenantID, name, subject string) event.Event {
	t.Helper()
	return event.Event{TenantID: tenantID, Name: name, Subject: subject, Data: apitest.EventData(t, name, map[string]any{"streamId": subject})}
}

// happen emits events in one transaction. pairs are names and subjects in turns.
func happen(t *testing.T, s *apitest.Server, tenantID string, pairs ...string) {
	t.Helper()
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		for i := 0; i < len(pairs); i += 2 {
			if err := s.Events.EmitTx(t.Context(), tx, emitted(t, tenantID, pairs[i], pairs[i+1])); err != nil {
				return err
			}
		}
		return nil
	}))
}

// briefly formats events as name, subject and sequence number.
func briefly(list []api.EventRecord) (out []string) {
	for _, e := range list {
		out = append(out, strings.Join([]string{string(e.Event), e.Subject, string('0' + rune(e.Sequence))}, " "))
	}
	return out
}

func TestListEvents(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	require.JSONEq(t, "[]", string(owner.Call(t, "GET", "/v1/me/events", nil).Body))
	hook := owner.Webhook(t, "http://127.0.0.1:1/")
	owner.Call(t, "POST", "/v1/me/webhooks/"+hook.ID+"/test", nil).Is(t, 201) // test events aren't listed
	happen(t, s, other.TenantID, "stream.started", "str_1")
	happen(t, s, owner.TenantID, "stream.started", "str_1", "stream.started", "str_2", "stream.ended", "str_1")

	list, _ := events(t, owner, "/v1/me/events")
	all := []string{"stream.ended str_1 2", "stream.started str_2 1", "stream.started str_1 1"}
	require.Equal(t, all, briefly(list))
	require.Equal(t, owner.TenantID, list[0].TenantID)
	require.Equal(t, timestamp.Format(s.Clock.Now()), timestamp.Format(list[0].OccurredAt.Time))
	require.Equal(t, "str_1", list[0].Data["streamId"])
	require.Regexp(t, "^evt_", list[0].ID)

	for query, want := range map[string][]string{
		"?subject=str_1":                                      {all[0], all[2]},
		"?subject=str_1&order=asc":                            {all[2], all[0]},
		"?event=stream.ended":                                 {all[0]},
		"?event=stream.ended&event=call.ended":                {all[0]},
		"?event=stream.started&event=stream.ended":            all,
		"?event=stream.started&event=stream.started":          all[1:],
		"?event=stream.started&order=asc":                     {all[2], all[1]},
		"?event=stream.ended&event=stream.started&order=asc":  {all[2], all[1], all[0]},
		"?event=stream.started&subject=str_1":                 {all[2]},
		"?event=stream.started&subject=str_1&order=asc":       {all[2]},
		"?subject=str_3":                                      nil,
		"?subject=str_1&cursor=" + list[1].ID:                 {all[2]},
		"?subject=str_1&order=asc&cursor=" + list[1].ID:       {all[0]},
		"?order=asc&event=stream.started&subject=str_1":       {all[2]},
		"?order=desc&event=stream.ended&cursor=" + list[0].ID: nil,
	} {
		apitest.Until(t, query, func() bool { // open transactions of other tests delay the list with order=asc
			got, _ := events(t, owner, "/v1/me/events"+query)
			return slices.Equal(want, briefly(got))
		})
	}
	for query, field := range map[string]string{
		"?order=newest": "order", "?event=stream.ended&event=stream.nope": "event.1", "?subject=": "subject", "?limit=201": "limit",
		"?cursor=str_01m18qg1mhf2bsz1fk6m8v4jxe": "cursor", "?cursor=evt_01m18qg1mhf2bsz1fk6m8v4jxe": "cursor",
	} {
		require.Contains(t, fieldsOf(owner.Call(t, "GET", "/v1/me/events"+query, nil).Problem(t, 400, "invalid_input")), field, query)
	}
	foreign, _ := events(t, other, "/v1/me/events")
	require.Equal(t, []string{"stream.started str_1 1"}, briefly(foreign))
	refusal := owner.Call(t, "GET", "/v1/me/events?cursor="+foreign[0].ID, nil).Problem(t, 400, "invalid_input")
	require.Equal(t, "names no event that is kept; events are kept for 30 days", refusal.Errors[0].Message)
}

func TestEventsHavePages(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	for range 5 {
		happen(t, s, owner.TenantID, "stream.started", "str_1")
	}
	for order, want := range map[string][]int64{"desc": {5, 4, 3, 2, 1}, "asc": {1, 2, 3, 4, 5}} {
		apitest.Until(t, order, func() bool {
			list, _ := events(t, owner, "/v1/me/events?order="+order)
			return len(list) == 5
		})
		var got []int64
		for path := "/v1/me/events?limit=2&order=" + order; path != ""; {
			list, r := events(t, owner, path)
			for _, e := range list {
				got = append(got, e.Sequence)
			}
			path = ""
			if r.Header.Get("Link") != "" {
				path = r.NextPage(t)
			}
		}
		require.Equal(t, want, got)
	}
}

// TestFollowersWaitForOpenTransactions checks that an event is not skipped if it is
// committed later than events with higher numbers.
func TestFollowersWaitForOpenTransactions(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	happen(t, s, owner.TenantID, "stream.started", "str_0")
	follow := func() []string {
		list, _ := events(t, owner, "/v1/me/events?order=asc")
		return briefly(list)
	}
	tries := 0
	require.NoError(t, postgres.InTx(t.Context(), s.Pool, func(slow pgx.Tx) error {
		tries++
		require.Equal(t, 1, tries, "a repeated try would emit the others again")
		require.NoError(t, s.Events.EmitTx(t.Context(), slow, emitted(t, owner.TenantID, "stream.started", "str_slow")))
		happen(t, s, owner.TenantID, "stream.started", "str_fast")
		require.NoError(t, s.Events.EmitTx(t.Context(), slow, emitted(t, owner.TenantID, "stream.ended", "str_slow")))

		apitest.Until(t, "the event before", func() bool { return len(follow()) > 0 })
		require.Equal(t, []string{"stream.started str_0 1"}, follow())
		newest, _ := events(t, owner, "/v1/me/events")
		require.Equal(t, []string{"stream.started str_fast 1", "stream.started str_0 1"}, briefly(newest), "a role that can only read sees it")
		return nil
	}))
	want := []string{"stream.started str_0 1", "stream.started str_slow 1", "stream.started str_fast 1", "stream.ended str_slow 2"}
	apitest.Until(t, "all of them", func() bool { return slices.Equal(want, follow()) })
}

var errRolledBack = errors.New("rolled back")

// write emits one to three events about some of four subjects. One in five of its
// transactions is rolled back.
func write(t *testing.T, s *apitest.Server, tenantID string) error {
	t.Helper()
	err := postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
		var list []event.Event
		for range 1 + rand.N(3) {
			list = append(list, emitted(t, tenantID, "stream.started", "str_"+string('a'+rune(rand.N(4)))))
		}
		err := s.Events.EmitManyTx(t.Context(), tx, list)
		if rand.N(5) == 0 {
			return errRolledBack
		}
		return err
	})
	if errors.Is(err, errRolledBack) {
		return nil
	}
	return err
}

// follower reads events as they are emitted.
type follower struct {
	c *apitest.Caller
	// read holds the ids of the events that it has read, last the latest sequence number
	// of each subject.
	read []string
	last map[string]int64
}

// next reads a page and returns the number of its events.
func (f *follower) next(t *testing.T) int {
	t.Helper()
	path := "/v1/me/events?order=asc&limit=7"
	if len(f.read) > 0 {
		path += "&cursor=" + f.read[len(f.read)-1]
	}
	list, _ := events(t, f.c, path)
	for _, e := range list {
		require.Equal(t, f.last[e.Subject]+1, e.Sequence, "the events of a subject come in their order")
		f.last[e.Subject] = e.Sequence
		f.read = append(f.read, e.ID)
	}
	return len(list)
}

// TestAFollowerSkipsNothing follows while many transactions write at once and some of them
// roll back.
func TestAFollowerSkipsNothing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	var writers sync.WaitGroup
	defer writers.Wait()
	for range 6 {
		writers.Go(func() {
			for range 30 {
				if err := write(t, s, owner.TenantID); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { writers.Wait(); close(done) }()
	f := follower{c: owner, last: map[string]int64{}}
	for writing := true; writing; f.next(t) {
		select {
		case <-done:
			writing = false
		default:
		}
	}
	rows, err := db.New(s.Pool).ListEvents(t.Context(), owner.TenantID)
	require.NoError(t, err)
	want := make([]string, len(rows))
	for i, e := range rows {
		want[i] = e.ID
	}
	apitest.Until(t, "the last ones", func() bool { return f.next(t) == 0 && len(f.read) == len(want) })
	require.Equal(t, want, f.read)
}
