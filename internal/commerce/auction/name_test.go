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
		"李 小龙":                         "李 小.",
		"محمد علي":                     "محمد ع.",
		"Bo \u202eLindqvist\u202c":     "Bo L.",
		"\u2067Bo\u2069":               "Bo",
		"🎉 Party":                      "🎉 P.",
		"Bo 👩🏽‍🚀x":                     "Bo 👩🏽‍🚀.",
		"Bo e\u0301lan":                "Bo e\u0301.",
		"bo.lindqvist@buyer.example":   "bo.lindqvist",
		"@bo":                          "@bo",
		strings.Repeat("x", 120):       strings.Repeat("x", 23) + "…",
		strings.Repeat("ö", 59) + " " + strings.Repeat("å", 60): strings.Repeat("ö", 23) + "… å.",
	} {
		require.Equal(t, want, ShortName(name), "%q", name)
	}
}
