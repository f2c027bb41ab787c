package cdnlog_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/cdnlog"
)

var now = time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)

// resourceOf takes the second part of a path for an id.
func resourceOf(path string) string {
	parts := strings.Split(path, "/")
	if len(parts) < 3 || parts[1] != "live" {
		return ""
	}
	return parts[2]
}

func reader(f cdnlog.Format) cdnlog.Reader {
	return cdnlog.Reader{Format: f, ResourceOf: resourceOf, Now: now}
}

func read(t *testing.T, f cdnlog.Format, text string) *cdnlog.Log {
	t.Helper()
	log, err := reader(f).Read(t.Context(), strings.NewReader(text))
	require.NoError(t, err)
	return log
}

// example returns two lines for stream a in the same hour (10:00) with 1000 and 500 bytes, and one for b in the next hour with 7.
func example(f cdnlog.Format) string {
	switch f {
	case cdnlog.CloudFront:
		return "#Version: 1.0\n#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer)\n" +
			"2026-03-02\t10:00:00\tFRA6\t1000\t192.0.2.1\tGET\td1.cloudfront.net\t/live/a/seg1.mp4\t200\t-\n" +
			"2026-03-02\t10:59:59\tFRA6\t500\t192.0.2.1\tGET\td1.cloudfront.net\t/live/a/seg2.mp4\t206\t-\n" +
			"2026-03-02\t11:00:00\tFRA6\t7\t192.0.2.1\tGET\td1.cloudfront.net\t/live/b/seg2.mp4\t200\t-\n"
	case cdnlog.Combined:
		return `192.0.2.1 - - [02/Mar/2026:10:00:00 +0000] "GET /live/a/seg1.mp4?viewer=x HTTP/1.1" 200 1000 "-" "Mozilla \"5.0\""` + "\n" +
			`192.0.2.1 - - [02/Mar/2026:12:59:59 +0200] "GET /live/a/seg2.mp4 HTTP/2" 206 500` + "\n" +
			`<134>2026-03-02T11:00:00Z cache-fra1 log[1]: 192.0.2.1 - - [02/Mar/2026:10:00:00 -0100] "GET /live/b/seg1.mp4 HTTP/2" 200 7` + "\n"
	case cdnlog.Cloudflare:
		return `{"ClientIP":"192.0.2.1","ClientRequestURI":"/live/a/seg1.mp4?viewer=x","EdgeResponseStatus":200,"EdgeResponseBytes":1000,"EdgeStartTimestamp":"2026-03-02T10:00:00Z"}` + "\n" +
			`{"Cookies":{"a":"}\""},"EdgeStartTimestamp":1772449199, "ClientRequestURI":"\/live\/a\/seg2.mp4","EdgeResponseStatus":206,"EdgeResponseBytes":500}` + "\n" +
			`{"EdgeEndTimestamp":1772449200000000000,"ClientRequestPath":"/live/b/x","EdgeResponseStatus":200,"EdgeResponseBytes":7,"Flags":["]"],"Bot":false}` + "\n"
	case cdnlog.Bunny:
		return "HIT|200|1772445600000|1000|390|192.0.2.1|-|https://acme.b-cdn.net/live/a/seg1.mp4?viewer=x|WA|Mozilla/5.0|322b688b|DE\n" +
			"MISS|206|1772449199999|500|390|192.0.2.1|https://acme.example/|https://acme.b-cdn.net/live/a/seg2.mp4|WA|Mozilla/5.0|322b688c|DE\n" +
			"HIT|200|1772449200000|7|390|192.0.2.1|-|https://acme.b-cdn.net/live/b/seg2.mp4|WA|Mozilla/5.0|322b688d|DE\n"
	case cdnlog.Akamai:
		return `{"version":1,"cp":"123456","reqId":"1239f220","reqTimeSec":"1772445600","bytes":"1000","cliIP":"192.0.2.1","statusCode":"200","reqPath":"live/a/seg1.mp4"}` + "\n" +
			`{"reqTimeSec":"1772449199.999","totalBytes":"500","statusCode":"206","reqPath":"/live/a/seg2.mp4"}` + "\n" +
			`{"reqTimeSec":1772449200,"bytes":7,"totalBytes":900,"statusCode":200,"reqPath":"/live/b/seg2.mp4"}` + "\n"
	}
	return ""
}

