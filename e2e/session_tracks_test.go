package e2e

import (
	"fmt"
	"math"
	"os/exec"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// toneRate is that of decoded sound in samples per second.
const toneRate = 48_000

// tones are the frequencies of participants' microphones in Hz.
var tones = map[string]int{"ada": 450, "ben": 1250}

// toned replaces a person's microphone by a tone, and has the button "Record" ask for separate tracks, before the person joins.
func (p *person) toned() {
	p.t.Helper()
	script := fmt.Sprintf(`(() => {
		const devices = navigator.mediaDevices;
		if (!devices) return;
		const capture = devices.getUserMedia.bind(devices);
		devices.getUserMedia = async (constraints) => {
			if (!constraints?.audio) return capture(constraints);
			const audio = new AudioContext();
			const tone = new OscillatorNode(audio, { frequency: %d });
			const out = audio.createMediaStreamDestination();
			tone.connect(new GainNode(audio, { gain: 0.3 })).connect(out);
			tone.start();
			(globalThis.tones ??= []).push([audio, tone, out]); // or they are collected
			return out.stream;
		};
		const send = globalThis.fetch;
		globalThis.fetch = (url, init) => {
			if (!String(url).endsWith("/recording/start")) return send(url, init);
			const headers = new Headers(init.headers);
			headers.set("Content-Type", "application/json");
			return send(url, { ...init, headers, body: JSON.stringify({ separateTracks: true }) });
		};
	})()`, tones[p.id])
	_, err := chromedp.Call(p.tab, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
	require.NoError(p.t, err)
	p.run(chromedp.Reload())
}

// levels decodes a file, and returns the level of a tone in each 20 ms; 1 is the loudest sine.
func levels(t *testing.T, url string, frequency int) (list []float64) {
	t.Helper()
	pcm, err := exec.CommandContext(t.Context(), "ffmpeg", "-v", "error", "-nostdin", "-i", url, "-vn",
		"-ac", "1", "-ar", strconv.Itoa(toneRate), "-f", "s16le", "-").Output()
	require.NoError(t, err)
	const window = toneRate / 50
	for ; len(pcm) >= 2*window; pcm = pcm[2*window:] {
		var re, im float64
		for i := range window {
			x := float64(int16(uint16(pcm[2*i])|uint16(pcm[2*i+1])<<8)) / math.MaxInt16
			sin, cos := math.Sincos(2 * math.Pi * float64(frequency) * float64(i) / toneRate)
			re, im = re+x*cos, im+x*sin
		}
		list = append(list, 2*math.Hypot(re, im)/window)
	}
	return list
}

// loud returns how many levels are those of the tone.
func loud(list []float64) (n int) {
	for _, x := range list {
		if x > 0.05 {
			n++
		}
	}
	return n
}

// checkTracks checks that each participant has files with that participant's tone alone, which cover all parts of the video.
func checkTracks(t *testing.T, a *tenant, r api.SessionRecording) {
	t.Helper()
	require.True(t, r.SeparateTracks)
	require.True(t, r.IncompleteReason.IsNull(), "%+v", r)
	answer, err := a.GetRecordingPlaybackURLWithResponse(t.Context(), r.ID)
	require.NoError(t, err)
	require.NotNil(t, answer.JSON200, "%s", answer.Body)
	require.Len(t, answer.JSON200.Tracks.MustGet(), len(r.Tracks.MustGet()))
	list := map[string][]api.SessionRecordingTrack{}
	for _, track := range r.Tracks.MustGet() {
		list[track.UserID] = append(list[track.UserID], track)
	}
	require.Len(t, list, 2)
	for user, other := range map[string]string{"ada": "ben", "ben": "ada"} {
		require.GreaterOrEqual(t, len(list[user]), 2, "both parts")
		for _, x := range list[user] {
			require.Equal(t, map[string]string{"ada": "Ada Okafor", "ben": "Ben Sato"}[user], x.Name.MustGet())
			status, file := get(t.Context(), t, x.URL)
			require.Equal(t, 200, status)
			require.EqualValues(t, len(file), x.SizeBytes)
			own, foreign := levels(t, x.URL, tones[user]), levels(t, x.URL, tones[other])
			t.Logf("%s from %.3f s, %.3f s: %d of %d with the tone", user, x.StartSec, x.DurationSec, loud(own), len(own))
			require.Greater(t, loud(own), 25, "the participant's own tone")
			require.Zero(t, loud(foreign), "the other's tone")
			require.InDelta(t, x.DurationSec, float64(len(own))/50, 0.1)
		}
	}
	for i, x := range list["ada"] {
		end := r.DurationSec.MustGet()
		if i+1 < len(list["ada"]) {
			end = list["ada"][i+1].StartSec
		}
		require.InDelta(t, end, x.StartSec+x.DurationSec, 0.1, "the parts follow each other")
	}
	checkPlaces(t, answer.JSON200.Mp4URL.MustGet(), list)
}

// checkPlaces checks that a tone begins in the video when it begins in the file.
func checkPlaces(t *testing.T, video string, list map[string][]api.SessionRecordingTrack) {
	t.Helper()
	for user, tracks := range list {
		mix := levels(t, video, tones[user])
		for _, x := range tracks {
			own := levels(t, x.URL, tones[user])
			begin := 0
			for begin < len(own) && own[begin] < 0.05 {
				begin++
			}
			at := int(x.StartSec*50) + begin
			around := mix[max(at-12, 0):min(at+13, len(mix))]
			t.Logf("%s begins after %d ms of the file, at %d ms of the video: %.2f around", user, 20*begin, 20*at, around)
			require.Greater(t, mix[at+4], 0.05)
			if begin > 5 { // otherwise the tone began before the recording or the part
				require.Less(t, mix[at-3], 0.05)
			}
		}
	}
}
