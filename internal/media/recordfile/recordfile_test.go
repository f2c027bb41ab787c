package recordfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/recordfile"
)

func TestNames(t *testing.T) {
	t.Parallel()
	require.Equal(t, "2-init3-v.mp4", recordfile.Init(2, 3, recordfile.Video))
	require.Equal(t, "2-3-a.m4s", recordfile.Segment(2, 3, recordfile.Audio))
	for _, of := range []recordfile.Track{recordfile.Video, recordfile.Audio} {
		require.Equal(t, recordfile.Init(2, 3, of), recordfile.OfTake(2, recordfile.InitOfTake(3, of)))
		require.Equal(t, recordfile.Segment(2, 3, of), recordfile.OfTake(2, recordfile.SegmentOfTake(3, of)))
		require.True(t, recordfile.IsMedia(recordfile.Init(1, 1, of)))
		require.True(t, recordfile.IsMedia(recordfile.Segment(12, 100_000, of)))
	}
	for _, name := range []string{recordfile.Poster, recordfile.Storyboard, recordfile.MP4, recordfile.Sheet(12), recordfile.SeparateTrack(2, 31, "KEY7")} {
		require.True(t, recordfile.IsAsset(name), name)
		require.False(t, recordfile.IsMedia(name), name)
	}
	require.Equal(t, "2-track31-KEY7.m4a", recordfile.SeparateTrack(2, 31, "KEY7"))
	for _, name := range []string{"1-track1.m4a", "1-track1-.m4a", "0-track1-K.m4a", "1-track-K.m4a", "1-track01-K.m4a", "1-track1-K.mp4", "1-1-track1-K.m4a", "1-track1-K-K.m4a", "1-track1-../K.m4a"} {
		require.False(t, recordfile.IsAsset(name), name)
	}
	require.True(t, recordfile.IsText(recordfile.Text("txt_1", 12)))
	for _, name := range []string{"", "text/1.vtt", "text/a/0.vtt", "text/a/01.vtt", "text/../1.vtt", "text/a/b/1.vtt", "text//1.vtt", "text/a/1.srt"} {
		require.False(t, recordfile.IsText(name), name)
	}
	for _, name := range []string{"", "1-v.m4s", "01-1-v.m4s", "1-1-x.m4s", "1-1-v.mp4", "1-init1-v.m4s", "1-0-v.m4s", "1-+1-v.m4s", "1-1-v.m4s/"} {
		require.False(t, recordfile.IsMedia(name), name)
	}
	require.Equal(t, "recordings/rec_1/1-1-v.m4s", recordfile.Key("rec_1", recordfile.Segment(1, 1, recordfile.Video)))
}

func TestIsTranscode(t *testing.T) {
	t.Parallel()
	for _, extension := range []string{recordfile.MP4Extension, recordfile.TSExtension} {
		require.True(t, recordfile.IsTranscode(recordfile.Transcode("tc_01", "720p-hi_2", extension)))
	}
	for _, name := range []string{
		"", "transcodes/", "transcodes/tc_1", "transcodes/tc_1/", "transcodes/tc_1/.mp4", "transcodes//a.mp4", "transcodes/tc_1/a.mp4.ts",
		"transcodes/tc_1/a.mov", "transcodes/tc_1/../a.mp4", "transcodes/tc_1/b/a.mp4", "transcodes/../a.mp4", "transcodes/-tc/a.mp4",
		"text/tc_1/a.mp4", "transcodes/tc_1/-a.mp4", "transcodes/tc_1/a b.mp4",
	} {
		require.False(t, recordfile.IsTranscode(name), name)
	}
}
