package packager_test

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/packager"
	"showfloor/internal/media/transcoder"
	"showfloor/internal/testkit/moduleroot"
)

const text = "WEBVTT\nX-TIMESTAMP-MAP=MPEGTS:0,LOCAL:00:00:00.000\n\n00:00:01.000 --> 00:00:03.000\nHello & welcome\n"

func ladder() []transcoder.Rendition {
	return []transcoder.Rendition{
		{Name: "180p", Width: 320, Height: 180, VideoKbps: 400, AudioKbps: 128},
		{Name: "144p", Width: 256, Height: 144, VideoKbps: 150, AudioKbps: 64},
		{Name: "hevc", Width: 256, Height: 144, VideoKbps: 150, AudioKbps: 128, HEVC: true},
	}
}

// ladderJob packages the ladder with a text.
func ladderJob(t testing.TB, seconds int) (j packager.Job, paths []string) {
	t.Helper()
	paths = transcoded(t, seconds, ladder()...)
	for i, path := range paths {
		j.Sources = append(j.Sources, source(t, path, ladder()[i].AudioKbps))
	}
	j.Texts = []packager.Text{{Language: "de", Name: `Ger"man`, Captions: true, Content: []byte(text)}}
	return j, paths
}

// TestAPackageHasTheMedia: all pictures and all sound have the times of the sources, in HLS and in DASH.
func TestAPackageHasTheMedia(t *testing.T) {
	t.Parallel()
	j, paths := ladderJob(t, 13)
	var last, all int64
	j.Progress = func(done, total int64) {
		require.GreaterOrEqual(t, done, last)
		last, all = done, total
	}
	dir, made := packaged(t, j)
	require.Positive(t, all)
	require.Equal(t, all, last)

	var names []string
	sum := int64(0)
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, f := range files {
		info, err := f.Info()
		require.NoError(t, err)
		names, sum = append(names, f.Name()), sum+info.Size()
	}
	require.Equal(t, sum, made.Size)
	require.Less(t, made.DASH, made.HLS)
	require.Equal(t, []string{
		"a-144p.m3u8", "a-144p.mp4", "a-180p.m3u8", "a-180p.mp4", "i-144p.m3u8", "i-180p.m3u8", "i-hevc.m3u8", "manifest.mpd", "master.m3u8", "t-de.m3u8", "t-de.vtt",
		"v-144p.m3u8", "v-144p.mp4", "v-180p.m3u8", "v-180p.mp4", "v-hevc.m3u8", "v-hevc.mp4",
	}, names, "one sound for each bitrate")

	_, url := serve(t, dir)
	for i, path := range paths {
		video := times(t, path, "v:0")
		playlist := "v-" + ladder()[i].Name + ".m3u8"
		require.InDeltaSlice(t, video, times(t, url+"/package/"+playlist, "v:0"), 0.001, playlist)
		require.InDelta(t, 0, slices.Min(video), 0.001)
	}
	sound := slices.DeleteFunc(times(t, paths[0], "a:0"), func(at float64) bool { return at < -0.001 }) // the lead-in
	require.InDeltaSlice(t, sound, times(t, url+"/package/a-180p.m3u8", "a:0"), 0.001)
	for _, manifest := range []string{packager.HLSName, packager.DASHName} {
		for track, want := range []int{130, 130, 130} {
			require.Len(t, times(t, url+"/package/"+manifest, "v:"+string(rune('0'+track))), want, manifest)
		}
		run(t, "ffmpeg", "-v", "error", "-nostdin", "-i", url+"/package/"+manifest, "-map", "0:v", "-map", "0:a", "-f", "null", "-")
	}
}

// TestSegmentsBeginWithKeyFrames at multiples of the target.
func TestSegmentsBeginWithKeyFrames(t *testing.T) {
	t.Parallel()
	j, _ := ladderJob(t, 13)
	for _, c := range []struct {
		target   time.Duration
		segments string
		longest  string
	}{{4 * time.Second, "4 4 4 1", "4"}, {5 * time.Second, "6 4 3", "6"}, {2 * time.Second, "2 2 2 2 2 2 1", "2"}, {10 * time.Second, "10 3", "10"}} {
		j.Segment = c.target
		dir, _ := packaged(t, j)
		for _, name := range []string{"v-180p", "v-144p", "v-hevc", "i-180p"} {
			playlist := read(t, dir, name+".m3u8")
			var seconds []string
			for line := range strings.Lines(playlist) {
				if duration, ok := strings.CutPrefix(line, "#EXTINF:"); ok {
					seconds = append(seconds, strings.TrimSuffix(duration, ".000000,\n"))
				}
			}
			require.Equal(t, c.segments, strings.Join(seconds, " "), name)
			require.Contains(t, playlist, "#EXT-X-TARGETDURATION:"+c.longest+"\n")
		}
	}
}

func read(t testing.TB, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(b)
}

