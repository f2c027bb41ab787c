package sfu

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFilterDescription lists lines of descriptions, and the lines that are kept.
func TestFilterDescription(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ in, out string }{
		"other lines stay in their order": {
			"v=0|o=- 1 1 IN IP4 0.0.0.0|s=-|t=0 0|a=group:BUNDLE 0|a=x:y|m=audio 9 P 111|c=IN IP4 0.0.0.0|b=AS:64|a=mid:0|a=sendonly|a=rtpmap:111 opus/48000/2",
			"v=0|o=- 1 1 IN IP4 0.0.0.0|s=-|t=0 0|a=group:BUNDLE 0|m=audio 9 P 111|c=IN IP4 0.0.0.0|b=AS:64|a=mid:0|a=sendonly|a=rtpmap:111 opus/48000/2",
		},
		"unknown codecs go": {
			"m=audio 9 P 9 0 111 8|a=rtpmap:9 G722/8000|a=rtpmap:111 opus/48000/2|a=fmtp:111 minptime=10|a=rtcp-fb:111 nack|a=rtcp-fb:111 x|a=rtcp-fb:9 nack",
			"m=audio 9 P 111|a=rtpmap:111 opus/48000/2|a=fmtp:111 minptime=10|a=rtcp-fb:111 nack",
		},
		"the first of two payload types of a codec": {
			"m=audio 9 P 109 111|a=rtpmap:111 OPUS/48000/2|a=rtpmap:109 opus/48000/2",
			"m=audio 9 P 109|a=rtpmap:109 opus/48000/2",
		},
		"redundancy of the Opus that is kept, first": {
			"m=audio 9 P 64 63 111 109|a=rtpmap:63 red/48000/2|a=fmtp:63 111/111|a=rtpmap:64 red/48000/2|a=fmtp:64 109/109|a=rtpmap:111 opus/48000/2|a=rtpmap:109 opus/48000/2",
			"m=audio 9 P 63 111|a=rtpmap:63 red/48000/2|a=fmtp:63 111/111|a=rtpmap:111 opus/48000/2",
		},
		"no redundancy of several": {
			"m=audio 9 P 63 111|a=rtpmap:63 red/48000/2|a=fmtp:63 111/0|a=rtpmap:111 opus/48000/2",
			"m=audio 9 P 111|a=rtpmap:111 opus/48000/2",
		},
		"each profile once, with its repair": {
			"m=video 9 P 96 97 98 99 100 101 102 103|a=rtpmap:96 VP8/90000|a=rtpmap:97 rtx/90000|a=fmtp:97 apt=96|a=rtpmap:98 H264/90000|a=fmtp:98 packetization-mode=1;profile-level-id=42001f" +
				"|a=rtpmap:99 rtx/90000|a=fmtp:99 apt=98|a=rtpmap:100 H264/90000|a=fmtp:100 packetization-mode=1;profile-level-id=42e01f|a=rtpmap:101 rtx/90000|a=fmtp:101 apt=100" +
				"|a=rtpmap:102 H264/90000|a=fmtp:102 packetization-mode=0;profile-level-id=42001f|a=rtpmap:103 ulpfec/90000",
			"m=video 9 P 96 97 98 99|a=rtpmap:96 VP8/90000|a=rtpmap:97 rtx/90000|a=fmtp:97 apt=96|a=rtpmap:98 H264/90000|a=fmtp:98 packetization-mode=1;profile-level-id=42001f" +
				"|a=rtpmap:99 rtx/90000|a=fmtp:99 apt=98",
		},
		"feedback of all": {
			"m=video 9 P 96|a=rtpmap:96 VP8/90000|a=rtcp-fb:* nack pli|a=rtcp-fb:* nack pli|a=rtcp-fb:* goog-remb",
			"m=video 9 P 96|a=rtpmap:96 VP8/90000|a=rtcp-fb:* nack pli",
		},
		"without a known codec the first stays":            {"m=video 9 P 35 36|a=rtpmap:35 H265/90000|a=rtpmap:36 H266/90000", "m=video 9 P 35|a=rtpmap:35 H265/90000"},
		"payload types that are none":                      {"m=video 9 P 096 128 -1 x 96|a=rtpmap:096 VP8/90000|a=rtpmap:128 VP8/90000|a=rtpmap:-1 VP8/90000|a=rtpmap:x VP8/90000|a=rtpmap:96 VP8/90000", "m=video 9 P 96|a=rtpmap:96 VP8/90000"},
		"a payload type that is listed twice":              {"m=video 9 P 96 96|a=rtpmap:96 VP8/90000|a=rtpmap:96 VP9/90000", "m=video 9 P 96|a=rtpmap:96 VP8/90000"},
		"candidates go":                                    {"m=video 9 P 96|a=candidate:1 1 udp 1 10.0.0.1 9 typ host|a=end-of-candidates|a=rtpmap:96 VP8/90000", "m=video 9 P 96|a=rtpmap:96 VP8/90000"},
		"a section without payload types is left as it is": {"m=video 9 P|m=|m=video", "m=video 9 P|m=|m=video"},
		"nothing": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"\r\n", "\n", "\r", "\n\n"} {
				out, err := filterDescription(strings.ReplaceAll(test.in, "|", end), Limits{}.withDefaults())
				require.NoError(t, err)
				require.Equal(t, test.out, strings.TrimSuffix(strings.ReplaceAll(out, "\r\n", "|"), "|"))
			}
		})
	}
}

