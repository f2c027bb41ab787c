package bench

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/streams/stream"
)

const messageTime = 5 * time.Second

// BenchmarkMessages lets many users write in one stream's chat as fast as possible,
// through the use case. The baseline is pgbench with 64 clients on the same database,
// executing the statements of one message: the channel's lock, the author's
// membership, the message, its event and the commit.
func BenchmarkMessages(b *testing.B) {
	a := newServices(b, hub.New(hub.Config{}))
	for _, writers := range []int{1, 64, 1000} {
		b.Run(fmt.Sprint(writers, "-writers"), func(b *testing.B) {
			var rate float64
			for b.Loop() {
				rate = a.write(b, writers)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rate, "messages/s")
			if clients := min(writers, 64); clients > 1 {
				tps := a.tps(b, findPgbench(b), clients, messageTime, map[string]int{a.loneMessage(b): 1})
				b.ReportMetric(tps, "pgbench-tps")
				b.ReportMetric(rate/tps, "ratio")
			}
		})
	}
}

// write returns the messages per second in one chat.
func (a *services) write(b *testing.B, writers int) float64 {
	b.Helper()
	st, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	var written atomic.Int64
	var wg sync.WaitGroup
	begin := time.Now()
	for i := range writers {
		wg.Go(func() {
			in := chat.Input{Body: "Hello everybody", AuthorID: strconv.Itoa(i), AuthorName: "Ada Okafor"}
			for time.Since(begin) < messageTime {
				if _, err := a.Chat.SendStreamMessage(b.Context(), a.caller, st.ID, in); err != nil {
					b.Error(err)
					return
				}
				written.Add(1)
			}
		})
	}
	wg.Wait()
	return float64(written.Load()) / time.Since(begin).Seconds()
}

// loneMessage returns a script that writes one message in a separate chat.
func (a *services) loneMessage(b *testing.B) string {
	b.Helper()
	st, err := a.Streams.CreateStream(b.Context(), a.caller, stream.Input{Name: "Launch", Mode: stream.LowLatency})
	require.NoError(b, err)
	_, err = a.Chat.SendStreamMessage(b.Context(), a.caller, st.ID, chat.Input{Body: "Hello", AuthorID: "ada", AuthorName: "Ada"})
	require.NoError(b, err)
	//nolint:unqueryvet // all columns, as the server reads them
	return fmt.Sprintf(`\set number random(1, 1000000000000000000)
BEGIN;
WITH c AS MATERIALIZED (SELECT * FROM channels WHERE tenant_id = '%[1]s' AND id = '%[2]s' FOR UPDATE)
SELECT c.id, clock_timestamp() AS now FROM c;
SELECT u.user_id, m.role, m.banned, p.role, p.state FROM unnest(ARRAY['ada']) AS u (user_id)
LEFT JOIN channel_members m ON m.tenant_id = '%[1]s' AND m.channel_id = '%[2]s' AND m.user_id = u.user_id
LEFT JOIN participants p ON p.tenant_id = '%[1]s' AND p.room_id = '%[2]s' AND p.user_id = u.user_id;
WITH written AS (INSERT INTO channel_messages (id, channel_id, tenant_id, author_id, author_name, body, mentions, created_at)
    VALUES ('msg_' || :number, '%[2]s', '%[1]s', 'ada', 'Ada Okafor', 'Hello everybody', '{}', clock_timestamp()))
UPDATE channels SET last_message_id = 'msg_' || :number, last_message_at = clock_timestamp() WHERE tenant_id = '%[1]s' AND id = '%[2]s';
INSERT INTO events (id, tenant_id, event, subject, payload, occurred_at, sequence) VALUES ('evt_' || :number, '%[1]s', 'chat.message.created', '%[2]s/chat',
    '{"event":"chat.message.created","tenantId":"%[1]s","occurredAt":"2026-01-31T12:00:00.000Z","data":{"id":"%[2]s","channelId":"%[2]s","authorId":"ada","authorName":"Ada Okafor","body":"Hello everybody","mentions":[],"createdAt":"2026-01-31T12:00:00.000Z"}}', now(), 1);
SELECT id, events FROM webhook_endpoints WHERE tenant_id = '%[1]s' AND deleted_at IS NULL AND status = 'active'
    AND (cardinality(events) = 0 OR events && ARRAY['chat.message.created']) ORDER BY id;
COMMIT;
`, a.caller.TenantID, st.ID)
}
