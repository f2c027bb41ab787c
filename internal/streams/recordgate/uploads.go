package recordgate

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/base/blob"
	"showfloor/internal/base/problem"
	"showfloor/internal/media/mediahttp"
	"showfloor/internal/media/recordfile"
	"showfloor/internal/streams/mediajob"
)

// Uploads stores the files of outside transcoders and packagers: PUT /uploads/{jobId}/{expires}/{signature}/{file}.
type Uploads struct {
	Jobs  func() *mediajob.Service
	Files blob.Store
	// Refuse returns an error while the storage is a disk without space.
	Refuse func() error
	Log    *slog.Logger
}

const (
	// UploadPrefix is the beginning of the paths.
	UploadPrefix = "/uploads/"
	// maxUpload bounds a file in bytes: 24 hours of 6 Mbit/s.
	maxUpload = 64 << 30
	// uploadPause is how long a client may send nothing.
	uploadPause = 30 * time.Second
)

// ServeHTTP implements http.Handler.
func (u *Uploads) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p := u.serve(w, r); p != nil {
		p.Write(w)
		return
	}
	w.WriteHeader(http.StatusCreated)
}

func (u *Uploads) serve(w http.ResponseWriter, r *http.Request) *mediahttp.Problem {
	if r.Method != http.MethodPut {
		w.Header().Set("Allow", http.MethodPut)
		return mediahttp.Refuse(http.StatusMethodNotAllowed, "method_not_allowed", "upload the file with PUT")
	}
	const parts = 4
	path := strings.Split(strings.TrimPrefix(r.URL.Path, UploadPrefix), "/")
	if len(path) != parts || r.URL.RawPath != "" {
		return mediahttp.NotFound()
	}
	check := func(ctx context.Context) (db.MediaJob, error) {
		return u.Jobs().CheckUpload(ctx, path[0], path[1], path[2])
	}
	job, err := check(r.Context())
	if err != nil {
		return u.refusal(err)
	}
	name := mediajob.Folder(job) + "/" + path[3]
	switch {
	case !recordfile.IsTranscode(name) && !recordfile.IsPackage(name):
		return mediahttp.Refuse(http.StatusBadRequest, "invalid_input",
			"a file's name has letters, digits, _ and -, and ends with .mp4, .ts, .m4s, .m3u8, .mpd or .vtt")
	case r.ContentLength < 0:
		return mediahttp.Refuse(http.StatusLengthRequired, "invalid_input", "send the header Content-Length")
	case r.ContentLength > maxUpload:
		return mediahttp.Refuse(http.StatusRequestEntityTooLarge, "too_large", "a file has 64 GiB at most")
	case u.Refuse() != nil:
		return mediahttp.Refuse(http.StatusServiceUnavailable, "storage_full", "the storage has no space; try again later")
	}
	key := recordfile.Key(job.RecordingID, name)
	if _, err := u.Files.Put(r.Context(), key, &patientReader{r.Body, http.NewResponseController(w)}, r.ContentLength); err != nil {
		return u.refusal(err)
	}
	// The job may have ended meanwhile. The files of a job that isn't COMPLETED are deleted.
	after, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), queryTime)
	defer cancel()
	job, err = check(after)
	if err == nil {
		return nil
	}
	if job.Status == mediajob.Canceled || job.Status == mediajob.Failed {
		err = errors.Join(err, u.Files.Delete(after, key))
	}
	return u.refusal(err)
}

// refusal converts an error into an answer.
func (u *Uploads) refusal(err error) *mediahttp.Problem {
	if p, ok := problem.As(err); ok {
		status := http.StatusForbidden
		if p.Kind == problem.Conflict {
			status = http.StatusConflict
		}
		return mediahttp.Refuse(status, p.Code, p.Message)
	}
	u.Log.Warn("an upload could not be stored", "error", err)
	return mediahttp.Refuse(http.StatusServiceUnavailable, "unavailable", "the file could not be stored; try again")
}

// patientReader moves the deadlines of the connection on with each read, so that a client may take long, but not be silent.
type patientReader struct {
	io.Reader

	control *http.ResponseController
}

// Read implements io.Reader.
func (r *patientReader) Read(b []byte) (int, error) {
	until := time.Now().Add(uploadPause)
	_, _ = r.control.SetReadDeadline(until), r.control.SetWriteDeadline(until) // without them, the server's own deadlines count
	return r.Reader.Read(b)
}
