package packager

import (
	"fmt"
	"math"
	"strings"
	"time"
)

const (
	playlistEnding = ".m3u8"
	textEnding     = ".vtt"
	// version is that of byte ranges together with initialization sections (RFC 8216, 7).
	version = "#EXTM3U\n#EXT-X-VERSION:7\n"
	// whole says that the playlist is complete.
	whole = "#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:VOD\n"
)

// file is a small file of the package.
type file struct {
	name    string
	content []byte
}

func (s *stored) seconds(ticks int64) float64 { return float64(ticks) / float64(s.scale) }

func textName(t Text) string { return "t-" + t.Language }

// playlists renders all files of HLS except the texts.
func (p *packaging) playlists() []file {
	list := []file{{HLSName, p.multivariant()}}
	for i := range p.video {
		v := &p.video[i]
		list = append(list, file{v.name + playlistEnding, v.playlist()}, file{keysName(v), v.keysPlaylist()})
	}
	for i := range p.audio {
		list = append(list, file{p.audio[i].name + playlistEnding, p.audio[i].playlist()})
	}
	for _, t := range p.Texts {
		list = append(list, file{textName(t) + playlistEnding, p.textPlaylist(t)})
	}
	return list
}

// keysName is the name of the playlist of key frames.
func keysName(v *stored) string { return "i-" + v.source + playlistEnding }

// multivariant renders master.m3u8. Without pictures, the sound is the variant.
func (p *packaging) multivariant() []byte {
	b := []byte(version + "#EXT-X-INDEPENDENT-SEGMENTS\n")
	if len(p.video) > 0 {
		for i := range p.audio {
			a := &p.audio[i]
			b = fmt.Appendf(b, "#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID=%q,NAME=\"Sound\",DEFAULT=YES,AUTOSELECT=YES,CHANNELS=\"%d\",URI=%q\n",
				a.name, a.voices, a.name+playlistEnding)
		}
	}
	for _, t := range p.Texts {
		b = fmt.Appendf(b, "#EXT-X-MEDIA:TYPE=SUBTITLES,GROUP-ID=\"text\",NAME=\"%s\",LANGUAGE=\"%s\",DEFAULT=NO,AUTOSELECT=YES,FORCED=NO",
			quotable(t.Name), t.Language)
		if t.Captions {
			b = append(b, `,CHARACTERISTICS="public.accessibility.transcribes-spoken-dialog,public.accessibility.describes-music-and-sound"`...)
		}
		b = fmt.Appendf(b, ",URI=%q\n", textName(t)+playlistEnding)
	}
	for i := range p.video {
		v := &p.video[i]
		a := p.sound(v)
		peak, average, codecs := v.peak, v.average, v.codec
		if a != nil {
			peak, average, codecs = peak+a.peak, average+a.average, codecs+","+a.codec
		}
		b = fmt.Appendf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d,FRAME-RATE=%.3f",
			peak, average, codecs, v.width, v.height, v.frameRate)
		if a != nil {
			b = fmt.Appendf(b, ",AUDIO=%q", a.name)
		}
		b = fmt.Appendf(p.textGroup(b), "\n%s\n", v.name+playlistEnding)
	}
	for i := range p.video {
		v := &p.video[i]
		b = fmt.Appendf(b, "#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=%d,CODECS=%q,RESOLUTION=%dx%d,URI=%q\n",
			v.keysRate(), v.codec, v.width, v.height, keysName(v))
	}
	if len(p.video) == 0 {
		for i := range p.audio {
			a := &p.audio[i]
			b = fmt.Appendf(b, "#EXT-X-STREAM-INF:BANDWIDTH=%d,AVERAGE-BANDWIDTH=%d,CODECS=%q", a.peak, a.average, a.codec)
			b = fmt.Appendf(p.textGroup(b), "\n%s\n", a.name+playlistEnding)
		}
	}
	return b
}

func (p *packaging) textGroup(b []byte) []byte {
	if len(p.Texts) == 0 {
		return b
	}
	return append(b, ",SUBTITLES=\"text\""...)
}

// sound is the sound that is played with pictures: that of the same source, else the one with the lowest bitrate; nil if there is none.
func (p *packaging) sound(v *stored) *stored {
	for i := range p.audio {
		if p.audio[i].audioKbps == v.audioKbps {
			return &p.audio[i]
		}
	}
	if len(p.audio) > 0 {
		return &p.audio[0]
	}
	return nil
}

// playlist renders the segments of a track.
func (s *stored) playlist() []byte {
	b := s.opening("#EXT-X-INDEPENDENT-SEGMENTS\n")
	at := s.initSize + s.indexSize
	for i := range s.segments {
		g := &s.segments[i]
		b = fmt.Appendf(b, "#EXTINF:%.6f,\n#EXT-X-BYTERANGE:%d@%d\n%s%s\n", s.seconds(g.lasts), g.size(), at, s.name, trackEnding)
		at += g.size()
	}
	return append(b, "#EXT-X-ENDLIST\n"...)
}

// keysPlaylist renders the first key frame of each segment, for players that show pictures while the user seeks (RFC 8216, 4.3.3.6).
func (s *stored) keysPlaylist() []byte {
	b := s.opening("#EXT-X-I-FRAMES-ONLY\n")
	at := s.initSize + s.indexSize
	for i := range s.segments {
		g := &s.segments[i]
		b = fmt.Appendf(b, "#EXTINF:%.6f,\n#EXT-X-BYTERANGE:%d@%d\n%s%s\n", s.seconds(g.lasts), g.index+mdatHeader+g.key, at, s.name, trackEnding)
		at += g.size()
	}
	return append(b, "#EXT-X-ENDLIST\n"...)
}

// keysRate is the peak bitrate of the key frames.
func (s *stored) keysRate() int {
	peak := 1.0
	for i := range s.segments {
		g := &s.segments[i]
		peak = max(peak, float64(g.index+mdatHeader+g.key)*8/max(s.seconds(g.lasts), 0.001))
	}
	return int(peak)
}

// opening renders the beginning of a playlist.
func (s *stored) opening(tags string) []byte {
	longest := 1.0
	for i := range s.segments {
		longest = max(longest, math.Round(s.seconds(s.segments[i].lasts)))
	}
	b := fmt.Appendf(nil, version+"#EXT-X-TARGETDURATION:%d\n"+whole+"%s", int(longest), tags)
	return fmt.Appendf(b, "#EXT-X-MAP:URI=\"%s%s\",BYTERANGE=\"%d@0\"\n", s.name, trackEnding, s.initSize)
}

// textPlaylist renders a playlist with the one file of a text.
func (p *packaging) textPlaylist(t Text) []byte {
	seconds := max(p.length().Seconds(), 0.001)
	b := fmt.Appendf(nil, version+"#EXT-X-TARGETDURATION:%d\n"+whole, int(math.Ceil(seconds)))
	return fmt.Appendf(b, "#EXTINF:%.6f,\n%s%s\n#EXT-X-ENDLIST\n", seconds, textName(t), textEnding)
}

// length is that of the longest track.
func (p *packaging) length() (longest time.Duration) {
	for _, list := range [][]stored{p.video, p.audio} {
		for i := range list {
			longest = max(longest, list[i].length)
		}
	}
	return longest
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
