package handlers_test

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/rooms/transcript"
	"showfloor/internal/testkit/apitest"
)

// caption is a caption of ben, unless more names another user.
func caption(key, text string, more ...any) map[string]any {
	body := map[string]any{"userId": "ben", "key": key, "text": text}
	for i := 0; i < len(more); i += 2 {
		body[more[i].(string)] = more[i+1]
	}
	return body
}

// captionsOf returns the captions that were published in the room, as "<speaker>: <text>".
func (m *meeting) captionsOf() (list []string) {
	for _, p := range m.s.Published() {
		if p.Room == m.session.ID && p.Type == "session.caption" {
			list = append(list, fmt.Sprintf("%s: %s", p.Data["speaker"], p.Data["text"]))
		}
	}
	return list
}

func TestCaptions(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	path := m.path + "/captions"
	m.s.Clock.Advance(time.Minute)
	var got api.Caption
	m.ben.Call(t, "POST", path, caption("1", "I book", "final", false, "language", "en-GB")).Into(t, 201, &got)
	require.False(t, got.Final)
	m.s.Clock.Advance(2 * time.Second)
	began := m.s.Clock.Now().Add(-2 * time.Second)
	m.ben.Call(t, "POST", path, caption("1", "I book the studio.", "language", "en-GB", "startedAt", began.Format(time.RFC3339Nano))).Into(t, 201, &got)
	require.Equal(t, []any{"Ben Sato", true, true, "en-GB"}, []any{got.Speaker, got.Final, got.Kept, got.Language.MustGet()})
	require.Equal(t, began.UnixMilli(), got.StartedAt.UnixMilli())
	require.Equal(t, m.s.Clock.Now().UnixMilli(), got.EndedAt.UnixMilli())

	// The same request again, as after a lost answer.
	var again api.Caption
	m.ben.Call(t, "POST", path, caption("1", "I book the studio.", "language", "en-GB")).Into(t, 201, &again)
	require.Equal(t, got, again)

	// The tenant's server names the speaker. Its words may arrive late, and the lines are in the order in which they were said.
	m.owner.Call(t, "POST", path, caption("1", "May I book it?", "userId", "ada", "startedAt", began.Add(-5*time.Second).Format(time.RFC3339Nano),
		"endedAt", began.Add(-3*time.Second).Format(time.RFC3339Nano))).Is(t, 201)
	m.owner.Call(t, "POST", path, caption("2", "x", "userId", "eve")).Problem(t, 404, "not_found")
	m.owner.Call(t, "POST", path, caption("2", "x", "userId", "dan")).Problem(t, 403, "forbidden")
	m.owner.Call(t, "POST", path, caption("2", " ", "userId", "ada")).Problem(t, 400, "invalid_input")

	// A participant speaks for itself, if it may speak.
	m.ben.Call(t, "POST", path, caption("2", "x", "userId", "ada")).Problem(t, 403, "forbidden")
	m.dan.Call(t, "POST", path, caption("2", "x", "userId", "dan")).Problem(t, 403, "forbidden")
	m.owner.Ticket(t, m.session.ID, "zoe", map[string]any{"role": "guest"}).Call(t, "POST", path, caption("2", "x", "userId", "zoe")).Problem(t, 403, "forbidden")

	require.Equal(t, []string{"Ben Sato: I book", "Ben Sato: I book the studio.", "ada: May I book it?"}, m.captionsOf())
	var lines []api.TranscriptLine
	m.owner.Call(t, "GET", m.path+"/transcript", nil).Into(t, 200, &lines)
	require.Len(t, lines, 2)
	require.Equal(t, []string{"May I book it?", "I book the studio."}, []string{lines[0].Text, lines[1].Text})
	require.InDelta(t, 55, lines[0].StartSec, 0.01)
	require.InDelta(t, 60, lines[1].StartSec, 0.01)

	m.owner.Call(t, "POST", m.path+"/end", nil).Is(t, 201)
	m.ben.Call(t, "POST", path, caption("3", "x")).Problem(t, 409, "conflict")
}

// TestCaptionTimesAreOfTheSession: clients' clocks may be wrong.
func TestCaptionTimesAreOfTheSession(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	m.s.Clock.Advance(time.Hour)
	now := m.s.Clock.Now()
	var got api.Caption
	for i, c := range []struct {
		by                     *apitest.Caller
		started, ended         time.Duration
		wantStarted, wantEnded time.Duration
	}{
		{m.ben.Caller, time.Hour, 2 * time.Hour, 0, 0},
		{m.ben.Caller, -time.Minute, -2 * time.Minute, -2 * time.Minute, -2 * time.Minute},
		{m.ben.Caller, -50 * time.Minute, -10 * time.Second, -5 * time.Minute, -10 * time.Second},
		{m.owner, -50 * time.Minute, -40 * time.Minute, -50 * time.Minute, -40 * time.Minute},
		{m.owner, -50 * time.Hour, -40 * time.Hour, -time.Hour, -time.Hour},
	} {
		c.by.Call(t, "POST", m.path+"/captions", caption(strconv.Itoa(i), "x", "startedAt", now.Add(c.started).Format(time.RFC3339Nano),
			"endedAt", now.Add(c.ended).Format(time.RFC3339Nano))).Into(t, 201, &got)
		require.WithinDuration(t, now.Add(c.wantStarted), got.StartedAt.Time, time.Second, i)
		require.WithinDuration(t, now.Add(c.wantEnded), got.EndedAt.Time, time.Second, i)
	}
}

