package speech_test

import (
	"encoding/binary"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/media/utterance"
	"showfloor/internal/rooms/speech/recognizer"
	"showfloor/internal/testkit/apitest"
)

// endpoint is a model's HTTP endpoint.
type endpoint struct {
	mu sync.Mutex
	// answers are given one after the other; the last one is repeated. A number is a status, a string is the body.
	answers []any
	formats []string
	faults  []string
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	file, _, err := r.FormFile("file")
	if err != nil || r.URL.Path != "/v1/audio/transcriptions" || r.Header.Get("Authorization") != "Bearer sk-test" || r.FormValue("model") != "whisper-1" {
		e.faults = append(e.faults, r.URL.Path+" "+r.FormValue("model"))
		w.WriteHeader(http.StatusNotFound)
		return
	}
	wave, err := io.ReadAll(file)
	if err != nil || len(wave) < 20_000 || string(wave[:4]) != "RIFF" || binary.LittleEndian.Uint32(wave[24:]) != 16_000 {
		e.faults = append(e.faults, "no WAV file of 16 kHz")
	}
	answer := e.answers[min(len(e.formats), len(e.answers)-1)]
	e.formats = append(e.formats, r.FormValue("response_format"))
	if status, bad := answer.(int); bad {
		if status == http.StatusTooManyRequests {
			w.Header().Set("Retry-After", "7")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"error": {"message": "no response_format, Bearer sk-test"}}`)
		return
	}
	_, _ = io.WriteString(w, answer.(string))
}

// asked are the formats of the answers that were requested.
func (e *endpoint) asked(t *testing.T) []string {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	require.Empty(t, e.faults)
	return append([]string{}, e.formats...)
}

// rig is a server with a session that has transcription on.
type rig struct {
	*endpoint

	s       *apitest.Server
	owner   *apitest.Caller
	session api.Session
	path    string
	sound   []byte
}

func newRig(t *testing.T, answers ...any) *rig {
	t.Helper()
	e := &endpoint{answers: answers}
	web := httptest.NewServer(e)
	t.Cleanup(web.Close)
	r := &rig{endpoint: e, s: apitest.New(t, apitest.Options{SpeechModel: recognizer.New(web.URL+"/v1", "sk-test", "whisper-1", "")})}
	r.owner = r.s.Register(t)
	r.session = r.owner.Session(t, map[string]any{"transcriptionEnabled": true})
	r.path = "/v1/me/sessions/" + r.session.ID
	r.owner.Join(t, r.session.ID, "ada", map[string]any{"displayName": "Ada Okafor"})
	r.s.Clock.Advance(time.Minute)
	out, err := exec.CommandContext(t.Context(), "ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i", "sine=duration=1", "-c:a", "libopus", "-f", "ogg", "pipe:1").Output()
	require.NoError(t, err)
	r.sound = out
	return r
}

// said is what ada said in the last two seconds.
func (r *rig) said() utterance.Utterance {
	now := r.s.Clock.Now()
	return utterance.Utterance{
		TenantID: r.owner.TenantID, RoomID: r.session.ID, UserID: "ada", TrackID: "trk_1", Sound: r.sound,
		StartedAt: now.Add(-2 * time.Second), EndedAt: now,
	}
}

// waiting are the ids of the utterances that wait; each has one job.
func (r *rig) waiting(t *testing.T) (list []string) {
	t.Helper()
	rows, err := r.s.Pool.Query(t.Context(), `SELECT id, (SELECT count(*) FROM river_job WHERE args->>'utteranceId' = u.id) FROM utterances u
		WHERE session_id = $1 ORDER BY id`, r.session.ID)
	require.NoError(t, err)
	for rows.Next() {
		var id string
		var jobs int
		require.NoError(t, rows.Scan(&id, &jobs))
		require.Equal(t, 1, jobs)
		list = append(list, id)
	}
	require.NoError(t, rows.Err())
	return list
}

// keep stores one utterance and returns its id.
func (r *rig) keep(t *testing.T) string {
	t.Helper()
	require.NoError(t, r.s.Speech.KeepUtterance(t.Context(), r.said()))
	list := r.waiting(t)
	require.Len(t, list, 1)
	return list[0]
}

func (r *rig) recognize(t *testing.T, id string, last bool) (time.Duration, error) {
	t.Helper()
	return r.s.Speech.Recognize(t.Context(), r.owner.TenantID, id, last)
}

func (r *rig) lines(t *testing.T) (list []api.TranscriptLine) {
	t.Helper()
	r.owner.Call(t, "GET", r.path+"/transcript", nil).Into(t, 200, &list)
	return list
}

func segment(text string, none, probability, compression string) string {
	return `{"text": "` + text + `", "no_speech_prob": ` + none + `, "avg_logprob": ` + probability + `, "compression_ratio": ` + compression + `}`
}

func TestUtterancesBecomeLines(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "x", "language": "English", "segments": [`+strings.Join([]string{
		segment(" We start", "0.1", "-0.2", "1.1"), segment(" Thank you for watching!", "0.9", "-1.2", "1"), segment(` on\u0000 Thursday.`, "0.7", "-0.3", "1.2"),
		segment(" Hum hmm", "0.1", "-0.1", "2.5"),
	}, ",")+`]}`)
	said := r.said()
	for range 2 {
		require.NoError(t, r.s.Speech.KeepUtterance(t.Context(), said))
	}
	require.Len(t, r.waiting(t), 1)
	id := r.waiting(t)[0]
	for range 2 {
		wait, err := r.recognize(t, id, false)
		require.NoError(t, err)
		require.Zero(t, wait)
		list := r.lines(t)
		require.Len(t, list, 1)
		require.Equal(t, "We start on Thursday.", list[0].Text)
		require.Equal(t, "Ada Okafor", list[0].Speaker)
		require.Equal(t, api.TranscriptSource("speech"), list[0].Source)
		require.Equal(t, "en", list[0].Language.MustGet())
		require.WithinDuration(t, said.StartedAt, list[0].StartedAt.Time, time.Millisecond)
		require.WithinDuration(t, said.EndedAt, list[0].EndedAt.Time, time.Millisecond)
	}
	require.Empty(t, r.waiting(t))
	require.Equal(t, []string{"verbose_json"}, r.asked(t))
}

