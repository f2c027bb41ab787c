package handlers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers/pipeline"
	"showfloor/internal/streams/recording"
	"showfloor/internal/streams/stream"
	"showfloor/internal/tenancy"
	"showfloor/internal/testkit/apitest"
)

// taped is a READY recording of a show: 4 s in which a mug is pinned at second 1, then a gap of 10 s, then 4 s more. Each second of
// the clock, in the gap too, "m0" to "m17" are written in the chat.
type taped struct {
	owner  *apitest.Caller
	st     api.Stream
	mug    api.Product
	rec    api.Recording
	viewer *apitest.Guest
}

func tape(t *testing.T, s *apitest.Server, owner *apitest.Caller) (r taped) {
	t.Helper()
	r.owner, r.st, r.mug = owner, publish(t, s, owner), owner.Product(t, map[string]any{"name": "Mug", "stock": 3})
	r.viewer = owner.Viewer(t, r.st.ID, "bo", map[string]any{"displayName": "Bo Lindqvist"})
	host := owner.Viewer(t, r.st.ID, "ada", map[string]any{"role": "host"})
	owner.Call(t, "POST", "/v1/me/streams/"+r.st.ID+"/recordings/start", nil).Into(t, 201, &r.rec)
	take, err := s.Recordings.OpenTake(t.Context(), r.rec.ID, "key")
	require.NoError(t, err)
	begin := s.Clock.Now()
	for second := range 18 {
		owner.Say(t, r.st.ID, "bo", "m"+string(rune('a'+second))).Is(t, 201)
		if second == 1 {
			host.Call(t, "PUT", "/v1/me/shows/"+r.st.ID+"/pin", map[string]any{"productId": r.mug.ID}).Is(t, 200)
		}
		s.Clock.Advance(time.Second)
	}
	// The chat uses the database's clock: messages get the times of the test's.
	_, err = s.Pool.Exec(t.Context(), `UPDATE channel_messages m SET created_at = $2::timestamptz + make_interval(secs => n.row - 1)
		FROM (SELECT id, row_number() OVER (ORDER BY id) AS row FROM channel_messages WHERE channel_id = $1) n WHERE m.id = n.id`, r.st.ID, begin)
	require.NoError(t, err)
	require.NoError(t, s.Recordings.SaveSegments(t.Context(), r.rec.ID, take, nil, []recording.Segment{
		{Number: 1, Init: 1, StartedAt: begin, Duration: 4 * time.Second, VideoBytes: 1000},
		{Number: 2, Init: 1, Discontinuity: true, StartedAt: begin.Add(14 * time.Second), Duration: 4 * time.Second, VideoBytes: 1000},
	}))
	require.NoError(t, s.Recordings.CloseTake(t.Context(), r.rec.ID, take, ""))
	owner.Call(t, "POST", "/v1/me/streams/"+r.st.ID+"/recordings/"+r.rec.ID+"/stop", nil).Is(t, 201)
	require.NoError(t, s.Recordings.FinishRecording(t.Context(), r.rec.ID))
	owner.Call(t, "GET", "/v1/me/recordings/"+r.rec.ID, nil).Into(t, 200, &r.rec)
	require.Equal(t, api.RecordingStatusREADY, r.rec.Status)
	return r
}

func (r taped) setPublic(t *testing.T, s *apitest.Server, public any) {
	t.Helper()
	r.owner.Call(t, "PATCH", "/v1/me/streams/"+r.st.ID, map[string]any{"publicReplay": public}).Is(t, 200)
	s.Clock.Advance(time.Second)
}

