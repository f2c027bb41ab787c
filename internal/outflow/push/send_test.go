package push_test

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/postgres"
	"showfloor/internal/base/timestamp"
	"showfloor/internal/outflow/push"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
	"showfloor/internal/testkit/pushtest"
)

// TestVoidPushesDontPileUp: only pushes whose time has passed are deleted.
func TestVoidPushesDontPileUp(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Pool: dbtest.New(t)})
	s.Register(t) // another tenant, with its own jobs
	add := func(user string, expires time.Duration) {
		err := postgres.InTx(t.Context(), s.Pool, func(tx pgx.Tx) error {
			_, err := s.Inserter.InsertManyTx(t.Context(), tx, []river.InsertManyParams{{Args: push.Args{
				TenantID: "ten_1", UserID: user, Data: map[string]string{"service": "1"}, Priority: push.High,
				ExpiresAt: timestamp.From(s.Clock.Now().Add(expires)),
			}}})
			return err
		})
		require.NoError(t, err)
	}
	count := func(where string) (n int) {
		require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job WHERE "+where).Scan(&n))
		return n
	}
	others := count("kind <> 'push_send'")
	add("void", -time.Second)
	add("sending", -time.Second)
	add("ben", time.Second)
	_, err := s.Pool.Exec(t.Context(), "UPDATE river_job SET state = 'running' WHERE args ->> 'userId' = 'sending'")
	require.NoError(t, err)
	for _, k := range s.Keepers() {
		require.NoError(t, k.DeleteOld(t.Context()))
	}
	require.Zero(t, count("args ->> 'userId' = 'void'"))
	require.Equal(t, 2, count("kind = 'push_send'"))
	require.Equal(t, others, count("kind <> 'push_send'"))
}

// call rings ben for ada.
func (r *rig) call(t *testing.T) api.CallAdmission {
	t.Helper()
	return r.owner.Ring(t, map[string]any{"projectId": "launch", "fromDisplayName": "Ada Okafor", "kind": "video"})
}

func TestACallRingsAndStopsRinging(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Jobs: true})
	r.owner.Device(t, "ben", "ios", "pushkit", map[string]any{"kind": "voip"})
	r.device(t, "ben", "ios", "phone")
	r.owner.Device(t, "ben", "web", "browser", map[string]any{"locale": "de-AT"})
	r.device(t, "ben", "android", "pixel")
	r.providers.Answer("pixel", pushtest.Busy(503, "", 1))
	c := r.call(t)
	data := func(typ string) map[string]any {
		return map[string]any{"service": "1", "type": typ, "sessionId": c.SessionID, "kind": "video", "fromUserId": "ada"}
	}
	voip := r.providers.Await(t, "pushkit", 1)[0]
	require.Equal(t, []string{"com.acme.shop.voip", "voip", "10", c.SessionID},
		[]string{voip.Header.Get("apns-topic"), voip.Header.Get("apns-push-type"), voip.Header.Get("apns-priority"), voip.Header.Get("apns-collapse-id")})
	require.Equal(t, []any{"1", "call.invite", c.SessionID, "video", "ada"},
		[]any{voip.Body["service"], voip.Body["type"], voip.Body["sessionId"], voip.Body["kind"], voip.Body["from"]})
	browser := r.providers.Await(t, "browser", 1)[0]
	require.Equal(t, map[string]any{"title": "Ada Okafor", "body": "Eingehender Videoanruf"}, browser.Body["notification"])
	require.Equal(t, data("call.invite"), browser.Body["data"])
	pixel := r.providers.Await(t, "pixel", 2)[1] // the first one was throttled
	require.Equal(t, data("call.invite"), pixel.Body["data"])
	require.Equal(t, "high", pixel.Body["android"].(map[string]any)["priority"])
	require.NotContains(t, pixel.Body, "notification")
	require.Len(t, r.providers.Pushes("browser"), 1, "the retry is for the throttled device only")

	r.owner.Call(t, "POST", "/v1/me/calls/"+c.SessionID+"/decline", map[string]any{"userId": "ben"}).Is(t, 201)
	over := r.providers.Await(t, "pixel", 3)[2]
	require.Equal(t, c.SessionID, over.Body["android"].(map[string]any)["collapse_key"])
	want := data("call.cancel")
	want["reason"] = "declined"
	require.Equal(t, want, over.Body["data"])
	require.NotContains(t, r.providers.Await(t, "browser", 2)[1].Body, "notification")
	require.Equal(t, "call.cancel", r.providers.Await(t, "pushkit", 2)[1].Body["type"])
	require.Empty(t, r.providers.Pushes("phone"), "the user has a VoIP device")
}

