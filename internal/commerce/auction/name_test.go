package auction

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestShortName(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"Bo Lindqvist":                 "Bo L.",
		"Bo":                           "Bo",
		"":                             "",
		" \t\n ":                       "",
		"  Anna   Maria  de la Cruz  ": "Anna C.",
		"\u674e \u5c0f\u9f99":          "\u674e \u5c0f.",
		"محمد علي":                     "محمد ع.",
		"Bo \u202eLindqvist\u202c":     "Bo L.",
		"\u2067Bo\u2069":               "Bo",
		"🎉 Party":                      "🎉 P.",
		"Bo 👩🏽‍🚀x":                     "Bo 👩🏽‍🚀.",
		"Bo e\u0301lan":                "Bo e\u0301.",
		"bo.lindqvist@buyer.example":   "bo.lindqvist",
		"@bo":                          "@bo",
		"\u202eevil\u202c Name":        "evil N.",
		"\u202e":                       "",
		"Émilie Ö":                     "Émilie Ö.",
		"a\x00b":                       "a b.",
		"<script>alert(1)</script> ":   "<script>alert(1)</sc…",
		strings.Repeat("x", 120):       strings.Repeat("x", 20) + "…",
		strings.Repeat("ö", 59) + " " + strings.Repeat("å", 60): strings.Repeat("ö", 20) + "… å.",
	} {
		require.Equal(t, want, ShortName(name), "%q", name)
	}
}
