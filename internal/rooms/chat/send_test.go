package chat_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// follow pages through a stream's chat on one of the servers, until it has read
// all messages that were written before over was closed.
func (r *rig) follow(t *testing.T, n int, streamID string, over <-chan struct{}) (texts []string) {
	t.Helper()
	place := chat.Place{MessageID: "msg_00000000000000000000000000"}
	for last := false; ; {
		page, err := r.service(n).ListStreamMessages(t.Context(), streamID, place, 7)
		if err != nil {
			t.Errorf("read: %v", err)
			return nil
		}
		for _, m := range page {
			texts, place.MessageID = append(texts, *m.Body), m.ID
		}
		if len(page) > 0 {
			continue
		}
		if last {
			return texts
		}
		select {
		case <-over:
			last = true
		default:
		}
	}
}

// TestReadersWhoFollowAChatMissNoMessage: many write on two servers, while
// readers page on from their last message. Each reader gets all messages in order;
// so do the events, and the publications of each server.
func TestReadersWhoFollowAChatMissNoMessage(t *testing.T) {
	t.Parallel()
	const writers, each = 40, 10
	r := newRig(t)
	st := r.owner.Stream(t, nil)
	var writing, reading sync.WaitGroup
	for i := range writers {
		writing.Go(func() {
			for k := range each {
				if _, err := r.say(t, i, st.ID, fmt.Sprintf("user-%d", i), fmt.Sprintf("%d.%d", i, k)); err != nil {
					t.Errorf("refused with %v", err)
				}
			}
		})
	}
	over := make(chan struct{})
	seen := make([][]string, 4)
	for i := range seen {
		reading.Go(func() { seen[i] = r.follow(t, i, st.ID, over) })
	}
	writing.Wait()
	close(over)
	reading.Wait()
	all := r.said(t, st.ID)
	require.Len(t, all, writers*each)
	for _, texts := range seen {
		require.Equal(t, all, texts)
	}
	var texts []string
	for _, e := range r.events(t, st.ID) {
		texts = append(texts, e.Data["body"].(string))
	}
	require.Equal(t, all, texts, "one event for each, in order")
	shown := 0
	for _, s := range []*apitest.Server{r.s, r.other} {
		var ids []string
		for _, p := range s.Published() {
			require.Equal(t, []string{st.ID, realtime.ChatMessage}, []string{p.Room, p.Type})
			ids = append(ids, p.Data["id"].(string))
		}
		require.True(t, slices.IsSorted(ids), "published in the order of the commits")
		shown += len(ids)
	}
	require.Equal(t, writers*each, shown)
}

// TestTimesTellMessagesApart: a reader can continue after any message by its time.
func TestTimesTellMessagesApart(t *testing.T) {
	t.Parallel()
	const n = 200
	r := newRig(t)
	st := r.owner.Stream(t, nil)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { _, _ = r.say(t, i, st.ID, "ada", "x") })
	}
	wg.Wait()
	all, err := r.s.Chat.ListStreamMessages(t.Context(), st.ID, chat.Place{}, n)
	require.NoError(t, err)
	require.Len(t, all, n)
	for i, m := range all {
		page, err := r.s.Chat.ListStreamMessages(t.Context(), st.ID, chat.Place{At: m.CreatedAt}, n)
		require.NoError(t, err)
		require.Equal(t, all[i+1:], page)
	}
}