func TestEachFormat(t *testing.T) {
	t.Parallel()
	ten := time.Date(2026, 3, 2, 10, 0, 0, 0, time.UTC).Unix()
	for _, f := range cdnlog.Formats() {
		text := example(f)
		log := read(t, f, text)
		require.Empty(t, log.Faults, f)
		require.EqualValues(t, 3, log.Rows, f)
		require.EqualValues(t, 1507, log.Bytes, f)
		require.Equal(t, map[cdnlog.Key]int64{{Hour: ten, ResourceID: "a"}: 1500, {Hour: ten + 3600, ResourceID: "b"}: 7}, log.Sums, f)
		require.Equal(t, sha256.Sum256([]byte(text)), log.Hash, f)
		// Windows' line ends, and no end of the last line.
		other := read(t, f, strings.TrimSuffix(strings.ReplaceAll(text, "\n", "\r\n"), "\r\n"))
		require.Equal(t, log.Sums, other.Sums, f)
		// Compressed, in two files one after the other, it is the same file.
		half := strings.Index(text, "\n") + 1
		zipped, err := reader(f).Read(t.Context(), bytes.NewReader(append(zip(t, text[:half]), zip(t, text[half:])...)))
		require.NoError(t, err)
		require.Equal(t, log, zipped, f)
	}
}

