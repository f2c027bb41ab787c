package web_test

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"showfloor/internal/testkit/browsertest"
)

// openModule opens a tab in a language such as "de-DE", and runs one file of web/src in it, with all that it imports. Its exports are
// in the global `module`.
func openModule(t *testing.T, file, language string) *viewer {
	t.Helper()
	script, err := exec.CommandContext(t.Context(), filepath.Join("node_modules", ".bin", "esbuild"), filepath.Join("src", file),
		"--bundle", "--format=iife", "--global-name=module", "--log-level=error").Output()
	require.NoError(t, err)
	v := &viewer{t, browsertest.New(t)}
	v.speaks(language)
	browsertest.Run(t, v.tab, chromedp.Navigate(serve(t, nil)+"/assets/rooms.js"), chromedp.Evaluate[chromedp.Void](string(script)+"; undefined"))

	return v
}

// speaks sets the browser's language.
func (v *viewer) speaks(language string) {
	v.t.Helper()
	_, err := chromedp.Call(v.tab, emulation.SetUserAgentOverride, emulation.SetUserAgentOverrideParams{UserAgent: "Chromium", AcceptLanguage: language})
	require.NoError(v.t, err)
}