// TestTheSummaryWaitsForTheLastWords, but not for longer than ten minutes.
func TestTheSummaryWaitsForTheLastWords(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "We decided to start on Thursday."}`)
	id := r.keep(t)
	r.owner.Call(t, "POST", r.path+"/end", nil).Is(t, 201)
	write := func() (time.Duration, api.SessionSummary) {
		wait, err := r.s.Summaries.WriteSummary(t.Context(), r.owner.TenantID, r.session.ID, false)
		require.NoError(t, err)
		var got api.SessionSummary
		r.owner.Call(t, "GET", r.path+"/summary", nil).Into(t, 200, &got)
		return wait, got
	}
	wait, got := write()
	require.Positive(t, wait)
	require.False(t, got.Ready)
	require.Empty(t, got.Sources)
	_, err := r.recognize(t, id, false)
	require.NoError(t, err)
	wait, got = write()
	require.Zero(t, wait)
	require.True(t, got.Ready)
	require.Equal(t, []api.SummarySource{"speech"}, got.Sources)
	require.Equal(t, []string{"Ada Okafor: We decided to start on Thursday."}, got.Summary.MustGet().Decisions)
}

func TestASummaryDoesNotWaitForever(t *testing.T) {
	t.Parallel()
	r := newRig(t, 503)
	id := r.keep(t)
	r.owner.Call(t, "POST", r.path+"/end", nil).Is(t, 201)
	_, err := r.recognize(t, id, false)
	require.Error(t, err)
	r.s.Clock.Advance(10 * time.Minute)
	wait, err := r.s.Summaries.WriteSummary(t.Context(), r.owner.TenantID, r.session.ID, false)
	require.NoError(t, err)
	require.Zero(t, wait)
	require.ErrorIs(t, r.s.Speech.KeepUtterance(t.Context(), r.said()), utterance.ErrUnwanted)
}

// TestFailures: what the model's endpoint can answer, and what becomes of the utterance.
func TestFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		answers []any
		last    bool
		wait    time.Duration
		fails   bool
		kept    bool
		lines   int
		asked   int
	}{
		"a model without verbose answers": {answers: []any{400, `{"text": "Yes."}`}, lines: 1, asked: 2},
		"one that checks its input":       {answers: []any{422, `{"text": "Yes."}`}, lines: 1, asked: 2},
		"one with other types":            {answers: []any{`{"duration": "1.0", "text": "Yes.", "segments": [{"id": "s1", "text": " Yes.", "no_speech_prob": null}]}`}, lines: 1, asked: 1},
		"segments without text":           {answers: []any{`{"text": "Yes.", "segments": [{"id": 0}]}`}, lines: 1, asked: 1},
		"only sounds":                     {answers: []any{`{"text": " [BLANK_AUDIO] (laughs) ♪"}`}, asked: 1},
		"a refusal":                       {answers: []any{400}, asked: 2},
		"too long":                        {answers: []any{413}, asked: 1},
		"no speech":                       {answers: []any{`{"text": "  "}`}, asked: 1},
		"busy":                            {answers: []any{429}, wait: 7 * time.Second, kept: true, asked: 1},
		"busy at the last attempt":        {answers: []any{429}, last: true, asked: 1},
		"out of order":                    {answers: []any{503}, fails: true, kept: true, asked: 1},
		"out of order at the last":        {answers: []any{503}, last: true, asked: 1},
		"a wrong key":                     {answers: []any{401}, fails: true, kept: true, asked: 1},
		"no JSON":                         {answers: []any{"<html>"}, fails: true, kept: true, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, tt.answers...)
			id := r.keep(t)
			wait, err := r.recognize(t, id, tt.last)
			require.Equal(t, tt.fails, err != nil, "%v", err)
			if err != nil {
				require.NotContains(t, err.Error(), "sk-test")
			}
			require.GreaterOrEqual(t, wait, tt.wait)
			require.Equal(t, tt.wait > 0, wait > 0)
			require.Equal(t, tt.kept, len(r.waiting(t)) == 1)
			require.Len(t, r.lines(t), tt.lines)
			require.Len(t, r.asked(t), tt.asked)
		})
	}
}

// TestAPlainModelIsRemembered, so that it isn't asked twice each time.
func TestAPlainModelIsRemembered(t *testing.T) {
	t.Parallel()
	r := newRig(t, 400, `{"text": "Yes."}`)
	for range 2 {
		r.s.Clock.Advance(3 * time.Second)
		_, err := r.recognize(t, r.keep(t), false)
		require.NoError(t, err)
	}
	require.Equal(t, []string{"verbose_json", "json", "json"}, r.asked(t))
	require.Len(t, r.lines(t), 2)
}

// TestUnwantedSpeech isn't stored, and isn't sent if it became unwanted.
func TestUnwantedSpeech(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "Yes."}`)
	other := r.said()
	other.TenantID = r.s.Register(t).TenantID
	require.ErrorIs(t, r.s.Speech.KeepUtterance(t.Context(), other), utterance.ErrUnwanted)
	id := r.keep(t)
	r.owner.Call(t, "PATCH", r.path, map[string]any{"transcriptionEnabled": false}).Is(t, 200)
	require.ErrorIs(t, r.s.Speech.KeepUtterance(t.Context(), r.said()), utterance.ErrUnwanted)
	_, err := r.recognize(t, id, false)
	require.NoError(t, err)
	require.Empty(t, r.waiting(t))
	r.owner.Call(t, "PATCH", r.path, map[string]any{"transcriptionEnabled": true}).Is(t, 200)
	r.owner.Call(t, "POST", r.path+"/captions", map[string]any{"key": "1", "userId": "ada", "text": "I do that myself."}).Is(t, 201)
	require.ErrorIs(t, r.s.Speech.KeepUtterance(t.Context(), r.said()), utterance.ErrUnwanted, "the client publishes captions")
	r.s.Clock.Advance(2 * time.Minute)
	r.keep(t)
	require.Empty(t, r.asked(t))
	require.Len(t, r.lines(t), 1)
}

