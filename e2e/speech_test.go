package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// speechModel is a server for speech recognition that understands tones: each participant of tones has one.
type speechModel struct {
	*httptest.Server

	mu sync.Mutex
	// hold delays the answers until it is closed; nil for no delay.
	hold chan struct{}
	// answered counts the answers by the digest of the file.
	answered map[[32]byte]int
	faults   []string
}

func newSpeechModel(t *testing.T) *speechModel {
	t.Helper()
	m := &speechModel{answered: map[[32]byte]int{}}
	m.Server = httptest.NewServer(m)
	t.Cleanup(m.Close)
	return m
}

func (m *speechModel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	wave, err := io.ReadAll(file)
	m.mu.Lock()
	hold := m.hold
	m.mu.Unlock()
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	}
	if err != nil || r.Context().Err() != nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.answered[sha256.Sum256(wave)]++
	ada, ben := strength(wave[44:], tones["ada"]), strength(wave[44:], tones["ben"])
	name := "ada"
	if ben > ada {
		name = "ben"
	}
	if max(ada, ben) < 0.02 || min(ada, ben) > 0.01 {
		m.faults = append(m.faults, fmt.Sprintf("%d bytes: %.3f and %.3f", len(wave), ada, ben))
	}
	_, _ = fmt.Fprintf(w, `{"text": "This is sentence %d of %s."}`, len(m.answered), name)
}

// strength is the mean level of a tone in samples of 16 kHz.
func strength(samples []byte, frequency int) float64 {
	const rate, window = 16_000, 800
	sum, n := 0.0, 0
	for ; len(samples) >= 2*window; samples = samples[2*window:] {
		var re, im float64
		for i := range window {
			x := float64(int16(uint16(samples[2*i])|uint16(samples[2*i+1])<<8)) / math.MaxInt16
			sin, cos := math.Sincos(2 * math.Pi * float64(frequency) * float64(i) / rate)
			re, im = re+x*cos, im+x*sin
		}
		sum, n = sum+2*math.Hypot(re, im)/window, n+1
	}
	return sum / float64(max(n, 1))
}

