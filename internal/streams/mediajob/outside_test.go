package mediajob_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/secret"
	"showfloor/internal/streams/mediajob"
	"showfloor/internal/streams/recordgate"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

const (
	transcoderSecret = "the transcoder's secret"
	packagerSecret   = "the packager's secret"
)

// program is an outside transcoder and packager.
type program struct {
	*rig

	uploads *httptest.Server
	files   blob.Store
	// notices are the bodies of the notices, in the order of their arrival.
	notices []notice
	refuse  bool
}

// notice has the fields of all notices that the tests need.
type notice struct {
	Event, TranscodeID, PackageID, JobID, PlaylistURL, ReportURL, UploadURL string
	Renditions                                                              []struct{ Name, UploadURL string }
	Sources                                                                 []struct{ Name, URL string }
}

func newProgram(t *testing.T) *program {
	t.Helper()
	p := &program{}
	files, err := blob.Open(t.Context(), blob.Config{Dir: filepath.Join(t.TempDir(), "files")})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if p.refuse || err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		key, given := transcoderSecret, r.Header.Get("X-Transcoder-Signature")
		if given == "" {
			key, given = packagerSecret, r.Header.Get("X-Packager-Signature")
		}
		var n notice
		if given != secret.Sign([]byte(key), body) || json.Unmarshal(body, &n) != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		p.notices = append(p.notices, n)
	}))
	t.Cleanup(hook.Close)
	p.files = files
	p.rig = &rig{apitest.New(t, apitest.Options{
		Pool: dbtest.New(t), Files: files,
		TranscoderURL: hook.URL, TranscoderSecret: transcoderSecret, PackagerURL: hook.URL, PackagerSecret: packagerSecret,
	})}
	p.pass(t, time.Minute)
	p.uploads = httptest.NewServer(&recordgate.Uploads{
		Jobs: func() *mediajob.Service { return p.MediaJobs }, Files: files, Refuse: noError, Log: slog.New(slog.DiscardHandler),
	})
	t.Cleanup(p.uploads.Close)
	return p
}

// notified delivers a notice of a job and returns it.
func (p *program) notified(t *testing.T, jobID, event string) notice {
	t.Helper()
	require.NoError(t, p.MediaJobs.Notify(t.Context(), mediajob.NotifyArgs{JobID: jobID, Event: event}))
	return p.notices[len(p.notices)-1]
}

// upload uploads a file and returns the status.
func (p *program) upload(t *testing.T, url, content string) int {
	t.Helper()
	return p.send(t, url, strings.NewReader(content), int64(len(content)))
}

func (p *program) send(t *testing.T, url string, content io.Reader, size int64) int {
	t.Helper()
	url = p.uploads.URL + strings.TrimPrefix(url, apitest.PublicURL)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, content)
	require.NoError(t, err)
	r.ContentLength = size
	answer, err := (&http.Client{Timeout: time.Minute}).Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	return answer.StatusCode
}

// report sends a report, signed with a key.
func (p *program) report(t *testing.T, key, url string, body map[string]any) apitest.Response {
	t.Helper()
	content, err := json.Marshal(body)
	require.NoError(t, err)
	header := "X-Transcoder-Signature"
	if strings.Contains(url, "/packager/") {
		header = "X-Packager-Signature"
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.URL+strings.TrimPrefix(url, apitest.PublicURL), bytes.NewReader(content))
	require.NoError(t, err)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set(header, secret.Sign([]byte(key), content))
	return p.With(t, "").Do(t, r)
}

// changes sends a report of the transcoder, and checks whether it changed the job.
func (p *program) changes(t *testing.T, want bool, url string, body map[string]any) {
	t.Helper()
	var receipt api.CallbackReceipt
	key := transcoderSecret
	if strings.Contains(url, "/packager/") {
		key = packagerSecret
	}
	p.report(t, key, url, body).Into(t, 201, &receipt)
	require.Equal(t, want, receipt.Changed)
}

// output is a file in a report.
func output(name, url, content string) map[string]any {
	return map[string]any{"name": name, "url": url, "width": 640, "height": 360, "durationSec": 4.0, "sizeBytes": len(content)}
}

func completed(outputs ...map[string]any) map[string]any {
	return map[string]any{"status": "completed", "outputs": append([]map[string]any{}, outputs...)}
}