// TestCaptionsWithoutTranscription are shown and not kept.
func TestCaptionsWithoutTranscription(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, nil)
	m.ben.Call(t, "POST", m.path+"/captions", caption("1", "Hello")).Is(t, 201)
	require.Equal(t, []string{"Ben Sato: Hello"}, m.captionsOf())
	var lines []api.TranscriptLine
	m.owner.Call(t, "GET", m.path+"/transcript", nil).Into(t, 200, &lines)
	require.Empty(t, lines)
	vtt := m.owner.Call(t, "GET", m.path+"/transcript.vtt", nil)
	require.Equal(t, "WEBVTT\n", string(vtt.Body))
}

// TestTranscriptVTT reads more lines than the server reads at a time.
func TestTranscriptVTT(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	m.s.Clock.Advance(74*time.Second + 200*time.Millisecond)
	m.ben.Call(t, "POST", m.path+"/captions", caption("a", "I'll make a <b>bold</b> plan -->\n\nfor & against")).Is(t, 201)
	vtt := m.owner.Call(t, "GET", m.path+"/transcript.vtt", nil)
	require.Contains(t, string(vtt.Body),
		"\n00:01:14.200 --> 00:01:15.200\n<v Ben Sato>I'll make a &lt;b&gt;bold&lt;/b&gt; plan --&gt; for &amp; against\n")
	_, err := m.s.Pool.Exec(t.Context(), `INSERT INTO transcript_lines
		SELECT 'line_' || lpad(n::text, 26, '0'), tenant_id, session_id, user_id, speaker, 'Sentence ' || n, NULL, 'k' || n, started_at, ended_at, created_at
		FROM transcript_lines, generate_series(1, 1200) n WHERE session_id = $1`, m.session.ID)
	require.NoError(t, err)
	vtt = m.owner.Call(t, "GET", m.path+"/transcript.vtt", nil)
	require.Equal(t, 1201, strings.Count(string(vtt.Body), " --> "))
	for _, limit := range []int{150, 200} {
		ids := follow(t, m.owner, fmt.Sprintf("%s/transcript?limit=%d", m.path, limit), limit)
		require.Len(t, ids, 1201)
		require.True(t, slices.IsSorted(ids))
	}
}

// TestATranscriptIsFull: further captions are shown, and other speakers' are kept.
func TestATranscriptIsFull(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	m.ben.Call(t, "POST", m.path+"/captions", caption("a", "One.")).Is(t, 201)
	publish := func(key, text, user string) (got api.Caption) {
		m.owner.Call(t, "POST", m.path+"/captions", caption(key, text, "userId", user)).Into(t, 201, &got)
		return got
	}
	_, err := m.s.Pool.Exec(t.Context(), "UPDATE transcript_sizes SET lines = 5000 WHERE session_id = $1", m.session.ID)
	require.NoError(t, err)
	require.False(t, publish("b", "Two.", "ben").Kept)
	require.True(t, publish("b", "Three.", "cleo").Kept)
	_, err = m.s.Pool.Exec(t.Context(), "UPDATE transcript_sizes SET lines = 20000 WHERE session_id = $1 AND user_id = ''", m.session.ID)
	require.NoError(t, err)
	require.False(t, publish("c", "Four.", "cleo").Kept)
	require.Equal(t, []string{"Ben Sato: One.", "Ben Sato: Two.", "cleo: Three.", "cleo: Four."}, m.captionsOf())
	var lines []api.TranscriptLine
	m.owner.Call(t, "GET", m.path+"/transcript", nil).Into(t, 200, &lines)
	require.Len(t, lines, 2)
}

// TestModeratorsStopCaptions: a participant that a moderator has muted in the room or in the chat publishes none.
func TestModeratorsStopCaptions(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	publish := func(key string) apitest.Response {
		return m.cleo.Call(t, "POST", m.path+"/captions", caption(key, "x", "userId", "cleo"))
	}
	publish("1").Is(t, 201)
	moderate(t, m.owner, m.session.ID, "mute", map[string]any{"target": "cleo", "by": "ada"})
	publish("2").Problem(t, 403, "muted")
	m = newMeeting(t, nil)
	m.owner.Call(t, "POST", m.path+"/moderate/mute", map[string]any{"userId": "cleo"}).Is(t, 201)
	publish("3").Problem(t, 403, "muted")

	m = newMeeting(t, nil)
	for i := range 30 {
		publish(strconv.Itoa(i)).Is(t, 201)
	}
	publish("more").Problem(t, 429, "rate_limited")
	m.owner.Call(t, "POST", m.path+"/captions", caption("4", "x", "userId", "cleo")).Is(t, 201)
	m.s.Clock.Advance(time.Second)
	publish("later").Is(t, 201)
}

// TestOldLinesAreDeleted: summaries stay.
func TestOldLinesAreDeleted(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"transcriptionEnabled": true})
	m.ben.Call(t, "POST", m.path+"/captions", caption("1", "Old.")).Is(t, 201)
	m.s.Clock.Advance(48 * time.Hour)
	m.owner = m.owner.LogInAgain(t)
	m.owner.Call(t, "POST", m.path+"/captions", caption("2", "New.")).Is(t, 201)
	old := transcript.New(transcript.Config{Pool: m.s.Pool, Keep: 24 * time.Hour, Now: m.s.Clock.Now})
	require.NoError(t, old.DeleteOld(t.Context()))
	var lines []api.TranscriptLine
	m.owner.Call(t, "GET", m.path+"/transcript", nil).Into(t, 200, &lines)
	require.Len(t, lines, 1)
	require.Equal(t, "New.", lines[0].Text)
}
