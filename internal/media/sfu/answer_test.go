package sfu

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/pion/webrtc/v4"
	"github.com/stretchr/testify/require"
)

// subscribeTo adds n tracks to a participant's subscriptions, half of them audio and half video,
// and returns the offer that the server makes for them.
func (p *peer) subscribeTo(t testing.TB, n int) string {
	t.Helper()
	for i := range n {
		track := &track{id: newTrackID(), kind: kindAudio, codec: webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeOpus, ClockRate: 48000, Channels: 2}}
		if i%2 == 1 {
			track.kind, track.codec = kindVideo, webrtc.RTPCodecCapability{MimeType: webrtc.MimeTypeVP8, ClockRate: 90000}
		}
		p.sub.subs[track.id] = &subscription{track: track}
	}
	require.NoError(t, p.sub.tryOffer())
	var m offerMessage
	require.NoError(t, json.Unmarshal(p.sub.last, &m))
	return m.SDP
}

// answerTo returns an answer that accepts all sections of the server's offer: the same lines, with
// directions and roles reversed. change may change each section.
func answerTo(offer string, change func(i int, section string) string) string {
	offer = strings.NewReplacer("a=sendonly", "a=recvonly", "a=setup:actpass", "a=setup:active").Replace(offer)
	parts := strings.Split(offer, "m=")
	for i, section := range parts[1:] {
		parts[i+1] = change(i, section)
	}
	return strings.Join(parts, "m=")
}

// costlyAnswers are answers to an offer that are costly to apply, each in another way.
func costlyAnswers(offer string, bytes int) map[string]string {
	spare := (bytes-len(offer))/strings.Count(offer, "m=") - 500
	fill := func(line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < spare; i++ {
			b.WriteString(line(i))
		}
		return b.String()
	}
	formats := func(section, more string) string {
		first, rest, _ := strings.Cut(section, "\r\n")
		return first + more + "\r\n" + rest
	}
	var numbers []string
	for i := range 128 {
		numbers = append(numbers, strconv.Itoa(i))
	}
	list, codecs := allCodecs()
	each := func(change func(section string) string) string {
		return answerTo(offer, func(_ int, section string) string { return change(section) })
	}
	return map[string]string{
		"honest": each(func(section string) string { return section }),
		"formats": each(func(section string) string {
			pt := strings.Fields(section)[3]
			return formats(section, strings.Repeat(" "+pt, min(spare/(len(pt)+1), 4000/(len(pt)+1))))
		}),
		"rtpmaps": each(func(section string) string {
			return formats(section, " "+strings.Join(numbers, " ")) + fill(func(i int) string {
				return fmt.Sprintf("a=rtpmap:%d opus/48000/2\r\n", i%128)
			})
		}),
		"codecs": each(func(section string) string { return formats(section, " "+list) + codecs }),
		"ssrcs": each(func(section string) string {
			return section + fill(func(i int) string { return fmt.Sprintf("a=ssrc:%d cname:x\r\n", i%60+1) })
		}),
		"extensions": each(func(section string) string {
			return section + fill(func(i int) string { return fmt.Sprintf("a=extmap:%d urn:%d\r\n", i%14+1, i) })
		}),
		"feedback": each(func(section string) string {
			return section + fill(func(i int) string { return fmt.Sprintf("a=rtcp-fb:* x%d\r\n", i) })
		}),
	}
}

// TestAnswersAreFiltered: pion's work grows with the square of an answer's payload types.
func TestAnswersAreFiltered(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"honest", "formats", "rtpmaps", "codecs", "feedback"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := lonePeer(t, Perms{})
			offer := p.subscribeTo(t, 2)
			p.sub.handleAnswer(message{ID: p.sub.pending, SDP: costlyAnswers(offer, 20<<10)[name]})
			require.Empty(t, p.reason, "the answer is accepted")
			require.Zero(t, p.sub.pending)
			taken := p.sub.pc.CurrentRemoteDescription().SDP
			require.LessOrEqual(t, len(taken), len(offer)+2<<10)
			for line := range strings.SplitSeq(taken, "\r\n") {
				if strings.HasPrefix(line, "m=") {
					types := strings.Fields(line)[3:]
					require.LessOrEqual(t, len(types), 2*len(knownCodecs()))
					require.Len(t, slices.Compact(slices.Sorted(slices.Values(types))), len(types))
				}
			}
			for _, sub := range p.sub.subs {
				require.True(t, sub.accepted)
			}
		})
	}
}

// BenchmarkAnswer measures an answer, from its text to the accepted subscriptions or the refusal.
func BenchmarkAnswer(b *testing.B) {
	for _, tracks := range []int{2, 500} {
		for _, name := range slices.Sorted(maps.Keys(costlyAnswers("m=audio 9 x 0\r\n", 100))) {
			b.Run(fmt.Sprintf("%s/%d", name, tracks), func(b *testing.B) {
				p := lonePeer(b, Perms{})
				size, accepted := 0, 0
				for b.Loop() {
					b.StopTimer()
					p.sub.close()
					p.sub = newSubscriber(p)
					answer := costlyAnswers(p.subscribeTo(b, tracks), p.sub.longestAnswer())[name]
					size = len(answer)
					b.StartTimer()
					p.sub.handleAnswer(message{ID: p.sub.pending, SDP: answer})
					if p.sub.pending == 0 {
						accepted++
					}
				}
				b.ReportMetric(float64(size)/1024, "KiB")
				b.ReportMetric(float64(accepted)/float64(b.N), "accepted")
			})
		}
	}
}