// begin makes a transcode of two files, and delivers the notice.
func (p *program) begin(t *testing.T) (owner *apitest.Caller, n notice) {
	t.Helper()
	owner, rec := p.recorded(t)
	var made api.Transcode
	owner.Call(t, "POST", "/v1/me/recordings/"+rec+"/transcode", map[string]any{"renditions": []any{
		map[string]any{"height": 360}, map[string]any{"height": 180, "name": "small"},
	}}).Into(t, 201, &made)
	require.Zero(t, p.jobs(t, mediajob.RunArgs{}.Kind()), "this server doesn't make it")
	return owner, p.notified(t, made.ID, "start")
}

func (p *program) shown(t *testing.T, owner *apitest.Caller, id string) (job api.Transcode) {
	t.Helper()
	owner.Call(t, "GET", "/v1/me/transcodes/"+id, nil).Into(t, 200, &job)
	return job
}

// TestAnOutsideTranscoder gets the work, uploads the files and reports. Repeated, late and outdated reports change nothing.
func TestAnOutsideTranscoder(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	owner, n := p.begin(t)
	require.Equal(t, "transcode.start", n.Event)
	require.Contains(t, n.PlaylistURL, "/index.m3u8")
	require.Len(t, n.Renditions, 2)
	p.report(t, "wrong", n.ReportURL, map[string]any{"status": "running"}).Problem(t, 401, "unauthenticated")

	p.changes(t, true, n.ReportURL, map[string]any{"status": "running"})
	p.changes(t, false, n.ReportURL, map[string]any{"status": "running"})
	p.changes(t, true, n.ReportURL, map[string]any{"status": "progress", "progress": 40})
	p.changes(t, false, n.ReportURL, map[string]any{"status": "progress", "progress": 30})
	job := p.shown(t, owner, n.TranscodeID)
	require.Equal(t, []any{api.MediaJobStatusRUNNING, 40}, []any{job.Status, job.Progress})

	large, small := n.Renditions[0], n.Renditions[1]
	good := completed(output("360p", large.UploadURL, "large"), output("small", small.UploadURL, "small!"))
	p.report(t, transcoderSecret, n.ReportURL, good).Problem(t, 409, "conflict")
	require.Equal(t, 201, p.upload(t, large.UploadURL, "large"))
	require.Equal(t, 201, p.upload(t, small.UploadURL, "other"))
	p.report(t, transcoderSecret, n.ReportURL, good).Problem(t, 409, "conflict")
	require.Equal(t, 201, p.upload(t, small.UploadURL, "small!"))
	for _, wrong := range []map[string]any{
		completed(), completed(output("360p", large.UploadURL, "large")), {"status": "failed"},
		completed(output("360p", large.UploadURL, "large"), output("360p", large.UploadURL, "large")),
		completed(output("360p", small.UploadURL, "small!"), output("small", small.UploadURL, "small!")),
		completed(output("360p", "https://transcoder.example/360p.mp4", "large"), output("small", small.UploadURL, "small!")),
	} {
		p.report(t, transcoderSecret, n.ReportURL, wrong).Problem(t, 400, "invalid_input")
	}
	p.changes(t, true, n.ReportURL, good)
	done := p.shown(t, owner, n.TranscodeID)
	require.Equal(t, []any{api.MediaJobStatusCOMPLETED, 100}, []any{done.Status, done.Progress})
	require.Len(t, done.Outputs, 2)
	for _, late := range []map[string]any{
		good, {"status": "failed", "error": "no"}, {"status": "progress", "progress": 50}, completed(), {"status": "running"},
	} {
		p.changes(t, false, n.ReportURL, late)
	}
	require.Equal(t, done, p.shown(t, owner, n.TranscodeID))
	require.Equal(t, 409, p.upload(t, small.UploadURL, "later!"))
	require.EqualValues(t, 11, p.find(t, n.TranscodeID).SizeBytes)
	var minutes int
	require.NoError(t, p.Pool.QueryRow(t.Context(), "SELECT count(*) FROM usage_intervals WHERE resource_id = $1", n.TranscodeID).Scan(&minutes))
	require.Equal(t, 2, minutes)
}

