package summary_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/summary"
	"showfloor/internal/rooms/summary/model"
	"showfloor/internal/testkit/apitest"
)

// rig is a server with a session that has transcription on.
type rig struct {
	s       *apitest.Server
	owner   *apitest.Caller
	session api.Session
	path    string
}

func newRig(t *testing.T, m summary.Model) *rig {
	t.Helper()
	r := &rig{s: apitest.New(t, apitest.Options{SummaryModel: m})}
	r.owner = r.s.Register(t)
	r.session = r.owner.Session(t, map[string]any{"transcriptionEnabled": true})
	r.path = "/v1/me/sessions/" + r.session.ID
	for user, name := range map[string]string{"ada": "Ada Okafor", "ben": "Ben Sato"} {
		r.owner.Join(t, r.session.ID, user, map[string]any{"displayName": name})
	}
	return r
}

// says adds a line to the transcript, a second later.
func (r *rig) says(t *testing.T, user, text string) {
	t.Helper()
	r.s.Clock.Advance(time.Second)
	key := strconv.FormatInt(r.s.Clock.Now().UnixNano(), 10)
	r.owner.Call(t, "POST", r.path+"/captions", map[string]any{"key": key, "userId": user, "text": text}).Is(t, 201)
}

func (r *rig) talk(t *testing.T) {
	t.Helper()
	r.says(t, "ada", "The launch of the studio camera was planned for Tuesday.")
	r.says(t, "ben", "The launch video of the studio camera is not ready before Wednesday.")
	r.says(t, "ada", "We decided that the launch moves to Thursday.")
	r.says(t, "ben", "I'll book the studio for Thursday morning.")
}

func (r *rig) end(t *testing.T) {
	t.Helper()
	r.owner.Call(t, "POST", r.path+"/end", nil).Is(t, 201)
}

func (r *rig) write(t *testing.T, last bool) error {
	t.Helper()
	wait, err := r.s.Summaries.WriteSummary(t.Context(), r.owner.TenantID, r.session.ID, last)
	require.Zero(t, wait)
	return err
}

func (r *rig) summary(t *testing.T) (got api.SessionSummary) {
	t.Helper()
	r.owner.Call(t, "GET", r.path+"/summary", nil).Into(t, 200, &got)
	return got
}

// ready is how many session.summary.ready events the session has.
func (r *rig) ready(t *testing.T) (n int) {
	t.Helper()
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM events WHERE tenant_id = $1 AND event = 'session.summary.ready'", r.owner.TenantID).Scan(&n))
	return n
}

func TestTheSummaryQuotesTranscriptAndChat(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.talk(t)
	r.owner.Call(t, "POST", "/v1/me/channels/"+r.session.ID+"/messages", map[string]any{
		"authorId": "ben", "authorName": "Ben Sato", "body": "Please send the launch video to the press by Wednesday.",
	}).Is(t, 201)
	require.NoError(t, r.write(t, false))
	before := r.summary(t)
	require.False(t, before.Ready, "it has not ended")
	require.True(t, before.Engine.IsNull() && before.Summary.IsNull() && before.GeneratedAt.IsNull())
	r.s.Clock.Advance(time.Hour) // the chat has the database's clock
	r.end(t)
	require.False(t, r.summary(t).Ready)
	for range 2 {
		require.NoError(t, r.write(t, false))
		got := r.summary(t)
		require.True(t, got.Ready)
		require.WithinDuration(t, r.s.Clock.Now(), got.GeneratedAt.MustGet().Time, time.Millisecond)
		require.Equal(t, api.SummaryEngine("extractive"), got.Engine.MustGet())
		text := got.Summary.MustGet()
		require.Contains(t, text.Tldr, "launch")
		require.Equal(t, []string{"Ada Okafor: We decided that the launch moves to Thursday."}, text.Decisions)
		require.ElementsMatch(t, []string{
			"Ben Sato: I'll book the studio for Thursday morning.", "Ben Sato: Please send the launch video to the press by Wednesday.",
		}, text.ActionItems)
	}
	require.Equal(t, 1, r.ready(t))
}

func TestAnEmptySessionsSummaryIsReady(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	r.end(t)
	require.NoError(t, r.write(t, false))
	require.Equal(t, api.SummaryText{
		Tldr:       "There is too little text for a summary: the transcript has no lines and the chat has no messages.",
		Highlights: []string{}, ActionItems: []string{}, Decisions: []string{},
	}, r.summary(t).Summary.MustGet())
}