// talks replaces a person's microphone by a tone that is on for 1.5 s and off for 1.5 s, before the person joins.
func (p *person) talks() {
	p.t.Helper()
	script := fmt.Sprintf(`(() => {
		const devices = navigator.mediaDevices;
		if (!devices) return;
		const capture = devices.getUserMedia.bind(devices);
		devices.getUserMedia = async (constraints) => {
			if (!constraints?.audio) return capture(constraints);
			const audio = new AudioContext();
			const tone = new OscillatorNode(audio, { frequency: %d });
			const gain = new GainNode(audio, { gain: 0 });
			const out = audio.createMediaStreamDestination();
			for (let i = 0; i < 400; i++) {
				gain.gain.setValueAtTime(0.3, audio.currentTime + 3 * i + 1);
				gain.gain.setValueAtTime(0, audio.currentTime + 3 * i + 2.5);
			}
			tone.connect(gain).connect(out);
			tone.start();
			(globalThis.tones ??= []).push([audio, tone, gain, out]); // or they are collected
			return out.stream;
		};
	})()`, tones[p.id])
	_, err := chromedp.Call(p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(p.t, err)
	p.run(chromedp.Reload())
}

// transcribed is a running session with transcription, two participants who talk, and a model for their speech.
type transcribed struct {
	s        *server
	a        *tenant
	m        *speechModel
	session  api.Session
	ada, ben *person
}

func newTranscribed(t *testing.T) *transcribed {
	t.Helper()
	x := &transcribed{m: newSpeechModel(t)}
	x.s = serve(t, onTestDatabase, set("AI_TRANSCRIBE_URL", x.m.URL+"/v1"), set("AI_TRANSCRIBE_MODEL", "tones"))
	x.a = signUp(t, x.s)
	on := true
	x.session = openSession(x.a, api.SessionInput{Type: api.SessionInputTypeConference, TranscriptionEnabled: &on})
	x.ada = invite(x.a, x.s, x.session, "ada", "Ada Okafor")
	x.ben = invite(x.a, x.s, x.session, "ben", "Ben Sato")
	for _, p := range []*person{x.ada, x.ben} {
		p.talks()
		p.joins()
		p.isIn()
	}
	return x
}

// lines are those of the transcript. Each must have its speaker's name.
func (x *transcribed) lines(t *testing.T) (list []api.TranscriptLine) {
	t.Helper()
	size := 100
	resp, err := x.a.ListTranscriptLinesWithResponse(t.Context(), x.session.ID, &api.ListTranscriptLinesParams{Limit: &size})
	require.NoError(t, err)
	require.NotNil(t, resp.JSON200, "%s", resp.Body)
	for _, l := range *resp.JSON200 {
		require.Equal(t, api.TranscriptSource("speech"), l.Source)
		require.Contains(t, l.Text, " of "+l.UserID+".")
	}
	return *resp.JSON200
}

// finish ends the session and waits for its summary.
func (x *transcribed) finish(t *testing.T) (sum api.SessionSummary, took time.Duration) {
	t.Helper()
	created(x.a.EndSessionWithResponse(t.Context(), x.session.ID))(t)
	began := time.Now()
	until(t, "the summary", func() bool {
		resp, err := x.a.GetSessionSummaryWithResponse(t.Context(), x.session.ID)
		require.NoError(t, err)
		if resp.JSON200 != nil {
			sum = *resp.JSON200
		}
		return sum.Ready
	})
	return sum, time.Since(began)
}

// TestSpeechBecomesATranscript: the words of both appear as captions while they talk, under the right names, and in the summary.
func TestSpeechBecomesATranscript(t *testing.T) {
	t.Parallel()
	x := newTranscribed(t)
	for _, p := range []*person{x.ada, x.ben} {
		p.waits(`document.getElementById("captions").innerText.includes("of ada.")`)
		p.waits(`document.getElementById("captions").innerText.includes("of ben.")`)
	}
	browsertest.Screenshot(t, x.ben.tab, "captions-of-speech")
	until(t, "some lines", func() bool { return len(x.lines(t)) >= 6 })
	lines := x.lines(t)
	last := lines[len(lines)-1]
	require.Less(t, last.EndedAt.Sub(last.StartedAt.Time), 4*time.Second)
	x.ben.isQuiet()
	sum, took := x.finish(t)
	t.Logf("the summary was ready %s after the end", took)
	require.Equal(t, []api.SummarySource{"speech"}, sum.Sources)
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	require.Empty(t, x.m.faults)
	for _, n := range x.m.answered {
		require.Equal(t, 1, n, "no call is repeated")
	}
	require.Len(t, x.lines(t), len(x.m.answered))
}

// TestSpeechOutlivesItsServer: utterances that waited when the server was killed become lines; answers that were given are not asked for
// again.
func TestSpeechOutlivesItsServer(t *testing.T) {
	t.Parallel()
	x := newTranscribed(t)
	until(t, "a line", func() bool { return len(x.lines(t)) >= 1 })
	for range 2 {
		before := len(x.lines(t))
		hold := make(chan struct{})
		x.m.mu.Lock()
		x.m.hold = hold
		x.m.mu.Unlock()
		until(t, "waiting utterances", func() bool { return x.waiting(t) >= 3 })
		x.s.kill()
		waiting := x.waiting(t)
		x.m.mu.Lock()
		x.m.hold = nil
		x.m.mu.Unlock()
		close(hold)
		x.s.start(t)
		until(t, "the waiting utterances", func() bool { return len(x.lines(t)) >= before+waiting })
		for _, p := range []*person{x.ada, x.ben} {
			p.waits(`room()?.state === "joined"`)
		}
		known := len(x.lines(t))
		until(t, "new words", func() bool { return len(x.lines(t)) > known })
	}
	sum, _ := x.finish(t)
	require.Equal(t, []api.SummarySource{"speech"}, sum.Sources)
	require.Zero(t, x.waiting(t))
	x.m.mu.Lock()
	defer x.m.mu.Unlock()
	require.Empty(t, x.m.faults)
	for _, n := range x.m.answered {
		require.Equal(t, 1, n, "no answer was paid twice")
	}
}

// waiting is the number of utterances in the database.
func (x *transcribed) waiting(t *testing.T) (n int) {
	t.Helper()
	db, err := pgx.Connect(t.Context(), x.s.settings["DATABASE_URL"])
	require.NoError(t, err)
	defer db.Close(t.Context())
	require.NoError(t, db.QueryRow(t.Context(), "SELECT count(*) FROM utterances").Scan(&n))
	return n
}