// TestUploadURLs open nothing but the files of their job.
func TestUploadURLs(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	_, n := p.begin(t)
	_, other := p.begin(t)
	url := n.Renditions[0].UploadURL
	folder := strings.TrimSuffix(url, "360p.mp4")
	for changed, status := range map[string]int{
		strings.Replace(url, n.TranscodeID, other.TranscodeID, 1): 403, strings.Replace(url, "/uploads/", "/uploads/x", 1): 403,
		strings.Replace(url, n.TranscodeID, "%00", 1): 403, folder + "..%2Fx.mp4": 404, folder + "x.html": 400, folder + "x/y.mp4": 404, folder: 400, url: 201,
	} {
		require.Equal(t, status, p.upload(t, changed, "x"), changed)
	}
	p.pass(t, 24*time.Hour+time.Second)
	require.Equal(t, 403, p.upload(t, url, "x"))
}

// TestAnUploadOverTheEndOfItsJob changes nothing: the job ends after the first bytes of the file.
func TestAnUploadOverTheEndOfItsJob(t *testing.T) {
	t.Parallel()
	for _, end := range []string{mediajob.Completed, mediajob.Canceled} {
		p := newProgram(t)
		_, n := p.begin(t)
		url := n.Renditions[0].UploadURL
		require.Equal(t, 201, p.upload(t, url, "whole"))
		in, out := io.Pipe()
		go func() {
			_, _ = out.Write([]byte("oth"))
			_, err := p.Pool.Exec(t.Context(), "UPDATE media_jobs SET status = $2, finished_at = now() WHERE id = $1", n.TranscodeID, end)
			_, _ = out.Write([]byte("er"))
			_ = out.CloseWithError(err)
		}()
		require.Equal(t, 409, p.send(t, url, in, 5))
		key := mediajob.Key(p.find(t, n.TranscodeID), "360p.mp4")
		r, err := p.files.Open(t.Context(), key, 0, -1)
		require.NoError(t, err)
		content, err := io.ReadAll(r)
		require.NoError(t, errors.Join(err, r.Close()))
		require.Equal(t, "whole", string(content))
	}
}

// TestADeletedRecording ends the jobs of outside programs.
func TestADeletedRecording(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	owner, n := p.begin(t)
	p.changes(t, true, n.ReportURL, map[string]any{"status": "running"})
	_, err := p.Pool.Exec(t.Context(), "UPDATE recordings SET status = 'DELETED' WHERE tenant_id = $1", owner.TenantID)
	require.NoError(t, err)
	require.Equal(t, 409, p.upload(t, n.Renditions[0].UploadURL, "x"))
	p.changes(t, true, n.ReportURL, completed(output("360p", n.Renditions[0].UploadURL, "x")))
	p.failed(t, n.TranscodeID, "The recording was deleted.")

	owner, n = p.begin(t)
	_, err = p.Pool.Exec(t.Context(), "UPDATE recordings SET status = 'DELETED' WHERE tenant_id = $1", owner.TenantID)
	require.NoError(t, err)
	require.NoError(t, p.MediaJobs.Notify(t.Context(), mediajob.NotifyArgs{JobID: n.TranscodeID, Event: "start"}))
	p.failed(t, n.TranscodeID, "The recording was deleted.")
}

// TestAnOutsideTranscoderFails says why.
func TestAnOutsideTranscoderFails(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	owner, n := p.begin(t)
	p.changes(t, true, n.ReportURL, map[string]any{"status": "failed", "error": "The codec is unknown."})
	job := p.shown(t, owner, n.TranscodeID)
	require.Equal(t, []any{api.MediaJobStatusFAILED, "The codec is unknown."}, []any{job.Status, job.Error.MustGet()})
	require.Equal(t, 3, p.jobs(t, mediajob.DeleteFilesArgs{}.Kind()))
	p.changes(t, false, n.ReportURL, map[string]any{"status": "running"})

	_, silent := p.begin(t)
	p.changes(t, true, silent.ReportURL, map[string]any{"status": "running"})
	p.pass(t, 23*time.Hour)
	require.NoError(t, p.MediaJobs.Sweep(t.Context()))
	require.Equal(t, mediajob.Running, p.find(t, silent.TranscodeID).Status)
	p.pass(t, time.Hour+time.Second)
	require.NoError(t, p.MediaJobs.Sweep(t.Context()))
	p.failed(t, silent.TranscodeID, "The program that makes the files has not reported for 24 hours.")
	require.Equal(t, 3, p.jobs(t, mediajob.NotifyArgs{}.Kind()), "two starts, and the end of the silent one")
}

