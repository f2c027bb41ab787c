package mail

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALetterHasTwoForms(t *testing.T) {
	t.Parallel()
	c, err := Letter{
		Subject: "Welcome", Opening: []string{"Hello Ada,", "come in."}, Code: "048213",
		Link: &Link{"Open", "https://live.example/x?token=a&b=c"}, Closing: []string{"Bye."},
	}.render()
	require.NoError(t, err)
	require.Equal(t, "Hello Ada,\n\ncome in.\n\n    048213\n\nOpen:\nhttps://live.example/x?token=a&b=c\n\nBye.\n", c.Text)
	require.Contains(t, c.HTML, ">048213</p>")
	require.Contains(t, c.HTML, `<a href="https://live.example/x?token=a&amp;b=c"`)
	require.Contains(t, c.HTML, "<title>Welcome</title>")

	bare, err := Letter{Subject: "Bare", Opening: []string{"One line."}}.render()
	require.NoError(t, err)
	require.Equal(t, "One line.\n", bare.Text)
	require.NotContains(t, bare.HTML, "<a ")
}

// TestNamesStayNames checks that users' names become neither a header, nor a
// paragraph, nor markup.
func TestNamesStayNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a\r\nBcc: victim@example.test": "a Bcc: victim@example.test",
		"a\n\n    000000":               "a 000000",
		"a\u2028b\u0085c\vd":            "a b c d",
		"<script>alert(1)</script>":     "<script>alert(1)</script>",
		"\u202Egro.live":                "gro.live", // would be shown from right to left
		"\x00\x1b[2Jx":                  "[2Jx",
		"  Zoë  Ångström ":              "Zoë Ångström",
		"नमस्ते":                        "नमस्ते",
	} {
		c, err := Letter{Subject: name + " invites you", Opening: []string{"Hello " + name}, Closing: []string{name}}.render()
		require.NoError(t, err)
		require.Equal(t, want+" invites you", c.Subject)
		require.Equal(t, "Hello "+want+"\n\n"+want+"\n", c.Text)
		require.NotContains(t, c.HTML, "<script")
		require.NotContains(t, c.HTML, "\u202E")
	}
	c, err := Letter{Subject: strings.Repeat("ä", 500), Link: &Link{"x", "javascript:alert(1)"}}.render()
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("ä", maxSubject-1)+"…", c.Subject)
	require.NotContains(t, c.HTML, `href="javascript`)
}
