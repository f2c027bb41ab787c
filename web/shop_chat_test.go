package web_test

import (
	"net/http"
	"testing"

	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// TestShopExplainsChatRefusals: each refusal of a message is shown in the viewer's language, and the typed text stays in the field. The
// next attempt sends it.
func TestShopExplainsChatRefusals(t *testing.T) {
	t.Parallel()
	refusals := []struct {
		status   int
		code     string
		en, here string
	}{
		{http.StatusForbidden, "muted", "muted you in this chat", "stummgeschaltet"},
		{http.StatusForbidden, "timed_out", "paused your messages", "für einige Zeit angehalten"},
		{http.StatusForbidden, "banned", "excluded you from the chat", "von Chat und Auktionen ausgeschlossen"},
		{http.StatusForbidden, "forbidden", "You aren’t allowed to do this", "nicht erlaubt"},
		{http.StatusTooManyRequests, "rate_limited", "Try again in 7 s", "in 7 s noch einmal"}, // the slow mode
		{http.StatusBadRequest, "invalid_input", "Check your entries", "Bitte prüfen Sie sie"},
		{http.StatusServiceUnavailable, "disk_space_low", "That didn’t work", "Das hat nicht geklappt"},
		{http.StatusUnauthorized, "unauthenticated", "Your link has expired", "Ihr Link ist abgelaufen"},
	}
	for _, c := range []struct{ language, field, text, send string }{
		{"en-GB", "Say something", "Is it dishwasher safe?", "Send"}, {"de-DE", "Schreiben Sie etwas", "Ist sie spülmaschinenfest?", "Senden"},
	} {
		t.Run(c.language, func(t *testing.T) {
			t.Parallel()
			s := newShopScript(t)
			p := newShopper(t, s, "")
			p.speaks(c.language)
			p.opens()
			p.types(c.field, c.text)
			for _, refusal := range refusals {
				s.change(func() { s.refusals["chat"] = problemOf(refusal.status, refusal.code) })
				p.clicks(c.send)
				p.reads(map[string]string{"en-GB": refusal.en, "de-DE": refusal.here}[c.language])
				require.Equal(t, c.text, browsertest.Value[string](t, p.tab, `document.querySelector(".composer-line input").value`), refusal.code)
				require.NotContains(t, browsertest.Value[string](t, p.tab, `document.body.innerText`), "a sentence in English", refusal.code)
			}
			browsertest.Screenshot(t, p.tab, "shop-chat-refused-"+c.language)
			require.Empty(t, browsertest.Barriers(t, p.tab))
			s.change(func() { delete(s.refusals, "chat") })
			p.clicks(c.send)
			p.waits(`document.querySelector(".messages .own")?.textContent.includes("` + c.text + `")`)
			p.waits(`document.querySelector(".composer-line input").value === "" && !document.querySelector(".composer .trouble")`)
			require.Equal(t, c.text, s.seen("chat")[len(refusals)]["body"])
		})
	}
}

// TestShopTakesNoLongerMessageThanTheChat: the field ends at the 4000 characters that the server accepts.
func TestShopTakesNoLongerMessageThanTheChat(t *testing.T) {
	t.Parallel()
	s := newShopScript(t)
	p := newShopper(t, s, "")
	p.opens()
	p.types("Say something", "x")
	p.does(`const field = document.querySelector(".composer-line input"); field.value = ""; document.execCommand("insertText", false, "y".repeat(5000))`)
	p.presses(kb.Enter)
	p.waits(`document.querySelector(".composer-line input").value === ""`)
	require.Len(t, s.seen("chat")[0]["body"], 4000)
}

// TestShopTellsARemovedViewer: the realtime channel disconnects a viewer who was banned or kicked, and the page says that the host has
// excluded the viewer.
func TestShopTellsARemovedViewer(t *testing.T) {
	t.Parallel()
	for language, says := range map[string]string{"en-GB": "You can’t watch this show", "de-DE": "Sie können diese Show nicht ansehen"} {
		for _, code := range []string{"banned", "forbidden"} {
			t.Run(language+" "+code, func(t *testing.T) {
				t.Parallel()
				s := newShopScript(t)
				p := newShopper(t, s, "")
				p.speaks(language)
				p.opens()
				p.reads("Stoneware mug")
				s.change(func() { s.refusals["cart"] = problemOf(http.StatusForbidden, code) })
				require.NoError(t, p.socket.Close(4501, "banned"))
				p.reads(says)
				p.waits(`!document.querySelector("video")`)
				p.looks("removed-" + language + "-" + code)
			})
		}
	}
}