func zip(t *testing.T, text string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// line returns a line of the combined format.
func line(at, path, status, size string) string {
	return fmt.Sprintf(`192.0.2.1 - - [%s] "GET %s HTTP/1.1" %s %s "-" "-"`, at, path, status, size)
}

const ten = "02/Mar/2026:10:00:00 +0000"

func TestBadLinesAreCountedAndDescribed(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	var want []string
	for _, c := range []struct{ line, fault string }{
		{line(ten, "/live/a/x", "200", "1"), ""},
		{line(ten, "/live/a/x", "304", "-"), ""},
		{"", ""},
		{line("32/Mar/2026:10:00:00 +0000", "/live/a/x", "200", "1"), "the time can't be read"},
		{line(ten, "live", "200", "1"), "the path can't be read"},
		{line(ten, "/live/a/x", "99", "1"), "the status is no number from 100 to 599"},
		{line(ten, "/live/a/x", "200", "-5"), "the bytes are no number from 0 to 1 TiB"},
		{line(ten, "/live/a/x", "200", "1099511627777"), "the bytes are no number from 0 to 1 TiB"},
		{line("25/Jan/2025:10:00:00 +0000", "/live/a/x", "200", "1"), "older than 400 days"},
		{line("03/Mar/2026:13:00:00 +0000", "/live/a/x", "200", "1"), "more than a day in the future"},
		{strings.Repeat("x", 64<<10+1), "longer than 64 KiB"},
		{"nonsense", "the time can't be read"},
	} {
		text.WriteString(c.line + "\n")
		if c.fault != "" {
			want = append(want, c.fault)
		}
	}
	log := read(t, cdnlog.Combined, text.String())
	require.EqualValues(t, 12, log.Lines)
	require.EqualValues(t, 2, log.Rows)
	require.EqualValues(t, len(want), log.Bad)
	require.EqualValues(t, 1, log.Bytes)
	require.Len(t, log.Faults, 5, "the first ones")
	for i, f := range log.Faults {
		require.EqualError(t, f.Err, want[i])
		require.Equal(t, 4+i, f.Line)
	}
	for _, fault := range want[5:] { // each of the others by itself
		found := false
		for l := range strings.Lines(text.String()) {
			one := read(t, cdnlog.Combined, l)
			found = found || len(one.Faults) == 1 && one.Faults[0].Err.Error() == fault
		}
		require.True(t, found, fault)
	}
}

func TestRequestsThatFailedBelongToNoStream(t *testing.T) {
	t.Parallel()
	log := read(t, cdnlog.Combined, line(ten, "/live/a/x", "403", "9")+"\n"+line(ten, "/live/a/x", "399", "8")+"\n"+line(ten, "/x", "200", "7")+"\n")
	byID := map[string]int64{}
	for k, n := range log.Sums {
		byID[k.ResourceID] += n
	}
	require.Equal(t, map[string]int64{"": 16, "a": 8}, byID)
}

// TestClientsCantChooseTheStream: texts that a viewer's client sends, such as its referrer, don't name the stream.
func TestClientsCantChooseTheStream(t *testing.T) {
	t.Parallel()
	for f, l := range map[cdnlog.Format]string{
		cdnlog.Bunny:    "HIT|200|1772445600000|1000|390|192.0.2.1|-|https://x/live/victim/x|https://acme.b-cdn.net/live/a/seg1.mp4|WA|UA|322b688b|DE",
		cdnlog.Combined: `192.0.2.1 - [01/Jan/2026:00:00:00 +0000] [02/Mar/2026:10:00:00 +0000] "GET /live/a/x HTTP/1.1" 200 5 "] \"GET /live/victim/x" "-"`,
		cdnlog.Akamai:   `{"UA":"\",\"reqPath\":\"/live/victim/x","reqTimeSec":"1772445600","bytes":"1","statusCode":"200","reqPath":"/live/a/x"}`,
	} {
		for k := range read(t, f, l).Sums {
			require.Equal(t, "a", k.ResourceID, f)
			require.Equal(t, now.Add(-2*time.Hour).Unix(), k.Hour, f)
		}
	}
}

func TestCloudFrontNeedsItsFields(t *testing.T) {
	t.Parallel()
	log := read(t, cdnlog.CloudFront, "#Fields: sc-status cs-uri-stem sc-bytes time date\n200\t/live/a/x\t5\t10:00:00\t2026-03-02\nshort\n")
	require.EqualValues(t, 5, log.Bytes)
	require.EqualError(t, log.Faults[0].Err, "too few fields")
	log = read(t, cdnlog.CloudFront, "#Fields: date time cs-uri-stem\n2026-03-02\t10:00:00\t/live/a/x\n")
	require.EqualValues(t, 2, log.Bad)
	require.Zero(t, log.Rows)
}

func TestUnusableInput(t *testing.T) {
	t.Parallel()
	_, err := cdnlog.Reader{Format: "iis"}.Read(t.Context(), strings.NewReader(""))
	require.EqualError(t, err, `"iis" is no known format; use one of cloudfront, combined, cloudflare, bunny, akamai`)
	_, err = reader(cdnlog.Bunny).Read(t.Context(), strings.NewReader("\x1f\x8bno gzip at all"))
	require.ErrorContains(t, err, "gzip")
	cut := zip(t, example(cdnlog.Bunny))
	_, err = reader(cdnlog.Bunny).Read(t.Context(), bytes.NewReader(cut[:len(cut)-9]))
	require.ErrorIs(t, err, io.ErrUnexpectedEOF, "a file that was cut off")
	empty := read(t, cdnlog.Bunny, "")
	require.Zero(t, empty.Lines)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = reader(cdnlog.Combined).Read(ctx, strings.NewReader(strings.Repeat("x\n", 100_000)))
	require.ErrorIs(t, err, context.Canceled)
}

// zeros is an endless line.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

func TestABombIsRefused(t *testing.T) {
	t.Parallel()
	_, err := reader(cdnlog.Bunny).Read(t.Context(), zeros{})
	require.ErrorContains(t, err, "a line of more than 64 MiB")
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	require.NoError(t, err)
	_, err = io.Copy(w, io.LimitReader(zeros{}, 70<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	_, err = reader(cdnlog.Bunny).Read(t.Context(), &b)
	require.ErrorContains(t, err, "a line of more than 64 MiB")
}

// manyStreams are endless lines, each for another stream.
type manyStreams struct {
	n    int
	rest []byte
}

func (m *manyStreams) Read(p []byte) (int, error) {
	if len(m.rest) == 0 {
		m.n++
		m.rest = fmt.Appendf(m.rest[:0], "HIT|200|1772445600000|1|1|-|-|https://x/live/s%d/x|WA|UA|id|DE\n", m.n)
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

func TestSumsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := reader(cdnlog.Bunny).Read(t.Context(), &manyStreams{})
	var tooMany *cdnlog.TooManySumsError
	require.ErrorAs(t, err, &tooMany)
}

func TestADamagedLog(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rows, bad int64
		tooBad    bool
	}{{0, 0, false}, {90, 10, false}, {89, 11, true}, {9, 1, false}, {8, 1, true}, {0, 1, true}} {
		log := cdnlog.Log{Rows: c.rows, Bad: c.bad}
		require.Equal(t, c.tooBad, log.TooBad(), c)
	}
}