// TestWaitingUtterancesAreBounded: a session can't fill the database.
func TestWaitingUtterancesAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "Yes."}`)
	_, err := r.s.Pool.Exec(t.Context(), `INSERT INTO utterances (id, tenant_id, session_id, user_id, speaker, key, sound, started_at, ended_at, created_at)
		SELECT $2 || n, $1, $2, 'ben', 'Ben', n::text, '', now(), now() + interval '1 s', at FROM generate_series(1, 300) n, (VALUES (now() - interval '25 hours')) AS t (at)`, r.owner.TenantID, r.session.ID)
	require.NoError(t, err)
	require.ErrorIs(t, r.s.Speech.KeepUtterance(t.Context(), r.said()), utterance.ErrUnwanted)
	require.NoError(t, r.s.Speech.DeleteOld(t.Context()))
	r.keep(t)
}

// TestWordsAreKeptOnce: an utterance that two workers have is asked for twice at most, and becomes one line. One whose speaker has
// published the same words meanwhile becomes none.
func TestWordsAreKeptOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "Yes."}`)
	id := r.keep(t)
	var work sync.WaitGroup
	for range 2 {
		work.Go(func() {
			_, err := r.s.Speech.Recognize(t.Context(), r.owner.TenantID, id, false)
			assert.NoError(t, err)
		})
	}
	work.Wait()
	require.Len(t, r.lines(t), 1)

	r.s.Clock.Advance(time.Minute)
	id = r.keep(t)
	r.s.Clock.Advance(time.Second)
	r.owner.Call(t, "POST", r.path+"/captions", map[string]any{"key": "1", "userId": "ada", "text": "Yes, by my client."}).Is(t, 201)
	_, err := r.recognize(t, id, false)
	require.NoError(t, err)
	require.Len(t, r.lines(t), 2)
	require.Empty(t, r.waiting(t))
}

