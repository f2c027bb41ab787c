package hls

import (
	"cmp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/cliptest"
	"showfloor/internal/media/hub"
	"showfloor/internal/media/segmenter"
)

// ladder publishes a source and writes the pictures of a rendition of it, as an encoder returns them: in the order in which they
// are shown, each some pictures after the source's.
type ladder struct {
	*studio

	publisher *hub.Publisher
	source    []*hub.Unit
	coded     []*hub.Unit // in the order of shown
	shown     []*hub.Unit // the source's pictures in the order in which they are shown
	delay     int         // in pictures
	sent      int
}

func newLadder(t *testing.T, lowLatency bool, spec cliptest.Spec, delay int) *ladder {
	t.Helper()
	l := &ladder{studio: newStudio(t, Config{}), source: cliptest.Shifted(cliptest.Clip(t, spec), 0, time.Millisecond), delay: delay}
	b := hub.Broadcast{StreamID: "a", LowLatency: lowLatency, Renditions: []hub.Rendition{{Name: "90p", Lines: 90, VideoKbps: 100}}}
	l.publisher = l.publish(b, "p")
	small := spec
	small.Size, small.BFrames, small.Rate = "160x90", 0, 0
	l.shown = cliptest.Only(l.source, cliptest.IsVideo)
	slices.SortStableFunc(l.shown, func(a, b *hub.Unit) int { return cmp.Compare(a.PTS, b.PTS) })
	coded := cliptest.Clip(t, small)
	require.Len(t, coded, len(l.shown))
	track := *coded[0].Track
	track.Rendition = "90p"
	for i, u := range coded {
		require.Equal(t, l.shown[i].Key, u.Key)
		l.coded = append(l.coded, &hub.Unit{Track: &track, Epoch: 1, DTS: l.shown[i].PTS, PTS: l.shown[i].PTS, Key: u.Key, Data: u.Data})
	}
	return l
}

// play writes the source, and for each of its pictures that of the rendition that keep selects.
func (l *ladder) play(keep func(n int) bool) {
	l.t.Helper()
	pictures := 0
	for _, u := range l.source {
		write(l.t, l.publisher, []*hub.Unit{u})
		if !cliptest.IsVideo(u) {
			continue
		}
		pictures++
		l.encode(pictures-l.delay, keep)
	}
}

// encode writes the rendition's pictures up to the n-th.
func (l *ladder) encode(n int, keep func(n int) bool) {
	for ; l.sent < n; l.sent++ {
		if keep(l.sent) {
			l.publisher.Stream().WriteRendition(l.coded[l.sent])
		}
	}
}

// end ends the stream and returns the windows of the source and the rendition.
func (l *ladder) end() (source, rendition *window) {
	l.t.Helper()
	l.publisher.Close()
	m := l.hls.newest("a")
	return m.window, m.renditions[0].window
}

// requireInStep verifies that both windows have the same segments and parts, with the same times and audio.
func (l *ladder) requireInStep(source, rendition *window) {
	t, b := l.t, &bench{t: l.t}
	require.Len(t, rendition.segments, len(source.segments))
	require.Equal(t, source.target, rendition.target)
	require.Equal(t, source.partTarget, rendition.partTarget)
	for i, s := range source.segments {
		r := rendition.segments[i]
		require.Equal(t, s.msn, r.msn)
		require.Equal(t, s.discontinuity, r.discontinuity)
		require.Equal(t, s.wall, r.wall)
		require.Len(t, r.parts, len(s.parts), "segment %d", s.msn)
		for j, p := range s.parts {
			q := r.parts[j]
			require.Equal(t, []any{p.id, p.duration, p.independent, p.epoch}, []any{q.id, q.duration, q.independent, q.epoch})
			ours, theirs := b.tracks(p), b.tracks(q)
			require.Equal(t, ours[segmenter.AudioTrackID], theirs[segmenter.AudioTrackID])
			v, w := ours[segmenter.VideoTrackID], theirs[segmenter.VideoTrackID]
			require.Equal(t, []any{v.start, v.end, len(v.samples)}, []any{w.start, w.end, len(w.samples)}, "part %d", p.id)
		}
	}
}

// shownTimes are the times at which a window's pictures are shown, in order, in ticks.
func shownTimes(b *bench, w *window) []int64 {
	var list []int64
	for _, s := range w.segments {
		for _, p := range s.parts {
			m := b.tracks(p)[segmenter.VideoTrackID]
			at := m.start
			for _, x := range m.samples {
				list = append(list, at+int64(x.PTSOffset))
				at += int64(x.Duration)
			}
		}
	}
	slices.Sort(list)
	return list
}

// coded tells for each segment whether it has the rendition's pictures.
func coded(w *window) []bool {
	list := make([]bool, len(w.segments))
	for i, s := range w.segments {
		list[i] = s.config.Video.Rendition != ""
	}
	return list
}

func all(int) bool { return true }

var ladderClips = map[string]cliptest.Spec{
	"no B-frames": {Seconds: 6, FPS: "30", GOP: 30, Rate: 48000},
	"B-frames":    {Seconds: 6, FPS: "30", GOP: 30, BFrames: 2, Rate: 48000},
	"long groups": {Seconds: 6, FPS: "30", GOP: 60, Rate: 48000},
}