// TestManifests name codecs, sizes, bitrates and texts.
func TestManifests(t *testing.T) {
	t.Parallel()
	j, _ := ladderJob(t, 9)
	dir, _ := packaged(t, j)
	master := read(t, dir, packager.HLSName)
	require.Regexp(t, `#EXT-X-STREAM-INF:BANDWIDTH=\d+,AVERAGE-BANDWIDTH=\d+,CODECS="avc1\.[0-9a-f]{6},mp4a\.40\.2",RESOLUTION=320x180,FRAME-RATE=10\.000,AUDIO="a-180p",SUBTITLES="text"\nv-180p\.m3u8\n`, master)
	require.Regexp(t, `CODECS="hvc1\.[0-9A-F.L]+,mp4a\.40\.2",RESOLUTION=256x144,FRAME-RATE=10\.000,AUDIO="a-180p"`, master)
	require.Regexp(t, `RESOLUTION=256x144,FRAME-RATE=10\.000,AUDIO="a-144p",SUBTITLES="text"\nv-144p\.m3u8\n`, master)
	require.Contains(t, master, `NAME="Ger'man",LANGUAGE="de"`)
	require.Contains(t, master, "describes-music-and-sound")
	require.Equal(t, 3, strings.Count(master, "#EXT-X-I-FRAME-STREAM-INF"))
	var mpd struct {
		Duration string `xml:"mediaPresentationDuration,attr"`
		Sets     []struct {
			ContentType string `xml:"contentType,attr"`
			Aligned     bool   `xml:"subsegmentAlignment,attr"`
			Role        struct {
				Value string `xml:"value,attr"`
			}
			Representations []struct {
				ID      string `xml:"id,attr"`
				Width   int    `xml:"width,attr"`
				BaseURL string
			} `xml:"Representation"`
		} `xml:"Period>AdaptationSet"`
	}
	require.NoError(t, xml.Unmarshal([]byte(read(t, dir, packager.DASHName)), &mpd))
	require.Regexp(t, `^PT9(\.0\d+)?S$`, mpd.Duration)
	var got []string
	for _, s := range mpd.Sets {
		ids := []string{s.ContentType + s.Role.Value}
		for _, r := range s.Representations {
			ids = append(ids, r.ID)
		}
		got = append(got, strings.Join(ids, " "))
		require.Equal(t, s.ContentType != "text", s.Aligned)
	}
	require.ElementsMatch(t, []string{"video v-144p v-180p", "video v-hevc", "audio a-144p a-180p", "textcaption t-de"}, got)
}

// TestShakaPackagerReadsTheTracks: a strict reader takes them as CMAF, and finds the codecs.
func TestShakaPackagerReadsTheTracks(t *testing.T) {
	t.Parallel()
	j, _ := ladderJob(t, 9)
	dir, _ := packaged(t, j)
	bin := moduleroot.Path(t, "tools", "node_modules", "shaka-packager", "bin", "packager-linux-x64")
	out := t.TempDir()
	var args []string
	for name, kind := range map[string]string{"v-180p": "video", "v-144p": "video", "v-hevc": "video", "a-180p": "audio", "a-144p": "audio"} {
		args = append(args, "in="+filepath.Join(dir, name+".mp4")+",stream="+kind+",output="+filepath.Join(out, name+".mp4"))
	}
	run(t, bin, append(args, "--quiet", "--mpd_output", filepath.Join(out, "out.mpd"), "--hls_master_playlist_output", filepath.Join(out, "out.m3u8"))...)
	codecs := 0
	theirs, ours := read(t, out, "out.mpd"), read(t, dir, packager.DASHName)
	for line := range strings.Lines(theirs) {
		if _, codec, ok := strings.Cut(line, `codecs="`); ok {
			codec, _, _ = strings.Cut(codec, `"`)
			codecs++
			require.Contains(t, strings.ToLower(ours), `codecs="`+strings.ToLower(codec)+`"`)
		}
	}
	require.Equal(t, 5, codecs)
}

// TestDamagedFiles: each damage of an index is a fault of the media.
func TestDamagedFiles(t *testing.T) {
	t.Parallel()
	paths := transcoded(t, 4, ladder()[1])
	whole, err := os.ReadFile(paths[0])
	require.NoError(t, err)
	head := strings.Index(string(whole), "mdat")
	var reasons int
	for at := 0; at < head; at += 7 {
		damaged := slices.Clone(whole)
		damaged[at] ^= 0xff
		path := filepath.Join(t.TempDir(), "144p.mp4")
		require.NoError(t, os.WriteFile(path, damaged, 0o600))
		_, err := packager.Run(t.Context(), packager.Job{
			Sources: []packager.Source{source(t, path, 64)}, Segment: 4 * time.Second, HLS: true, DASH: true, Put: folder(t.TempDir()).put,
		})
		var media *packager.MediaError
		if err != nil {
			require.ErrorAs(t, err, &media, "byte %d", at)
			reasons++
		}
	}
	require.Positive(t, reasons)
}

// TestAStorageThatFails ends the work with its error.
func TestAStorageThatFails(t *testing.T) {
	t.Parallel()
	j, _ := ladderJob(t, 9)
	j.Segment, j.HLS = 4*time.Second, true
	full := errors.New("full")
	for _, failing := range []string{"v-180p.mp4", "a-180p.mp4", "v-144p.mp4", "t-de.vtt", "master.m3u8"} {
		dir := t.TempDir()
		j.Put = putFailing(folder(dir), failing, full)
		_, err := packager.Run(t.Context(), j)
		require.ErrorIs(t, err, full, failing)
	}
}

// TestACancelledPackage ends with its context, although a local storage and local sources don't look at it.
func TestACancelledPackage(t *testing.T) {
	t.Parallel()
	j, _ := ladderJob(t, 9)
	j.Segment, j.HLS = 4*time.Second, true
	ctx, cancel := context.WithCancel(t.Context())
	var stored []string
	j.Put = func(_ context.Context, name string, r io.Reader, _ int64) error {
		cancel()
		_, err := io.Copy(io.Discard, r)
		if err == nil {
			stored = append(stored, name)
		}
		return err
	}
	_, err := packager.Run(ctx, j)
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, stored)
}
