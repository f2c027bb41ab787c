package webhook

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestMaskedURLs(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"https://acme.example/hooks":                      "https://acme.example/hooks",
		"https://acme.example/hooks?key=abc&b=%20&flag":   "https://acme.example/hooks?key=***&b=***&***",
		"https://ada:secret@acme.example:8443/h?x=1#part": "https://***@acme.example:8443/h?x=***",
		"https://acme.example/%zz":                        "***",
		"http://127.0.0.1:1/":                             "http://127.0.0.1:1/",
	} {
		require.Equal(t, want, MaskURL(text), text)
	}
}
