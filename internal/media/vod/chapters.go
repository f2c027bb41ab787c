package vod

import (
	"encoding/json"
	"fmt"
	"time"
)

// Chapter is a part of a recording with a title. It lasts until the next one, the last one until the recording's end.
type Chapter struct {
	At    time.Duration
	Title string
}

// appendSessionData renders the tags of index.m3u8 that name the files for a player's seek bar. Apple's players know
// com.apple.hls.chapters (RFC 8216bis, section 4.4.6.4). The recording isn't READY while its files may still change.
func appendSessionData(b []byte, m *Media) []byte {
	if m.Ready && m.Storyboard {
		b = append(b, "#EXT-X-SESSION-DATA:DATA-ID=\"com.showfloor.storyboard\",URI=\"storyboard.vtt\"\n"...)
	}
	if m.Ready && len(m.Chapters) > 0 {
		b = fmt.Appendf(b, "#EXT-X-SESSION-DATA:DATA-ID=\"com.apple.hls.chapters\",URI=%q\n", chaptersName)
	}
	return b
}

// chapterBytes is an estimate of the chapters' memory.
func (m *Media) chapterBytes() (n int) {
	for i := range m.Chapters {
		n += chapterSize + len(m.Chapters[i].Title)
	}
	return n
}

// chapterSize is the memory of a Chapter without its title, in bytes.
const chapterSize = 32

// chapter is a chapter in Apple's JSON format. Times are in seconds.
type chapter struct {
	Number   int            `json:"chapter"`
	Start    float64        `json:"start-time"`
	Duration float64        `json:"duration"`
	Titles   []chapterTitle `json:"titles"`
}

// chapterTitle is a title in a language (BCP 47), "und" if the language isn't known.
type chapterTitle struct {
	Language string `json:"language"`
	Title    string `json:"title"`
}

// chapters renders chapters.json; nil if the recording has no chapters. Chapters that take no time are left out.
func chapters(m *Media) []byte {
	if !m.Ready || len(m.Chapters) == 0 {
		return nil
	}
	list, length := []chapter{}, m.Length()
	for i, c := range m.Chapters {
		end := length
		if i+1 < len(m.Chapters) {
			end = min(m.Chapters[i+1].At, length)
		}
		if end > c.At {
			list = append(list, chapter{len(list) + 1, c.At.Seconds(), (end - c.At).Seconds(), []chapterTitle{{"und", c.Title}}})
		}
	}
	b, err := json.Marshal(list)
	if err != nil {
		return nil // can't happen: all fields can be encoded
	}
	return b
}
