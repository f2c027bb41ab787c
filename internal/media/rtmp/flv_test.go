package rtmp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/hub"
)

func TestParseVideo(t *testing.T) {
	t.Parallel()
	cc := func(first byte, fourCC string, rest ...byte) []byte {
		return append(append([]byte{first}, fourCC...), rest...)
	}
	for name, c := range map[string]struct {
		body []byte
		want tag
	}{
		"sequence header":     {[]byte{0x17, 0, 0, 0, 0, 1, 2}, tag{kind: tagConfig, codec: hub.H264, key: true, data: []byte{1, 2}}},
		"frame":               {[]byte{0x27, 1, 0, 0, 80, 9}, tag{kind: tagFrame, codec: hub.H264, cts: 80, data: []byte{9}}},
		"negative offset":     {[]byte{0x27, 1, 0xFF, 0xFF, 0xD8, 9}, tag{kind: tagFrame, codec: hub.H264, cts: -40, data: []byte{9}}},
		"end of sequence":     {[]byte{0x17, 2, 0, 0, 0}, tag{codec: hub.H264, key: true, data: []byte{}}},
		"command":             {[]byte{0x57, 1, 0, 0, 0, 9}, tag{}},
		"empty":               {nil, tag{}},
		"legacy HEVC":         {[]byte{0x1C, 1, 0, 0, 0, 9}, tag{kind: tagFrame, codec: hub.H265, key: true, data: []byte{9}}},
		"enhanced start":      {cc(0x90, "hvc1", 1), tag{kind: tagConfig, codec: hub.H265, key: true, data: []byte{1}}},
		"enhanced frame":      {cc(0xA1, "hvc1", 0, 0, 40, 9), tag{kind: tagFrame, codec: hub.H265, cts: 40, data: []byte{9}}},
		"enhanced frame X":    {cc(0x93, "avc1", 9), tag{kind: tagFrame, codec: hub.H264, key: true, data: []byte{9}}},
		"enhanced metadata":   {cc(0x94, "avc1", 9), tag{codec: hub.H264, key: true, data: []byte{9}}},
		"enhanced with ModEx": {append([]byte{0x97, 2, 1, 2, 3, 0x03}, "hvc1\x09"...), tag{kind: tagFrame, codec: hub.H265, key: true, data: []byte{9}}},
		"multitrack, one":     {append([]byte{0x96, 0x03}, "avc1\x00\x09"...), tag{kind: tagFrame, codec: hub.H264, key: true, data: []byte{9}}},
		"multitrack, other":   {append([]byte{0x96, 0x03}, "avc1\x01\x09"...), tag{}},
		"multitrack, many":    {append([]byte{0x96, 0x13}, "avc1\x01\x00\x00\x01\x08\x00\x00\x00\x01\x09"...), tag{kind: tagFrame, codec: hub.H264, key: true, data: []byte{9}}},
		"multitrack, codecs":  {append([]byte{0x96, 0x23}, "av01\x01\x00\x00\x01\x08hvc1\x00\x00\x00\x01\x09"...), tag{kind: tagFrame, codec: hub.H265, key: true, data: []byte{9}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseVideo(c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestParseAudio(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		body []byte
		want tag
	}{
		"sequence header": {[]byte{0xAF, 0, 0x12, 0x10}, tag{kind: tagConfig, codec: hub.AAC, key: true, data: []byte{0x12, 0x10}}},
		"frame":           {[]byte{0xAF, 1, 9}, tag{kind: tagFrame, codec: hub.AAC, key: true, data: []byte{9}}},
		"empty":           {nil, tag{}},
		"enhanced Opus":   {[]byte("\x91Opus\x09"), tag{kind: tagFrame, codec: hub.Opus, key: true, data: []byte{9}}},
		"enhanced AAC":    {[]byte("\x90mp4a\x12\x10"), tag{kind: tagConfig, codec: hub.AAC, key: true, data: []byte{0x12, 0x10}}},
		"multichannel":    {[]byte("\x94Opus\x09"), tag{codec: hub.Opus, key: true, data: []byte{9}}},
		"multitrack":      {[]byte("\x95\x01Opus\x00\x09"), tag{kind: tagFrame, codec: hub.Opus, key: true, data: []byte{9}}},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := parseAudio(c.body)
			require.NoError(t, err)
			require.Equal(t, c.want, got)
		})
	}
}

func TestUnsupportedCodecsAreNamed(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		parse func([]byte) (tag, error)
		body  string
	}{
		"AV1": {parseVideo, "\x90av01"}, "VP9": {parseVideo, "\x91vp09"}, "VP8": {parseVideo, "\x91vp08"}, "H.266": {parseVideo, "\x90vvc1"},
		"VP6": {parseVideo, "\x14\x00"}, "Sorenson H.263": {parseVideo, "\x12\x00"}, `codec "what"`: {parseVideo, "\x90what"},
		"FLV video codec 15": {parseVideo, "\x1F"},
		"MP3":                {parseAudio, "\x2F\xFF"}, "Speex": {parseAudio, "\xB6\x00"}, "Nellymoser": {parseAudio, "\x6E\x00"},
		"G.711 A-law": {parseAudio, "\x72\x00"}, "PCM": {parseAudio, "\x0F\x00"}, "AC-3": {parseAudio, "\x90ac-3"}, "FLAC": {parseAudio, "\x90fLaC"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.parse([]byte(c.body))
			var u *unsupportedError
			require.ErrorAs(t, err, &u)
			require.Equal(t, name, u.name)
		})
	}
}

func TestTruncatedTags(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		"\x17", "\x17\x01\x00\x00", "\x90hv", "\x91hvc1\x00\x00", "\x97", "\x97\x02\x01", "\x97\xFF\x00", "\x96", "\x96\x13avc1\x00\x00\x00",
		"\x96\x13avc1\x00\x00\x00\x09\x01", "\x96\x03av",
	} {
		_, err := parseVideo([]byte(body))
		require.ErrorIs(t, err, errShortTag, "%x", body)
	}
	for _, body := range []string{"\xAF", "\x90mp4", "\x95\x01Op"} {
		_, err := parseAudio([]byte(body))
		require.ErrorIs(t, err, errShortTag, "%x", body)
	}
}

func FuzzVideoTag(f *testing.F) {
	for _, s := range []string{"\x17\x00\x00\x00\x00\x01", "\xA1hvc1\x00\x00\x28\x09", "\x97\x02\x01\x02\x03\x03hvc1\x09", "\x96\x13avc1\x01\x00\x00\x01\x08\x00\x00\x00\x01\x09"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseVideo(b)
		if err == nil && got.kind != tagIgnored {
			require.True(t, got.codec.Video())
			require.Less(t, len(got.data), len(b))
		}
	})
}

func FuzzAudioTag(f *testing.F) {
	for _, s := range []string{"\xAF\x01\x09", "\x91Opus\x09", "\x95\x01Opus\x00\x09"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		got, err := parseAudio(b)
		if err == nil && got.kind != tagIgnored {
			require.Less(t, len(got.data), len(b))
		}
	})
}
