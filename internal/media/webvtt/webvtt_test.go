package webvtt_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/webvtt"
)

func TestParse(t *testing.T) {
	t.Parallel()
	f, err := webvtt.Parse("\ufeffWEBVTT - Launch\r\nKind: captions\r\n\r\nNOTE by hand\r\n\r\nSTYLE\r\n::cue { color: lime }\r\n\r\n" +
		"1\r\n00:01.000 --> 00:03.500 line:0\talign:start\r\nHello\r\nworld\r\n\r\n\r\n100:00:00.000\t-->\t100:00:01.000\r\n")
	require.NoError(t, err)
	require.Equal(t, &webvtt.File{
		Styles: []string{"STYLE\n::cue { color: lime }"},
		Cues: []webvtt.Cue{
			{ID: "1", From: time.Second, To: 3500 * time.Millisecond, Settings: "line:0 align:start", Text: "Hello\nworld"},
			{From: 100 * time.Hour, To: 100*time.Hour + time.Second},
		},
	}, f)
	for _, empty := range []string{"WEBVTT", "WEBVTT\n", "WEBVTT\tx\n\n\n"} {
		f, err := webvtt.Parse(empty)
		require.NoError(t, err)
		require.Empty(t, f.Cues)
	}
}

func TestParseNamesTheLineOfAFault(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "line 1 must begin with WEBVTT",
		"WEBVTTx":                           "line 1 must begin with WEBVTT",
		"1\n00:00:01,000 --> 00:00:02,000":  "line 1 must begin with WEBVTT",
		"WEBVTT\x00":                        "NUL",
		"WEBVTT\n00:01.000 --> 00:02.000\n": "line 2 has a cue; there must be an empty line after the header",
		"WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:9,LOCAL:00:00:00.000\n": "line 2 has X-TIMESTAMP-MAP",
		"WEBVTT\n\nHello":                                                            "line 3 begins neither a cue nor a comment",
		"WEBVTT\n\n00:00:01,000 --> 00:00:02,000":                                    "line 3 has a wrong beginning",
		"WEBVTT\n\n1:00:01.000 --> 00:00:02.000":                                     "line 3 has a wrong beginning",
		"WEBVTT\n\n00:60.000 --> 00:61.000":                                          "line 3 has a wrong beginning",
		"WEBVTT\n\n+0:01.000 --> 00:02.000":                                          "line 3 has a wrong beginning",
		"WEBVTT\n\n00:01.000 --> 00:02":                                              "line 3 has a wrong end",
		"WEBVTT\n\n00:01.000 --> 00:01.000":                                          "line 3 has a cue that ends before it begins",
		"WEBVTT\n\n00:05.000 --> 00:06.000\na\n\n00:04.000 --> 00:05.000":            "line 6 has a cue that begins before the cue above it",
		"WEBVTT\n\n00:05.000 --> 00:06.000\na\n00:06.000 --> 00:07.000\nb":           "line 5 has --> in the text of a cue",
		"WEBVTT\n\n00:05.000 --> 00:06.000\na\n\nSTYLE\n::cue {}":                    "line 6 has a STYLE block after a cue",
		"WEBVTT\n\nSTYLE\n::cue {}\n00:05.000 --> 00:06.000":                         "line 5 has --> in a STYLE block",
		"WEBVTT\n\n99999999999999999999999:00:05.000 --> 00:06.000":                  "line 3 has a wrong beginning",
		"WEBVTT\n\n00:01.000 --> 00:02.000\n\n" + strings.Repeat("x", 10) + "\n00:x": "line 5 begins neither",
	} {
		_, err := webvtt.Parse(text)
		require.ErrorContains(t, err, want, "%q", text)
	}
}

func TestSegment(t *testing.T) {
	t.Parallel()
	f, err := webvtt.Parse("WEBVTT\n\nSTYLE\n::cue {}\n\na\n00:01.000 --> 00:03.000 line:0\nBefore\n\n00:03.500 --> 00:05.000\nOver\n\n" +
		"00:05.000 --> 00:06.000\nAfter\n")
	require.NoError(t, err)
	require.Equal(t, "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:900000,LOCAL:00:00:00.000\n\nSTYLE\n::cue {}\n\n"+
		"a\n00:00:01.000 --> 00:00:03.000 line:0\nBefore\n\n00:00:03.500 --> 00:00:04.000\nOver\n",
		string(f.Segment(webvtt.Place{To: 4000400 * time.Microsecond, Clock: 900_000})))
	require.Equal(t, "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:8589934556,LOCAL:00:00:04.000\n\nSTYLE\n::cue {}\n\n"+
		"00:00:04.000 --> 00:00:05.000\nOver\n\n00:00:05.000 --> 00:00:06.000\nAfter\n",
		string(f.Segment(webvtt.Place{From: 4000400 * time.Microsecond, To: time.Hour})))
}

func FuzzParse(f *testing.F) {
	f.Add("WEBVTT\n\n1\n00:01.000 --> 00:02.000 line:0\nHello\n\nNOTE x\n")
	f.Fuzz(func(t *testing.T, text string) {
		file, err := webvtt.Parse(text)
		if err != nil {
			return
		}
		again, err := webvtt.Parse(strings.Replace(string(file.Segment(webvtt.Place{To: 1 << 62})), "X-TIMESTAMP-MAP", "X-", 1))
		if err != nil || len(again.Cues) != len(file.Cues) {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