func TestReadAReplay(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r := tape(t, s, s.Register(t))
	anonymous, at := s.With(t, ""), "/v1/replays/"+r.rec.ID
	var first, second api.Replay
	answer := anonymous.Call(t, "GET", at, nil)
	answer.Into(t, 200, &first)
	require.Equal(t, "public, max-age=1", answer.Header.Get("Cache-Control"))
	require.Equal(t, "Launch", first.Name, "the stream's")
	require.InDelta(t, 8, first.DurationSec, 0)
	require.Equal(t, []api.ProductTimelineEntry{{TS: 1, ProductID: r.mug.ID}}, first.ProductTimeline)
	require.Equal(t, []string{r.mug.ID}, productIDs(first.Products))
	require.Regexp(t, `^https://api\.example\.test/vod/[\w-]+/`+r.rec.ID+`/index\.m3u8$`, first.URL)
	require.GreaterOrEqual(t, first.URLExpiresAt.Sub(s.Clock.Now()), time.Hour)
	r.viewer.Call(t, "GET", "/v1/me/replays/"+r.rec.ID, nil).Into(t, 200, &second)
	require.Equal(t, first.URL, second.URL, "so that shared caches work")

	// Today's price, and the recording's own name.
	r.owner.Call(t, "PATCH", "/v1/me/recordings/"+r.rec.ID, map[string]any{"name": "Part 1"}).Is(t, 200)
	r.owner.Call(t, "DELETE", "/v1/me/catalog/products/"+r.mug.ID, nil).Is(t, 200)
	s.Clock.Advance(time.Second)
	anonymous.Call(t, "GET", at, nil).Into(t, 200, &second)
	require.Equal(t, "Part 1", second.Name)
	require.False(t, second.Products[0].Active)
	require.Equal(t, r.rec.ID, publicShow(t, s, r.st.ID).ReplayID.MustGet())

	r.owner.Call(t, "DELETE", "/v1/me/recordings/"+r.rec.ID, nil).Is(t, 200)
	s.Clock.Advance(time.Second)
	require.Equal(t, "replay not found", anonymous.Call(t, "GET", at, nil).Problem(t, 404, "not_found").Message)
	r.viewer.Call(t, "GET", "/v1/me/replays/"+r.rec.ID, nil).Problem(t, 404, "not_found")
	require.True(t, publicShow(t, s, r.st.ID).ReplayID.IsNull())
}

func TestPublicReplaysNeedNoToken(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	r, plain, unfinished := tape(t, s, owner), record(t, s, owner, false), record(t, s, owner, true)
	anonymous := s.With(t, "")
	paths := []struct{ method, rest string }{{"GET", ""}, {"GET", "/chat"}, {"POST", "/guest-token"}}
	is := func(recordingID string, status int) {
		t.Helper()
		for _, p := range paths {
			got := anonymous.Call(t, p.method, "/v1/replays/"+recordingID+p.rest, nil)
			if status == 404 {
				got.Problem(t, 404, "not_found")
			} else {
				require.Less(t, got.Status, 300, p.rest)
			}
		}
	}
	is(r.rec.ID, 200)
	is(plain.ID, 404) // without products
	is(unfinished.ID, 404)
	is("rec_01m18qg1mhf2bsz1fk6m8v4jxe", 404)
	is("x", 404)
	r.setPublic(t, s, false)
	is(r.rec.ID, 404)
	require.True(t, publicShow(t, s, r.st.ID).ReplayID.IsNull())
	r.viewer.Call(t, "GET", "/v1/me/replays/"+r.rec.ID, nil).Is(t, 200)
	r.setPublic(t, s, nil)
	is(r.rec.ID, 200)
	owner.Call(t, "PATCH", "/v1/me/streams/"+plain.StreamID.MustGet(), map[string]any{"publicReplay": true}).Is(t, 200)
	s.Clock.Advance(time.Second)
	is(plain.ID, 200)

	// Participants: of the stream's room only, and not after a ban or a kick.
	at := "/v1/me/replays/" + r.rec.ID
	for _, path := range []string{at, at + "/chat"} {
		r.viewer.Call(t, "GET", path, nil).Is(t, 200)
		owner.Viewer(t, plain.StreamID.MustGet(), "bo", nil).Call(t, "GET", path, nil).Problem(t, 404, "not_found")
		newShow(t, s).viewer.Call(t, "GET", path, nil).Problem(t, 404, "not_found")
	}
	owner.Call(t, "POST", "/v1/me/channels/"+r.st.ID+"/moderate/ban", map[string]any{"target": "bo", "by": "ada"}).Is(t, 201)
	for _, path := range []string{at, at + "/chat"} {
		r.viewer.Call(t, "GET", path, nil).Problem(t, 403, "banned")
	}
	owner.SetTenantStatus(t, tenancy.Suspended)
	s.Clock.Advance(time.Second)
	is(r.rec.ID, 404)
}