func TestOffersBeyondTheirBounds(t *testing.T) {
	t.Parallel()
	for text, message := range map[string]string{
		strings.Repeat("m=video 9 P 96\r\n", 33):                                "the description has more than 32 media sections",
		"m=video 9 P 96\r\n" + strings.Repeat("a=candidate:x\r\n", 65):          "the description has more than 64 candidates",
		"m=video 9 P 96\r\n" + strings.Repeat("a=extmap:1 x\r\n", 65):           "a section of the description has more than 64 lines of extmap",
		"m=video 9 P 96\r\n" + strings.Repeat("a=ssrc:1 cname:x\r\n", 65):       "a section of the description has more than 64 lines of ssrc",
		"m=video 9 P 96\r\n" + strings.Repeat("a=rid:h send\r\n", 17):           "a section of the description has more than 16 lines of rid",
		"m=video 9 P 96\r\n" + strings.Repeat("c=IN IP4 0.0.0.0\r\n", 33):       "a section of the description has more than 32 lines of c",
		"a=group:BUNDLE " + strings.Repeat("0 ", 3000):                          "a line of the description is longer than 4096 bytes",
		"m=video 9 P " + strings.Repeat("96 ", 3000):                            "a line of the description is longer than 4096 bytes",
		"m=video 9 P 96\r\na=mid:0\r\na=simulcast:" + strings.Repeat("x", 5000): "a line of the description is longer than 4096 bytes",
	} {
		_, err := filterDescription(text, Limits{}.withDefaults())
		require.EqualError(t, err, message)
	}
}

// TestAGroupOfManySections: the group of an answer to 2,000 tracks has 8.9 KB.
func TestAGroupOfManySections(t *testing.T) {
	t.Parallel()
	limits := Limits{}.withDefaults()
	limits.Sections = 2000
	mids := make([]string, limits.Sections)
	for i := range mids {
		mids[i] = strconv.Itoa(i)
	}
	group := "a=group:BUNDLE " + strings.Join(mids, " ")
	out, err := filterDescription(group, limits)
	require.NoError(t, err)
	require.Equal(t, group+"\r\n", out)
	_, err = filterDescription(group+strings.Repeat("x", 8000), limits)
	require.EqualError(t, err, "a line of the description is longer than 16000 bytes")
}

// FuzzFilterDescription: for any input, the output is no longer, has few payload types, and doesn't
// change when it is filtered again.
func FuzzFilterDescription(f *testing.F) {
	formats, codecs := allCodecs()
	f.Add(offerHead + offerSectionText(0, kindVideo, formats, codecs) + offerSectionText(1, kindAudio, "63 111", "a=rtpmap:111 opus/48000/2\r\na=rtpmap:63 red/48000/2\r\na=fmtp:63 111/111\r\n"))
	f.Add("m=\rm=audio 9 P 1 1\na=rtpmap:1\ra=fmtp:1 \ra=rtcp-fb:* nack")
	limits := Limits{}.withDefaults()
	f.Fuzz(func(t *testing.T, text string) {
		out, err := filterDescription(text, limits)
		if err != nil {
			return
		}
		again, err := filterDescription(out, limits)
		require.NoError(t, err)
		require.Equal(t, out, again)
		for line := range strings.SplitSeq(out, "\r\n") {
			require.LessOrEqual(t, len(line), maxLine+100)
			if strings.HasPrefix(line, "m=") {
				require.LessOrEqual(t, len(strings.Fields(line)), 3+2*len(knownCodecs()))
			}
		}
	})
}
