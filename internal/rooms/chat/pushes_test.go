package chat_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
)

// pushes lists the push jobs of a channel's messages in order: recipient and text.
func (r *rig) pushes(t testing.TB, channelID string) (list []string) {
	t.Helper()
	rows, err := r.s.Pool.Query(t.Context(), `SELECT (args ->> 'userId') || ' ' || (args ->> 'body') FROM river_job
		WHERE kind = 'push_send' AND args -> 'data' ->> 'channelId' = $1 ORDER BY id`, channelID)
	require.NoError(t, err)
	list, err = pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// mention writes a message that mentions users.
func (r *rig) mention(t testing.TB, channelID, userID, text string, mentions ...string) (messageID string) {
	t.Helper()
	in := message(userID, text)
	in.Mentions = mentions
	m, err := r.s.Chat.SendChannelMessage(t.Context(), r.caller, channelID, in)
	require.NoError(t, err)
	return m.ID
}

// TestThePushOfAMention checks every field of the job.
func TestThePushOfAMention(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, map[string]any{"projectId": "launch"})
	r.mention(t, ch.ID, "ada", strings.Repeat("ü", 300), "ben")
	var raw []byte
	var queue, state string
	require.NoError(t, r.s.Pool.QueryRow(t.Context(),
		"SELECT args, queue, state FROM river_job WHERE kind = 'push_send' AND args -> 'data' ->> 'channelId' = $1", ch.ID).Scan(&raw, &queue, &state))
	var args map[string]any
	require.NoError(t, json.Unmarshal(raw, &args))
	void, err := time.Parse(time.RFC3339Nano, fmt.Sprint(args["expiresAt"]))
	require.NoError(t, err)
	var left time.Duration
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT $1 - clock_timestamp()", void).Scan(&left))
	require.InDelta(t, 24*time.Hour, left, float64(10*time.Minute))
	require.Contains(t, args["messageId"], "msg_")
	delete(args, "expiresAt")
	delete(args, "messageId")
	require.Equal(t, map[string]any{
		"tenantId": r.owner.TenantID, "projectId": "launch", "userId": "ben", "reason": "chat.mention", "title": "Backstage", "priority": "normal",
		"body": "User ada: " + strings.Repeat("ü", 190), // 200 characters in all
		"data": map[string]any{"service": "1", "channelId": ch.ID, "projectId": "launch"},
	}, args)
	require.Equal(t, []string{"push_messages", "available"}, []string{queue, state})
}

// TestRecipientsOfPushes: mentioned users who may read get one push per message; its
// author never gets one.
func TestRecipientsOfPushes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil).ID
	_, err := r.s.Chat.BanChannelMember(t.Context(), r.caller, ch, chat.Restriction{Target: "eve", By: "ada"})
	require.NoError(t, err)
	_, err = r.s.Chat.MuteChannelMember(t.Context(), r.caller, ch, chat.Restriction{Target: "dan", By: "ada"})
	require.NoError(t, err)
	r.mention(t, ch, "ada", "nobody")
	r.mention(t, ch, "ada", "self", "ada")
	r.mention(t, ch, "ada", "all", "ben", "ada", "eve", "ben", "dan", "zoe")
	require.Equal(t, []string{"ben User ada: all", "dan User ada: all", "zoe User ada: all"}, r.pushes(t, ch))
	_, err = r.say(t, 0, ch, "eve", "let me in")
	refused(t, err, "banned")
	require.Len(t, r.pushes(t, ch), 3)

	// In rooms, users in the waiting room and kicked users get no push.
	room := r.owner.Session(t, map[string]any{"name": "All hands"}).ID
	r.in(t, room, "ben", session.Guest, session.Waiting)
	r.in(t, room, "dan", session.Guest, session.Kicked)
	r.mention(t, room, "ada", "come", "ben", "dan", "zoe")
	require.Equal(t, []string{"zoe User ada: come"}, r.pushes(t, room))
	stream := r.owner.Stream(t, map[string]any{"name": "Launch"}).ID
	r.mention(t, stream, "ada", "look", "ben")
	for id, title := range map[string]string{room: "All hands", stream: "Launch"} {
		var got string
		require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT args ->> 'title' FROM river_job WHERE args -> 'data' ->> 'channelId' = $1", id).Scan(&got))
		require.Equal(t, title, got)
	}
}

func TestThePushesOfADirectChannel(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	v, err := r.s.Chat.CreateDirectChannel(t.Context(), r.caller, chat.DirectInput{UserIDs: []string{"ben", "ada"}})
	require.NoError(t, err)
	id := r.mention(t, v.ID, "ada", "hello", "ben", "zoe")
	r.mention(t, v.ID, "ben", "hi")
	require.Equal(t, []string{"ben User ada: hello", "ada User ben: hi"}, r.pushes(t, v.ID), "the other member, regardless of mentions")
	_, err = r.s.Chat.EditChannelMessage(t.Context(), r.caller, v.ID, id, chat.Patch{Body: "hello!", Mentions: []string{"ben"}})
	require.NoError(t, err)
	require.Len(t, r.pushes(t, v.ID), 2)
	var title, reason string
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), `SELECT args ->> 'title', args ->> 'reason' FROM river_job
		WHERE args -> 'data' ->> 'channelId' = $1 LIMIT 1`, v.ID).Scan(&title, &reason))
	require.Equal(t, []string{"ada, ben", "chat.direct"}, []string{title, reason})
}

// TestAnEditSendsNoPushes: otherwise one message could cause any number of
// notifications.
func TestAnEditSendsNoPushes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil).ID
	id := r.mention(t, ch, "ada", "draft", "ben")
	edit := func(text string, mentions ...string) {
		_, err := r.s.Chat.EditChannelMessage(t.Context(), r.caller, ch, id, chat.Patch{Body: text, Mentions: mentions})
		require.NoError(t, err)
	}
	edit("second")
	edit("third", "ben", "cleo", "ada")
	edit("fourth", "cleo")
	require.Equal(t, []string{"ben User ada: draft"}, r.pushes(t, ch))
}

// TestManyMessagesAtOncePushOnceEach: and a refused message causes no push.
func TestManyMessagesAtOncePushOnceEach(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ch := r.owner.Channel(t, nil).ID
	const writers, each = 16, 10
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for n := range each {
				in := message("ada", fmt.Sprint(w, "/", n))
				in.Mentions = []string{"ben", "cleo"}
				if _, err := r.service(w).SendChannelMessage(t.Context(), r.caller, ch, in); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	pushes := r.pushes(t, ch)
	require.Len(t, pushes, 2*writers*each)
	seen := map[string]bool{}
	for _, p := range pushes {
		require.False(t, seen[p], p)
		seen[p] = true
	}
}