func TestTheChatOfAReplay(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r := tape(t, s, s.Register(t))
	anonymous, at := s.With(t, ""), "/v1/replays/"+r.rec.ID+"/chat"
	var seconds []float64
	var messages []api.ReplayMessage
	var link string
	list := func(query string) (bodies string) { // and sets the variables above
		t.Helper()
		seconds, messages = nil, nil
		answer := anonymous.Call(t, "GET", at+query, nil)
		answer.Into(t, 200, &messages)
		link = answer.Header.Get("Link")
		for _, m := range messages {
			bodies, seconds = bodies+strings.TrimPrefix(m.Body, "m"), append(seconds, m.TS)
		}
		return bodies
	}
	require.Equal(t, "abcdefghijklmnopqr", list(""))
	require.Equal(t, []float64{0, 1, 2, 3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 5, 6, 7}, seconds)
	require.Empty(t, link)
	all := messages
	require.Equal(t, "defghijklmnopqr", list("?after=2.5"))
	require.Equal(t, "efghijklmnopqr", list("?after=4"), "those of the gap are at second 4")
	require.Equal(t, "pqr", list("?after=4.5"))
	require.Empty(t, list("?after=1e9"), "behind the end")
	require.Equal(t, "cd", list("?limit=2&after="+all[1].ID))
	require.Equal(t, `<`+apitest.PublicURL+at+`?after=`+all[3].ID+`&limit=2>; rel="next"`, link)
	for _, wrong := range []string{"x", "-1", "NaN", "msg_1"} {
		anonymous.Call(t, "GET", at+"?after="+wrong, nil).Problem(t, 400, "invalid_input")
	}

	// Deleted messages, and those before and after the recording, aren't listed.
	r.owner.Call(t, "DELETE", "/v1/me/channels/"+r.st.ID+"/messages/"+all[2].ID, nil).Is(t, 200)
	_, err := s.Pool.Exec(t.Context(), "UPDATE channel_messages SET created_at = created_at - interval '1 hour' WHERE id = $1", all[0].ID)
	require.NoError(t, err)
	_, err = s.Pool.Exec(t.Context(), "UPDATE channel_messages SET created_at = created_at + interval '1 hour' WHERE id = $1", all[17].ID)
	require.NoError(t, err)
	require.Equal(t, "bdefghijklmnopq", list(""))
	var own []api.ReplayMessage
	r.viewer.Call(t, "GET", "/v1/me/replays/"+r.rec.ID+"/chat", nil).Into(t, 200, &own)
	require.Equal(t, messages, own)
}

