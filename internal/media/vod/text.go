package vod

import (
	"fmt"
	"math"
	"strings"
	"time"

	"showfloor/internal/media/recordfile"
)

// Text is a recording's subtitles in one language. Its files are WebVTT, one for each of Media.Parts; see recordfile.Text.
type Text struct {
	// Language is as in BCP 47, and Name for players' menus.
	Language, Name string
	// Captions: it also describes sounds.
	Captions bool
	// Version is the folder of its files. Other content has another one.
	Version string
}

// Part is a run of segments without a break. Each has its own relation of timestamps to the recording's timeline, so
// each is a segment of the subtitles' playlists.
type Part struct {
	// First and End are the indexes of the first segment and of the one after the last.
	First, End int
	// From and To are the times on the recording's timeline.
	From, To time.Duration
}

// Parts are the recording's parts, in order.
func (m *Media) Parts() (list []Part) {
	at := time.Duration(0)
	for i := range m.Segments {
		if i == 0 || m.Breaks(i) {
			list = append(list, Part{First: i, From: at})
		}
		at += m.Segments[i].Duration
		last := &list[len(list)-1]
		last.End, last.To = i+1, at
	}
	return list
}

// textLanguage is the language of a playlist with that name; false for other names.
func textLanguage(name string) (language string, ok bool) {
	const longest = 35 // of languages that the API accepts
	language, ok = strings.CutPrefix(name, "text-")
	if !ok {
		return "", false
	}
	language, ok = strings.CutSuffix(language, ".m3u8")
	if !ok || language == "" || len(language) > longest {
		return "", false
	}
	for _, c := range []byte(language) {
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && c != '-' {
			return "", false
		}
	}
	return language, true
}

// textGroup is the group of the subtitles in multivariant playlists.
const textGroup = "text"

// appendTexts renders the renditions of a READY recording's texts. A running recording has none.
func appendTexts(b []byte, m *Media) []byte {
	for i := range m.Texts {
		t := &m.Texts[i]
		b = fmt.Appendf(b, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=%q,NAME=\"%s\",LANGUAGE=\"%s\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO",
			textGroup, quotable(t.Name), t.Language)
		if t.Captions {
			b = append(b, `,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound"`...)
		}
		b = fmt.Appendf(b, ",URI=\"%s\"\n", recordfile.TextPlaylist(t.Language))
	}
	return b
}

// appendTextGroup renders the attribute of the variant that has the texts.
func appendTextGroup(b []byte, m *Media) []byte {
	if len(m.Texts) == 0 {
		return b
	}
	return fmt.Appendf(b, ",SUBTITLES=%q", textGroup)
}

// quotable replaces what a quoted string of a playlist can't have (RFC 8216, 4.2).
func quotable(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == '"':
			return '\''
		case c < ' ' || c == 0x7f:
			return ' '
		}
		return c
	}, name)
}

// textPlaylist renders the playlist of a language; nil if there is no such text.
func textPlaylist(m *Media, language string) []byte {
	var text *Text
	for i := range m.Texts {
		if m.Texts[i].Language == language {
			text = &m.Texts[i]
		}
	}
	if text == nil {
		return nil
	}
	parts, longest := m.Parts(), time.Second
	for _, p := range parts {
		longest = max(longest, p.To-p.From)
	}
	b := fmt.Appendf(nil, "#EXTM3U\n#EXT-X-VERSION:8\n#EXT-X-TARGETDURATION:%d\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n",
		int(math.Round(longest.Seconds())))
	for i, p := range parts {
		if i > 0 {
			b = append(b, "#EXT-X-DISCONTINUITY\n"...)
		}
		b = fmt.Appendf(b, "#EXTINF:%.6f,\n%s\n", (p.To - p.From).Seconds(), recordfile.Text(text.Version, i+1))
	}
	return append(b, "#EXT-X-ENDLIST\n"...)
}