// TestAnOutsideTranscoderIsCancelled is notified, and a job that is cancelled before its notice isn't announced.
func TestAnOutsideTranscoderIsCancelled(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	owner, n := p.begin(t)
	p.refuse = true
	require.Error(t, p.MediaJobs.Notify(t.Context(), mediajob.NotifyArgs{JobID: n.TranscodeID, Event: "start"}), "it is sent again")
	p.refuse = false
	owner.Call(t, "POST", "/v1/me/transcodes/"+n.TranscodeID+"/cancel", nil).Is(t, 201)
	require.Equal(t, 2, p.jobs(t, mediajob.NotifyArgs{}.Kind()))
	before := len(p.notices)
	require.NoError(t, p.MediaJobs.Notify(t.Context(), mediajob.NotifyArgs{JobID: n.TranscodeID, Event: "start"}))
	require.Len(t, p.notices, before, "too late")
	require.Equal(t, notice{Event: "transcode.cancel", JobID: n.TranscodeID}, p.notified(t, n.TranscodeID, "cancel"))
	p.changes(t, false, n.ReportURL, map[string]any{"status": "progress", "progress": 10})
	require.Equal(t, 409, p.upload(t, n.Renditions[0].UploadURL, "x"))
}

// TestAnOutsidePackager gets the files of a transcode and the text tracks.
func TestAnOutsidePackager(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	owner, n := p.begin(t)
	require.Equal(t, 201, p.upload(t, n.Renditions[0].UploadURL, "large"))
	require.Equal(t, 201, p.upload(t, n.Renditions[1].UploadURL, "small"))
	p.changes(t, true, n.ReportURL, completed(output("360p", n.Renditions[0].UploadURL, "large"), output("small", n.Renditions[1].UploadURL, "small")))
	var made api.Package
	owner.Call(t, "POST", "/v1/me/transcodes/"+n.TranscodeID+"/package", nil).Into(t, 201, &made)
	order := p.notified(t, made.ID, "start")
	require.Equal(t, []any{"package.start", n.TranscodeID, made.ID}, []any{order.Event, order.TranscodeID, order.PackageID})
	require.Len(t, order.Sources, 2)
	for file, content := range map[string]string{"main.m3u8": "#EXTM3U", "main.mpd": "<MPD/>", "seg-1.m4s": "media"} {
		require.Equal(t, 201, p.upload(t, order.UploadURL+file, content))
	}
	manifest := func(format, file string) map[string]any {
		return map[string]any{"format": format, "url": order.UploadURL + file, "sizeBytes": 12}
	}
	for _, wrong := range []map[string]any{
		completed(), completed(manifest("HLS", "main.m3u8")), completed(manifest("HLS", "main.m3u8"), manifest("HLS", "main.mpd")),
		completed(manifest("HLS", "seg-1.m4s"), manifest("DASH", "main.mpd")),
	} {
		p.report(t, packagerSecret, order.ReportURL, wrong).Problem(t, 400, "invalid_input")
	}
	p.report(t, packagerSecret, order.ReportURL, completed(manifest("HLS", "main.m3u8"), manifest("DASH", "missing.mpd"))).Problem(t, 409, "conflict")
	p.report(t, transcoderSecret, order.ReportURL, map[string]any{"status": "running"}).Problem(t, 401, "unauthenticated")
	p.report(t, transcoderSecret, strings.Replace(n.ReportURL, n.TranscodeID, made.ID, 1), map[string]any{"status": "running"}).Problem(t, 404, "not_found")
	p.changes(t, true, order.ReportURL, completed(manifest("HLS", "main.m3u8"), manifest("DASH", "main.mpd")))
	owner.Call(t, "GET", "/v1/me/packages/"+made.ID, nil).Into(t, 200, &made)
	require.Equal(t, api.MediaJobStatusCOMPLETED, made.Status)
	require.Len(t, made.Outputs, 2)
	require.Contains(t, made.Outputs[0].URL, "/packages/"+made.ID+"/main.m3u8")
	require.EqualValues(t, len("#EXTM3U<MPD/>media"), p.find(t, made.ID).SizeBytes)
}

// TestReportsOnOwnJobs are refused.
func TestReportsOnOwnJobs(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	_, n := p.begin(t)
	_, err := p.Pool.Exec(t.Context(), "UPDATE media_jobs SET outside = false WHERE id = $1", n.TranscodeID)
	require.NoError(t, err)
	p.report(t, transcoderSecret, n.ReportURL, map[string]any{"status": "running"}).Problem(t, 409, "conflict")
	require.Equal(t, 403, p.upload(t, n.Renditions[0].UploadURL, "x"))
}
