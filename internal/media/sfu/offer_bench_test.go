package sfu

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const offerHead = "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\n"

// offerSectionText is a media section of a client's offer.
func offerSectionText(mid int, kind, formats, codecs string) string {
	return fmt.Sprintf("m=%s 9 UDP/TLS/RTP/SAVPF %s\r\na=mid:%d\r\nc=IN IP4 0.0.0.0\r\na=sendonly\r\na=rtcp-mux\r\n", kind, formats, mid) +
		"a=ice-ufrag:abcd\r\na=ice-pwd:abcdabcdabcdabcdabcdabcd\r\na=setup:actpass\r\n" +
		"a=fingerprint:sha-256 " + strings.Repeat("00:", 31) + "00\r\n" + codecs
}

// fillUp adds lines to an offer until it has about 63 KiB.
func fillUp(text string, line func(i int) string) string {
	var b strings.Builder
	b.WriteString(text)
	for i := 0; b.Len() < 63<<10; i++ {
		b.WriteString(line(i))
	}
	return b.String()
}

// allCodecs returns the payload types and lines of a section with every video codec.
func allCodecs() (formats, lines string) {
	var types []string
	var b strings.Builder
	for _, c := range pictures() {
		types = append(types, fmt.Sprint(c.PayloadType))
		fmt.Fprintf(&b, "a=rtpmap:%d %s/90000\r\n", c.PayloadType, strings.TrimPrefix(c.MimeType, "video/"))
		if c.SDPFmtpLine != "" {
			fmt.Fprintf(&b, "a=fmtp:%d %s\r\n", c.PayloadType, c.SDPFmtpLine)
		}
		for _, f := range c.RTCPFeedback {
			fmt.Fprintf(&b, "a=rtcp-fb:%d %s\r\n", c.PayloadType, strings.TrimSpace(f.Type+" "+f.Parameter))
		}
	}
	return strings.Join(types, " "), b.String()
}

// costlyOffers are offers of at most 64 KiB that are costly to apply, each in another way.
func costlyOffers() map[string]string {
	const vp8, opus = "a=rtpmap:96 VP8/90000\r\n", "a=rtpmap:111 opus/48000/2\r\n"
	var numbers []string
	for i := range 111 {
		numbers = append(numbers, strconv.Itoa(i))
	}
	formats, codecs := allCodecs()
	picture := offerHead + offerSectionText(0, kindVideo, "96", vp8)
	sections := func(each func(mid int) string) string {
		text := offerHead
		for mid := range 32 {
			if next := text + each(mid); len(next) < 64<<10 {
				text = next
			}
		}
		return text
	}
	repeat := func(n int, line string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, line, i+1)
		}
		return b.String()
	}
	return map[string]string{
		"rtpmaps": fillUp(offerHead+offerSectionText(0, kindAudio, "111 "+strings.Join(numbers, " "), opus), func(i int) string {
			return fmt.Sprintf("a=rtpmap:%d opus/48000/2\r\n", i%111)
		}),
		"formats":    offerHead + offerSectionText(0, kindAudio, strings.Repeat("111 ", 15000)+"111", opus),
		"feedback":   fillUp(picture, func(i int) string { return fmt.Sprintf("a=rtcp-fb:96 x%d\r\n", i) }),
		"extensions": fillUp(picture, func(i int) string { return fmt.Sprintf("a=extmap:%d urn:%d\r\n", i%14+1, i) }),
		"ssrcs":      fillUp(picture, func(i int) string { return fmt.Sprintf("a=ssrc:%d cname:x\r\n", i+1) }),
		"layers":     fillUp(picture, func(i int) string { return fmt.Sprintf("a=rid:r%d send\r\n", i) }),
		"group": fillUp(offerHead+"a=group:BUNDLE", func(i int) string { return fmt.Sprintf(" %d", i) }) + "\r\n" +
			offerSectionText(0, kindVideo, "96", vp8),
		"sections":        sections(func(mid int) string { return offerSectionText(mid, kindVideo, "96", vp8) }),
		"sections-codecs": sections(func(mid int) string { return offerSectionText(mid, kindVideo, formats, codecs) }),
		"sections-ssrcs": sections(func(mid int) string {
			return offerSectionText(mid, kindVideo, "96", vp8+repeat(60, "a=ssrc:"+strconv.Itoa(mid)+"%d cname:x\r\n"))
		}),
		"sections-extensions": sections(func(mid int) string {
			return offerSectionText(mid, kindVideo, "96", vp8+repeat(60, "a=extmap:%d urn:x\r\n"))
		}),
		"sections-layers": sections(func(mid int) string {
			return offerSectionText(mid, kindVideo, "96", vp8+repeat(16, "a=rid:r%d send\r\n")+"a=simulcast:send r1;r2;r3;r4\r\n")
		}),
	}
}

// lonePeer is a participant without a socket, in a server that listens.
func lonePeer(b testing.TB, perms Perms) *peer {
	b.Helper()
	s, err := New(Config{Addr: "127.0.0.1:0", Gate: rejectAll{}})
	require.NoError(b, err)
	require.NoError(b, s.Start())
	p := newPeer(s, "token")
	p.grant = Grant{UserID: "bob", Perms: perms}
	p.room = newRoom(s, Grant{RoomID: "room"})
	b.Cleanup(func() {
		p.pub.close()
		p.sub.close()
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(b, s.Stop(ctx))
	})
	return p
}

// offer makes the participant offer something and returns the server's reply.
func (p *peer) offer(sdp string) string {
	m := message{Type: typeOffer, ID: 1, SDP: sdp, Sources: []section{{"0", sourceCamera}, {"1", sourceScreen}}}
	if strings.Contains(sdp, "m=audio") {
		m.Sources = []section{{"0", sourceMicrophone}}
	}
	p.pub.handleOffer(m)
	batch, _ := p.out.take()
	return string(batch[len(batch)-1])
}

// BenchmarkOffer measures costly offers, from their text to the answer or the refusal, of a
// participant who may publish and of one who may not.
func BenchmarkOffer(b *testing.B) {
	offers := costlyOffers()
	for _, name := range slices.Sorted(maps.Keys(offers)) {
		for who, perms := range map[string]Perms{"guest": {Audio: true, Video: true, Screen: true}, "viewer": {}} {
			b.Run(name+"/"+who, func(b *testing.B) {
				p := lonePeer(b, perms)
				accepted := 0
				for b.Loop() {
					if strings.Contains(p.offer(offers[name]), `"type":"answer"`) {
						accepted++
					}
					b.StopTimer()
					p.pub.reset()
					b.StartTimer()
				}
				b.ReportMetric(float64(len(offers[name]))/1024, "KiB")
				b.ReportMetric(float64(accepted)/float64(b.N), "accepted")
			})
		}
	}
}
