package vod_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/media/metering"
	"showfloor/internal/media/vod"
	"showfloor/internal/testkit/recordingtest"
)

// TestBytesOfRecordingsAreCounted: those of bodies, ranges too, for the recording; those to a CDN apart, and refusals not at all.
func TestBytesOfRecordingsAreCounted(t *testing.T) {
	t.Parallel()
	meter := metering.New(nil)
	s := newTheatre(t, vod.Config{Meter: meter, CDN: func(r *http.Request) bool { return r.Header.Get("Cdn") != "" }})
	s.record("rec_1", recordingtest.Part{Clip: recordingtest.Clip{Seconds: 6}})
	const file = "1-1-v.m4s"
	watched := 0
	for _, a := range []answer{
		s.do("GET", s.path("rec_1", "index.m3u8")), s.do("GET", s.path("rec_1", "video.m3u8"), "Accept-Encoding", "gzip"),
		s.do("GET", s.path("rec_1", file)), s.do("GET", s.path("rec_1", file), "Range", "bytes=10-19"),
	} {
		require.Less(t, a.status, 300, a.body)
		watched += len(a.body)
	}
	filled := len(s.do("GET", s.path("rec_1", file), "Cdn", "1").body)
	require.Equal(t, http.StatusRequestedRangeNotSatisfiable, s.do("GET", s.path("rec_1", file), "Range", "bytes=999999999-").status)
	require.Equal(t, http.StatusNotFound, s.do("GET", s.path("rec_1", "1-99-v.m4s")).status)
	s.do("HEAD", s.path("rec_1", file))
	s.http.Close() // waits for the handlers, which count after their answer
	list := meter.Read()
	require.Len(t, list, 1)
	require.Equal(t, metering.Reading{
		ResourceID: "rec_1", From: list[0].From, To: list[0].To, BytesOut: int64(watched), BytesToCDN: int64(filled),
	}, list[0])
	require.WithinDuration(t, time.Now(), list[0].To, time.Hour)
}