// endpoint is a language model's HTTP endpoint.
type endpoint struct {
	mu sync.Mutex
	// answers are given one after the other; the last one is repeated. A number is a status, a string is the model's text.
	answers []any
	asked   []map[string]any
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	var in map[string]any
	if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer sk-test" || json.Unmarshal(body, &in) != nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	answer := e.answers[min(len(e.asked), len(e.answers)-1)]
	e.asked = append(e.asked, in)
	w.Header().Set("Content-Type", "application/json")
	if status, bad := answer.(int); bad {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error": {"message": "no \u0000 for Bearer sk-test`+strings.Repeat("x", 10_000)+`"}}`)
		return
	}
	_, _ = io.WriteString(w, `{"choices": [{"message": {"role": "assistant", "content": `+quoted(fmt.Sprint(answer))+`}}]}`)
}

// quoted is a text as JSON.
func quoted(text string) string {
	encoded, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(encoded)
}

func (e *endpoint) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.asked)
}

func newEndpoint(t *testing.T, answers ...any) (*endpoint, *model.Client) {
	t.Helper()
	e := &endpoint{answers: answers}
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	return e, model.New(web.URL+"/v1/", "sk-test", "small")
}

const good = `{"tldr": "The launch moves.", "highlights": ["It moves."], "actionItems": [], "decisions": ["Thursday\u0000"]}`

func TestTheModelWritesTheSummary(t *testing.T) {
	t.Parallel()
	e, client := newEndpoint(t, good)
	r := newRig(t, client)
	r.talk(t)
	r.end(t)
	require.NoError(t, r.write(t, false))
	got := r.summary(t)
	require.Equal(t, api.SummaryEngine("model"), got.Engine.MustGet())
	require.Equal(t, api.SummaryText{
		Tldr: "The launch moves.", Highlights: []string{"It moves."}, ActionItems: []string{}, Decisions: []string{"Thursday"},
	}, got.Summary.MustGet())
	require.Len(t, e.asked, 1)
	require.Equal(t, "small", e.asked[0]["model"])
	require.Equal(t, "json_schema", e.asked[0]["response_format"].(map[string]any)["type"])
	messages := e.asked[0]["messages"].([]any)
	require.Contains(t, messages[1].(map[string]any)["content"], "Ben Sato: I'll book the studio for Thursday morning.\n")
	require.NotContains(t, e.asked[0], "tools")
}

// TestAnEndpointWithoutSchemas is asked again without one, and its answer may have words around it.
func TestAnEndpointWithoutSchemas(t *testing.T) {
	t.Parallel()
	e, client := newEndpoint(t, 400, "Here it is:\n```json\n"+good+"\n```")
	r := newRig(t, client)
	r.talk(t)
	r.end(t)
	require.NoError(t, r.write(t, false))
	require.Equal(t, "The launch moves.", r.summary(t).Summary.MustGet().Tldr)
	require.NotContains(t, e.asked[1], "response_format")
}

func TestAModelThatFails(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers []any
		again   bool // the job is to be repeated
	}{
		"server error":   {[]any{500}, true},
		"rate limit":     {[]any{429}, true},
		"no JSON":        {[]any{"I'd rather not."}, true},
		"another schema": {[]any{`{"summary": "x"}`}, true},
		"wrong type":     {[]any{`{"tldr": ["x"]}`}, true},
		"wrong key":      {[]any{401}, true},
		"a list less":    {[]any{`{"tldr": "x", "highlights": [], "actionItems": []}`}, true},
		"refused":        {[]any{400, 400}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, client := newEndpoint(t, c.answers...)
			r := newRig(t, client)
			r.talk(t)
			r.end(t)
			err := r.write(t, false)
			if c.again {
				require.Error(t, err)
				require.NotContains(t, err.Error(), "sk-test")
				require.NotContains(t, err.Error(), "\x00")
				require.Less(t, len(err.Error()), 1000)
				require.False(t, r.summary(t).Ready)
				require.NoError(t, r.write(t, true))
			} else {
				require.NoError(t, err)
			}
			require.Equal(t, api.SummaryEngine("extractive"), r.summary(t).Engine.MustGet())
			require.Equal(t, 1, r.ready(t))
		})
	}
}

// TestAnsweredPartsAreNotPaidAgain: a long conversation has several parts; a failure in the middle asks only for the rest.
func TestAnsweredPartsAreNotPaidAgain(t *testing.T) {
	t.Parallel()
	e, client := newEndpoint(t, good, good, 500, good)
	r := newRig(t, client)
	for i := range 180 {
		r.says(t, "ada", strings.Repeat(fmt.Sprintf("words %03d ", i), 99))
	}
	r.end(t)
	require.Error(t, r.write(t, false))
	require.Equal(t, 3, e.count())
	require.NoError(t, r.write(t, false))
	require.Equal(t, 6, e.count(), "the third part, the fourth, and the whole")
	require.Contains(t, e.asked[5]["messages"].([]any)[0].(map[string]any)["content"], "a part of one conversation")
	require.Equal(t, api.SummaryEngine("model"), r.summary(t).Engine.MustGet())
	var parts int
	require.NoError(t, r.s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM summary_parts WHERE session_id = $1", r.session.ID).Scan(&parts))
	require.Zero(t, parts)
}