// TestIdsRiseThoughAnotherServersClockIsAhead: ids and times ascend even if
// another server's clock is ahead.
func TestIdsRiseThoughAnotherServersClockIsAhead(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	st := r.owner.Stream(t, nil)
	_, err := r.say(t, 0, st.ID, "ada", "first")
	require.NoError(t, err)
	_, err = r.s.Pool.Exec(t.Context(), `WITH m AS (UPDATE channel_messages SET id = 'msg_7zzzzzzzzzzzzzzzzzzzzzzz0z', created_at = clock_timestamp() + interval '1 hour'
		WHERE channel_id = $1 RETURNING id, created_at) UPDATE channels c SET last_message_id = m.id, last_message_at = m.created_at FROM m WHERE c.id = $1`, st.ID)
	require.NoError(t, err)
	for i := range 40 {
		_, err := r.say(t, i, st.ID, "ada", fmt.Sprintf("%02d", i))
		require.NoError(t, err)
	}
	texts := r.said(t, st.ID)
	require.Equal(t, "first", texts[0])
	require.True(t, slices.IsSorted(texts[1:]))
	var sorted bool
	require.NoError(t, r.s.Pool.QueryRow(t.Context(),
		"SELECT array_agg(id ORDER BY id) = array_agg(id ORDER BY created_at, id) FROM channel_messages WHERE channel_id = $1", st.ID).Scan(&sorted))
	require.True(t, sorted)
}

// hook is the hook of a request with an Idempotency-Key.
type hook struct {
	refuse                error
	committing, committed atomic.Int64
}

func (h *hook) BeforeCommit(context.Context, pgx.Tx) error {
	h.committing.Add(1)
	return h.refuse
}

func (h *hook) AfterCommit() { h.committed.Add(1) }

// TestEachRequestsHookIsPartOfItsMessage: a transaction of several messages runs
// the hooks of all their requests. If a hook refuses, only its own message is not
// written.
func TestEachRequestsHookIsPartOfItsMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil)
	tx, release := r.stop(t, ch.ID)
	refusal := errors.New("the key is lost")
	var wg sync.WaitGroup
	send := func(h *hook, text string) {
		wg.Go(func() {
			_, err := r.s.Chat.SendChannelMessage(postgres.WithHook(t.Context(), h), r.caller, ch.ID, message("ada", text))
			switch {
			case h.refuse != nil && (!errors.Is(err, refusal) || h.committed.Load() != 0):
				t.Errorf("%s has a hook that refuses: %v", text, err)
			case h.refuse == nil && (err != nil || h.committing.Load() == 0 || h.committed.Load() != 1):
				t.Errorf("%s: %v, committed %d times", text, err, h.committed.Load())
			}
		})
	}
	send(&hook{}, "0")
	r.waiters(t, tx, 1)
	for i := range 20 {
		h := &hook{}
		if i%5 == 4 {
			h.refuse = refusal
		}
		send(h, strconv.Itoa(i+1))
	}
	release()
	wg.Wait()
	require.Len(t, r.said(t, ch.ID), 17)
	require.Len(t, r.events(t, ch.ID), 2+17, "with two who joined")
	require.Len(t, r.s.Published(), 17)
}

// TestOneRefusedMessageDoesNotAffectOthers: messages of one transaction are
// accepted or refused independently.
func TestOneRefusedMessageDoesNotAffectOthers(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	st, gone := r.owner.Stream(t, nil), "msg_gone"
	_, err := r.s.Chat.BanChannelMember(t.Context(), r.caller, st.ID, chat.Restriction{Target: "eve", By: "ada"})
	require.NoError(t, err)
	tx, release := r.stop(t, st.ID)
	codes := make([]string, 30)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() {
			c, in := r.caller, message("ben", "x")
			switch i % 6 {
			case 1:
				in.AuthorID = "eve"
			case 2:
				in.ParentID = &gone
			case 3:
				c = tenancy.Caller{TenantID: "ten_other"}
			case 4:
				c = r.as(st.ID, "ben") // ben isn't in the room
			case 5:
				in.Body = "a\x00b" // text that the handler would have refused
			}
			_, err := r.s.Chat.SendChannelMessage(t.Context(), c, st.ID, in)
			if p, ok := problem.As(err); ok {
				codes[i] = p.Code
			} else if postgres.IsUnstorable(err) {
				codes[i] = "unstorable"
			} else if err != nil {
				codes[i] = err.Error()
			}
		})
	}
	r.waiters(t, tx, 1)
	release()
	wg.Wait()
	for i, code := range codes {
		require.Equal(t, []string{"", "banned", "not_found", "not_found", "forbidden", "unstorable"}[i%6], code)
	}
	require.Len(t, r.said(t, st.ID), 5)
	require.Len(t, r.s.Published(), 5)
}