func TestAMissedCallIsShown(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Jobs: true})
	r.device(t, "ben", "ios", "phone")
	c := r.call(t)
	ring := r.providers.Await(t, "phone", 1)[0]
	require.Equal(t, map[string]any{"title": "Ada Okafor", "body": "Incoming video call"}, ring.Body["aps"].(map[string]any)["alert"])
	r.owner.Call(t, "POST", "/v1/me/calls/"+c.SessionID+"/end", map[string]any{"userId": "ada"}).Is(t, 201)
	missed := r.providers.Await(t, "phone", 2)[1]
	require.Equal(t, map[string]any{"title": "Ada Okafor", "body": "Missed video call"}, missed.Body["aps"].(map[string]any)["alert"])
	require.Equal(t, []any{"taken_back", c.SessionID}, []any{missed.Body["reason"], missed.Header.Get("apns-collapse-id")})
	answered := r.call(t)
	r.providers.Await(t, "phone", 3)
	r.owner.Call(t, "POST", "/v1/me/calls/"+answered.SessionID+"/answer", map[string]any{"userId": "ben"}).Is(t, 201)
	require.Equal(t, "background", r.providers.Await(t, "phone", 4)[3].Header.Get("apns-push-type"))
}

// TestACallThatIsOverDoesNotRing even if its push was throttled before.
func TestACallThatIsOverDoesNotRing(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.device(t, "ben", "ios", "phone")
	c := r.call(t)
	args := push.Args{
		TenantID: r.owner.TenantID, ProjectID: new("launch"), UserID: "ben", Reason: push.Ringing, Priority: push.High,
		Data: map[string]string{"sessionId": c.SessionID}, ExpiresAt: timestamp.From(r.Clock.Now().Add(time.Hour)),
	}
	_, err := r.Pushes.Send(t.Context(), 0, args)
	require.NoError(t, err)
	require.Len(t, r.providers.Pushes("phone"), 1)
	r.owner.Call(t, "POST", "/v1/me/calls/"+c.SessionID+"/decline", map[string]any{"userId": "ben"}).Is(t, 201)
	_, err = r.Pushes.Send(t.Context(), 0, args)
	require.NoError(t, err)
	require.Len(t, r.providers.Pushes("phone"), 1)
}

func TestAMentionIsPushed(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{Jobs: true})
	r.device(t, "ben", "ios", "phone")
	r.owner.Device(t, "ben", "ios", "pushkit", map[string]any{"kind": "voip"})
	ch := r.owner.Channel(t, map[string]any{"projectId": "launch"})
	message := map[string]any{"authorId": "ada", "authorName": "Ada", "body": "look " + strings.Repeat("ü", 300), "mentions": []string{"ben", "ada"}}
	r.owner.Call(t, "POST", "/v1/me/channels/"+ch.ID+"/messages", message).Is(t, 201)
	got := r.providers.Await(t, "phone", 1)[0]
	require.Equal(t, map[string]any{"title": "Backstage", "body": "Ada: look " + strings.Repeat("ü", 190)}, got.Body["aps"].(map[string]any)["alert"])
	require.Equal(t, []any{"1", ch.ID, "launch"}, []any{got.Body["service"], got.Body["channelId"], got.Body["projectId"]})
	require.Empty(t, r.providers.Pushes("pushkit"))
}