func TestAGuestOfAReplayBuysAndDoesNothingElse(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	r := tape(t, s, s.Register(t))
	var token, other api.ReplayGuestToken
	s.With(t, "").Call(t, "POST", "/v1/replays/"+r.rec.ID+"/guest-token", nil).Into(t, 201, &token)
	s.With(t, "").Call(t, "POST", "/v1/replays/"+r.rec.ID+"/guest-token", nil).Into(t, 201, &other)
	require.NotEqual(t, token.UserID, other.UserID)
	require.Equal(t, 6*time.Hour, token.ExpiresAt.Sub(s.Clock.Now()))
	guest := s.With(t, token.Token)
	cart := map[string]any{"items": items(r.mug.ID, 1)}
	guest.Call(t, "PUT", "/v1/me/shows/"+r.rec.ID+"/cart", cart).Is(t, 200)
	guest.Call(t, "POST", "/v1/me/shows/"+r.rec.ID+"/clicks", map[string]any{"productId": r.mug.ID}).Is(t, 201)

	// Every other operation, with every id that the guest may know.
	bought := map[string]bool{}
	for _, id := range []string{"getShowCart", "updateShowCart", "createShowCheckout", "listShowOrders", "getShowOrder", "countShowClick"} {
		bought[id] = true
	}
	checked := 0
	unbuilt := unbuiltOperations()
	for _, op := range operations(t) {
		takes := false
		for _, alternative := range *op.spec.Security {
			if _, is := alternative["participantToken"]; is {
				takes = true
			}
		}
		if !takes || unbuilt[strings.ToLower(op.id)] {
			continue
		}
		for _, id := range []string{r.rec.ID, r.st.ID, r.owner.Session(t, nil).ID} {
			if bought[op.id] && id == r.rec.ID {
				continue
			}
			got := guest.Call(t, op.method, op.at(id+"/"+token.UserID), sampleBody(op))
			require.Contains(t, []int{400, 403, 404, 409}, got.Status, "%s with %s: %s", op.id, id, got.Body)
			if got.Status == 400 || got.Status == 409 { // the sample body doesn't fit: the operation must have refused before it did anything
				require.Contains(t, string(got.Body), "userId", op.id)
			}
			checked++
		}
	}
	require.Greater(t, checked, 30)

	// The token ends when the recording is public no more.
	r.setPublic(t, s, false)
	guest.Call(t, "GET", "/v1/me/shows/"+r.rec.ID+"/cart", nil).Problem(t, 401, "unauthenticated")
	r.setPublic(t, s, nil)
	guest.Call(t, "GET", "/v1/me/shows/"+r.rec.ID+"/cart", nil).Is(t, 200)
	r.owner.SetTenantStatus(t, tenancy.Suspended)
	s.Clock.Advance(time.Second)
	// The participants of the stream's room get the same answer.
	for _, caller := range []*apitest.Caller{guest, r.viewer.Caller} {
		for _, at := range []string{"GET /cart", "GET /orders", "PUT /cart", "POST /clicks", "POST /checkout"} {
			method, path, _ := strings.Cut(at, " ")
			caller.Call(t, method, "/v1/me/shows/"+r.rec.ID+path, nil).Problem(t, 403, "tenant_suspended")
		}
	}
	// Without a token, its shows and replays don't exist.
	s.With(t, "").Call(t, "GET", "/v1/replays/"+r.rec.ID, nil).Problem(t, 404, "not_found")
	s.With(t, "").Call(t, "GET", "/v1/replays/"+r.rec.ID+"/chat", nil).Problem(t, 404, "not_found")
	s.With(t, "").Call(t, "POST", "/v1/replays/"+r.rec.ID+"/guest-token", nil).Problem(t, 404, "not_found")
	s.With(t, "").Call(t, "GET", "/v1/shows/"+r.st.ID, nil).Problem(t, 404, "not_found")
}

func TestGuestTokensAreLimitedByAddress(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{Limits: pipeline.Limits{Limiter: inMemory(), Auth: hourly(2)}})
	at := "/v1/replays/rec_01m18qg1mhf2bsz1fk6m8v4jxe/guest-token"
	for range 2 {
		s.With(t, "").Call(t, http.MethodPost, at, nil).Problem(t, 404, "not_found")
	}
	limited(t, s.With(t, "").Call(t, http.MethodPost, at, nil), "auth")
}

// TestAnUnpinnedProductHasNoEntry: pins of no product are no entries of the timeline.
func TestAnUnpinnedProductHasNoEntry(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	st := owner.Stream(t, map[string]any{"recordingEnabled": true})
	publishFrom(t, s, st, stream.SourceRTMP)
	host := owner.Viewer(t, st.ID, "ada", map[string]any{"role": "host"})
	mug, lamp := owner.Product(t, nil).ID, owner.Product(t, map[string]any{"externalId": "lamp"}).ID
	var list []api.Recording
	owner.Call(t, "GET", "/v1/me/streams/"+st.ID+"/recordings", nil).Into(t, 200, &list)
	take, err := s.Recordings.OpenTake(t.Context(), list[0].ID, "key")
	require.NoError(t, err)
	begin := s.Clock.Now()
	for _, id := range []any{mug, nil, mug, nil, lamp} {
		s.Clock.Advance(time.Second)
		host.Call(t, "PUT", "/v1/me/shows/"+st.ID+"/pin", map[string]any{"productId": id}).Is(t, 200)
	}
	require.NoError(t, s.Recordings.SaveSegments(t.Context(), list[0].ID, take, nil, []recording.Segment{
		{Number: 1, Init: 1, StartedAt: begin, Duration: 6 * time.Second, VideoBytes: 1000},
	}))
	owner.Call(t, "GET", "/v1/me/streams/"+st.ID+"/recordings", nil).Into(t, 200, &list)
	require.Equal(t, []api.ProductTimelineEntry{{TS: 1, ProductID: mug}, {TS: 5, ProductID: lamp}}, list[0].ProductTimeline)
}
