package e2e

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/browsertest"
)

// TestCaptionsBecomeASummary: participants know that a transcript is kept and see captions; a summary follows the end.
func TestCaptionsBecomeASummary(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	a := signUp(t, s)
	on := true
	session := openSession(a, api.SessionInput{Type: api.SessionInputTypeConference, TranscriptionEnabled: &on})
	ada := invite(a, s, session, "ada", "Ada Okafor")
	ada.waits(`document.getElementById("lobby-transcribed").checkVisibility()`)
	ada.joins()
	ada.isIn()
	ada.waits(`document.querySelector("#badges .badge-text")?.textContent === "Transcript"`)
	says := func(key, text string, final bool) {
		created(a.PublishCaptionWithResponse(t.Context(), session.ID, api.CaptionInput{UserID: "ada", Key: key, Text: text, Final: &final}))(t)
	}
	shown := `document.getElementById("captions").innerText`
	ada.waits(`document.getElementById("captions").hidden`)
	says("1", "We decided", false)
	ada.waits(shown + `.trim() === "Ada Okafor We decided"`)
	says("1", "We decided that the launch of the studio camera moves to Thursday.", true)
	ada.waits(shown + `.trim() === "Ada Okafor We decided that the launch of the studio camera moves to Thursday."`)
	says("2", "Ben will book the studio for the launch, and send the video of the camera to the press.", true)
	says("3", "The launch video of the studio camera is ready on Wednesday at noon.", true)
	ada.waits(`document.querySelectorAll("#captions p").length === 3`)
	browsertest.Screenshot(t, ada.tab, "captions-desk")
	browsertest.Look(t, ada.tab, 390, 844, true)
	says("4", "The press needs it a day before.", true)
	ada.waits(shown + `.includes("a day before")`)
	require.LessOrEqual(t, browsertest.Value[int](t, ada.tab, `document.querySelectorAll("#captions p").length`), 3)
	browsertest.Screenshot(t, ada.tab, "captions-phone")
	require.Empty(t, browsertest.Barriers(t, ada.tab))
	browsertest.Look(t, ada.tab, 1280, 800, false)
	ada.clicks("[data-control=more]")
	ada.waits(`(() => { const item = [...document.querySelectorAll("[role=menuitemradio]")].find((one) => one.textContent.trim() === "Captions"); item?.click(); return item !== undefined; })()`)
	says("5", "This one is hidden.", true)
	ada.waits(`document.getElementById("captions").textContent.includes("This one is hidden.")`)
	require.False(t, browsertest.Value[bool](t, ada.tab, `document.getElementById("captions").checkVisibility()`))
	ada.isQuiet()

	created(a.EndSessionWithResponse(t.Context(), session.ID))(t)
	var sum *api.SessionSummary
	until(t, "the summary", func() bool {
		resp, err := a.GetSessionSummaryWithResponse(t.Context(), session.ID)
		require.NoError(t, err)
		sum = resp.JSON200
		return sum != nil && sum.Ready
	})
	text := sum.Summary.MustGet()
	require.Equal(t, []string{"Ada Okafor: We decided that the launch of the studio camera moves to Thursday."}, text.Decisions)
	require.Contains(t, text.Tldr, "launch")
	resp, err := a.GetTranscriptVttWithResponse(t.Context(), session.ID)
	require.NoError(t, err)
	require.Equal(t, 5, strings.Count(string(resp.Body), "<v Ada Okafor>"))
}