// TestSlowModeIsExactForConcurrentMessages: of each author's concurrent messages
// one is accepted, even if several servers receive them.
func TestSlowModeIsExactForConcurrentMessages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	st := r.owner.Stream(t, nil)
	_, err := r.s.Chat.SetChannelSlowmode(t.Context(), r.caller, st.ID, "ada", 3600, nil)
	require.NoError(t, err)
	var passed, slowed atomic.Int64
	var wg sync.WaitGroup
	for i := range 100 {
		wg.Go(func() {
			_, err := r.say(t, i, st.ID, fmt.Sprintf("user-%d", i%5), "x")
			if err == nil {
				passed.Add(1)
			} else if p, ok := problem.As(err); ok && p.Code == "rate_limited" && p.RetryAfter > 0 {
				slowed.Add(1)
			}
		})
	}
	wg.Wait()
	require.Equal(t, []int64{5, 95}, []int64{passed.Load(), slowed.Load()})
}

// TestAMessageOfADisconnectedCallerIsWritten: the message is posted and published all the
// same.
func TestAMessageOfADisconnectedCallerIsWritten(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil)
	tx, release := r.stop(t, ch.ID)
	ctx, hangUp := context.WithCancel(t.Context())
	results := make(chan error)
	go func() {
		_, err := r.s.Chat.SendChannelMessage(ctx, r.caller, ch.ID, message("ada", "x"))
		results <- err
	}()
	r.waiters(t, tx, 1)
	hangUp()
	release()
	require.NoError(t, <-results)
	require.Len(t, r.s.Published(), 1)
}

// fight edits and deletes a message concurrently, on both servers.
func (r *rig) fight(t *testing.T, m db.ChannelMessage) {
	t.Helper()
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			var err error
			if i%3 == 0 {
				_, err = r.service(i).DeleteChannelMessage(t.Context(), r.caller, m.ChannelID, m.ID, new(strconv.Itoa(i)))
			} else {
				_, err = r.service(i).EditChannelMessage(t.Context(), r.caller, m.ChannelID, m.ID, chat.Patch{Body: strconv.Itoa(i)})
			}
			if err != nil && (i%3 == 0 || !problem.Is(err, "conflict")) {
				t.Errorf("%d: %v", i, err)
			}
		})
	}
	wg.Wait()
}

// TestEditsAndDeletionsAtOnce: in any order of the commits, the message is
// deleted in the end, one user is recorded as deleting it, and the last
// publication is the deletion.
func TestEditsAndDeletionsAtOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil)
	for range 5 {
		m, err := r.say(t, 0, ch.ID, "ada", "first")
		require.NoError(t, err)
		r.fight(t, m)
		var names []string
		for _, e := range r.events(t, ch.ID) {
			if e.Data["id"] == m.ID {
				names = append(names, e.Event)
			}
		}
		names = checkLife(t, names, "chat.message.created", "chat.message.edited", "chat.message.deleted")
		var shown []string
		for _, s := range []*apitest.Server{r.s, r.other} {
			for _, p := range s.Published() {
				if p.Data["id"] == m.ID {
					shown = append(shown, p.Type)
				}
			}
			deleted := slices.Index(shown, realtime.ChatDeleted)
			require.True(t, deleted < 0 || deleted == len(shown)-1 || s == r.other, "nothing is shown behind the deletion")
		}
		require.Len(t, shown, len(names))
	}
	require.Equal(t, []string{"-", "-", "-", "-", "-"}, r.said(t, ch.ID))
}

// checkLife requires a message's events in order: one created, any number of
// edited, one deleted.
func checkLife(t *testing.T, names []string, created, edited, deleted string) []string {
	t.Helper()
	require.Equal(t, created, names[0])
	require.Equal(t, deleted, names[len(names)-1])
	for _, name := range names[1 : len(names)-1] {
		require.Equal(t, edited, name)
	}
	return names
}