// TestSoundThatCannotBeDecoded is deleted at once.
func TestSoundThatCannotBeDecoded(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "Yes."}`)
	r.sound = []byte("OggS is no sound")
	_, err := r.recognize(t, r.keep(t), false)
	require.NoError(t, err)
	require.Empty(t, r.waiting(t))
	require.Empty(t, r.asked(t))
}

// TestAFailedModelDelaysASummaryByAMinute, and not by ten.
func TestAFailedModelDelaysASummaryByAMinute(t *testing.T) {
	t.Parallel()
	r := newRig(t, 401)
	id := r.keep(t)
	r.owner.Call(t, "POST", r.path+"/end", nil).Is(t, 201)
	_, err := r.recognize(t, id, false)
	require.Error(t, err)
	awaits := func() bool {
		row, err := r.s.Sessions.FindSession(t.Context(), r.owner.TenantID, r.session.ID)
		require.NoError(t, err)
		waits, err := r.s.Speech.Awaits(t.Context(), row)
		require.NoError(t, err)
		return waits
	}
	require.True(t, awaits())
	r.s.Clock.Advance(time.Minute)
	require.False(t, awaits())
}

func TestSpeechOfASuspendedTenantIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, `{"text": "Yes."}`)
	id := r.keep(t)
	_, err := r.s.Pool.Exec(t.Context(), "UPDATE tenants SET status = 'SUSPENDED' WHERE id = $1", r.owner.TenantID)
	require.NoError(t, err)
	_, err = r.recognize(t, id, false)
	require.NoError(t, err)
	require.Empty(t, r.waiting(t))
	require.Empty(t, r.asked(t))
}