func TestTheTestMessage(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.owner.Device(t, "ada", "ios", "phone", map[string]any{"locale": "de"})
	r.device(t, "ada", "android", "gone")
	r.owner.Device(t, "ada", "ios", "second", map[string]any{"projectId": "second"})
	r.providers.Answer("gone", pushtest.Google(404, "NOT_FOUND", "UNREGISTERED"))
	try := func(project, token string) apitest.Response {
		return r.owner.Call(t, "POST", "/v1/me/push/projects/"+project+"/credentials/test", map[string]any{"token": token})
	}
	var got api.PushTestResult
	try("launch", "phone").Into(t, 201, &got)
	require.Equal(t, []any{"ios-push", "delivered", 200, true, "The provider accepted the message."},
		[]any{string(got.Provider), string(got.Outcome), got.Status.MustGet(), got.Reason.IsNull(), got.Message})
	require.Equal(t, "Testnachricht", r.providers.Pushes("phone")[0].Body["aps"].(map[string]any)["alert"].(map[string]any)["title"])
	try("launch", "gone").Into(t, 201, &got)
	require.Equal(t, []any{"cloud-push", "stale", 404, "UNREGISTERED", "The token is no longer valid: UNREGISTERED (status 404)."},
		[]any{string(got.Provider), string(got.Outcome), got.Status.MustGet(), got.Reason.MustGet(), got.Message})
	require.True(t, r.active(t, "gone"))
	try("launch", "second").Problem(t, 404, "not_found")
	try("launch", "unknown").Problem(t, 404, "not_found")
	try("second", "second").Problem(t, 409, "conflict")
}

// TestACallThatEndsAsASessionStopsRinging: the host, the tenant's server or a suspension ends it.
func TestACallThatEndsAsASessionStopsRinging(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	cancels := func(sessionID string) (n int) {
		require.NoError(t, r.Pool.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE kind = 'push_send'
			AND args -> 'data' ->> 'type' = 'call.cancel' AND args -> 'data' ->> 'sessionId' = $1`, sessionID).Scan(&n))
		return n
	}
	c := r.call(t)
	for range 2 {
		r.owner.Call(t, "POST", "/v1/me/sessions/"+c.SessionID+"/end", nil).Is(t, 201)
		require.Equal(t, 1, cancels(c.SessionID))
	}
	c = r.call(t)
	require.NoError(t, postgres.InTx(t.Context(), r.Pool, func(tx pgx.Tx) error {
		return r.Sessions.StopTenantTx(t.Context(), tx, r.owner.TenantID)
	}))
	require.Equal(t, 1, cancels(c.SessionID))
}

// TestAWaitingPushDoesNotFollowADevice to its next user or project.
func TestAWaitingPushDoesNotFollowADevice(t *testing.T) {
	t.Parallel()
	for name, next := range map[string]map[string]any{
		"user": {"userId": "eve"}, "project": {"projectId": "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, apitest.Options{Jobs: true})
			r.owner.SetPushCredentials(t, "other")
			r.device(t, "ben", "ios", "phone")
			r.providers.Answer("phone", pushtest.Busy(503, "", 1))
			var asking sync.WaitGroup // the answer waits for the device
			asking.Go(func() { r.notify(t, "ben") })
			defer asking.Wait() // not as a cleanup: the context has ended then
			r.providers.Await(t, "phone", 1)
			r.owner.Device(t, "ben", "ios", "phone", next)
			apitest.Until(t, "the device to be gone", func() bool {
				list := r.notifications(t)
				return len(list) == 1 && list[0].Outcomes.Stale == 1
			})
			require.Len(t, r.providers.Pushes("phone"), 1)
			require.True(t, r.active(t, "phone"))
		})
	}
}

// TestASuspendedTenantPushesNothing: its notifications wait until they expire.
func TestASuspendedTenantPushesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, apitest.Options{})
	r.device(t, "ben", "ios", "phone")
	_, err := r.Pool.Exec(t.Context(), "UPDATE tenants SET status = 'SUSPENDED' WHERE id = $1", r.owner.TenantID)
	require.NoError(t, err)
	project := "launch"
	again, err := r.Pushes.Send(t.Context(), 1, push.Args{
		TenantID: r.owner.TenantID, ProjectID: &project, UserID: "ben", Title: "x", Body: "y", Data: map[string]string{},
		ExpiresAt: timestamp.From(r.Clock.Now().Add(time.Hour)),
	})
	require.NoError(t, err)
	require.Zero(t, again)
	require.Empty(t, r.providers.Pushes("phone"))
}