// TestARenditionFollowsTheSource: the same numbers, times and audio, also if an encoder is a little late.
func TestARenditionFollowsTheSource(t *testing.T) {
	t.Parallel()
	for name, spec := range ladderClips {
		for _, low := range []bool{true, false} {
			for _, delay := range []int{0, 5} {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					l := newLadder(t, low, spec, delay)
					l.play(all)
					l.encode(len(l.coded), all)
					l.publisher.Stream().WriteRendition(&hub.Unit{Track: l.coded[0].Track})
					source, rendition := l.end()
					l.requireInStep(source, rendition)
					b := &bench{t: t}
					require.Equal(t, shownTimes(b, source), shownTimes(b, rendition), "each picture is shown when that of the source is")
					list := coded(rendition)
					require.True(t, list[len(list)-2], "%v", list)
					(&script{bench: b}).decode(rendition)
				})
			}
		}
	}
}

// TestARenditionGoesOnWithoutItsEncoder: the rest of the segment shows the last picture, and the next one has the source's until
// the encoder is back at a key picture.
func TestARenditionGoesOnWithoutItsEncoder(t *testing.T) {
	t.Parallel()
	for name, spec := range ladderClips {
		for ending, announced := range map[string]bool{"ends": true, "stops without a word": false} {
			t.Run(name+", "+ending, func(t *testing.T) {
				t.Parallel()
				l := newLadder(t, true, spec, 3)
				l.play(func(n int) bool {
					if n == 75 && announced {
						l.publisher.Stream().WriteRendition(&hub.Unit{Track: l.coded[0].Track})
					}
					return n < 75 || n >= 130
				})
				source, rendition := l.end()
				l.requireInStep(source, rendition)
				want := []bool{true, true, true, false, false, true}
				if spec.GOP == 60 {
					want = []bool{true, true, false}
				}
				require.Equal(t, want, coded(rendition))
				(&script{bench: &bench{t: t}}).decode(rendition)
			})
		}
	}
}

// TestARenditionStandsInForItself: without any encoder, it has the source's pictures and isn't listed.
func TestARenditionStandsInForItself(t *testing.T) {
	t.Parallel()
	l := newLadder(t, true, ladderClips["no B-frames"], 0)
	l.play(func(int) bool { return false })
	l.waitPlayable("a/p")
	require.NotContains(t, l.get("/live/token-a/index.m3u8"), "90p")
	source, rendition := l.end()
	l.requireInStep(source, rendition)
	require.NotContains(t, coded(rendition), true)
}

// TestPlaylistsOfRenditions requests what a player does.
func TestPlaylistsOfRenditions(t *testing.T) {
	t.Parallel()
	l := newLadder(t, true, ladderClips["no B-frames"], 2)
	l.play(all)
	index := ""
	eventually(t, "the rendition is listed", func() bool {
		index = l.get("/live/token-a/index.m3u8")
		return strings.Contains(index, "/90p/live.m3u8?viewer=")
	})
	require.Equal(t, 2, strings.Count(index, "#EXT-X-STREAM-INF:"))
	require.Contains(t, index, "RESOLUTION=160x90,FRAME-RATE=30.000")
	source := l.media("a")
	_, viewer, _ := strings.Cut(source, "?")
	media := strings.Replace(source, "/source/", "/90p/", 1)
	playlist := l.get(media)
	require.Contains(t, playlist, `#EXT-X-RENDITION-REPORT:URI="../source/live.m3u8",LAST-MSN=`)
	require.Contains(t, l.get(source), `#EXT-X-RENDITION-REPORT:URI="../90p/live.m3u8",LAST-MSN=`)
	folder := strings.TrimSuffix(media, "live.m3u8?"+viewer)
	for _, file := range []string{"init0.mp4", "seg" + firstSegment(playlist) + ".mp4", "part3.mp4"} {
		a, b := l.do("GET", folder+file), l.do("GET", strings.Replace(folder, "90p", "source", 1)+file)
		require.Equal(t, []int{200, 200}, []int{a.status, b.status}, file)
		require.NotEqual(t, a.header.Get("ETag"), b.header.Get("ETag"))
	}
	require.Equal(t, 404, l.do("GET", strings.Replace(media, "90p", "91p", 1)).status)
	require.Equal(t, 1, l.publisher.Stream().Stats().Viewers, "a viewer who changes the rendition counts once")
	l.publisher.Close()
	require.Contains(t, l.get(media), "#EXT-X-ENDLIST")
	require.NotContains(t, l.get(media), "RENDITION-REPORT")
}

// TestAnEdgeServesRenditions of a stream of another node.
func TestAnEdgeServesRenditions(t *testing.T) {
	t.Parallel()
	index := []byte("#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=2\nrun/source/live.m3u8\n#EXT-X-STREAM-INF:BANDWIDTH=1\nrun/90p/live.m3u8\n")
	require.Equal(t, "#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=2\nrun/source/live.m3u8?viewer=x\n"+
		"#EXT-X-STREAM-INF:BANDWIDTH=1\nrun/90p/live.m3u8?viewer=x\n", string(withViewer(index, "x")))

	c := newCluster(t, 2, Config{})
	l := newLadder(t, true, ladderClips["no B-frames"], 2)
	l.studio = c.nodes[0]
	l.publisher = l.publish(hub.Broadcast{StreamID: "a", LowLatency: true, Renditions: []hub.Rendition{{Name: "90p", Lines: 90, VideoKbps: 100}}}, "p")
	c.place("a", 0)
	l.play(all)
	edge := c.nodes[1]
	eventually(t, "the edge lists the rendition", func() bool {
		return strings.Contains(edge.get("/live/token-a/index.m3u8"), "/90p/live.m3u8?viewer=")
	})
	media := strings.Replace(edge.media("a"), "/source/", "/90p/", 1)
	require.Contains(t, edge.get(media), "RENDITION-REPORT")
	file := media[:strings.LastIndexByte(media, '/')+1] + "part3.mp4"
	require.Equal(t, c.nodes[0].get(file), edge.get(file))
}
