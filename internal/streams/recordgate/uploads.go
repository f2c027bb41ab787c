package recordgate

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"time"

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
	// maxUploadName bounds the name of a file in bytes.
	maxUploadName = 100
	// uploadPause is how long a client may send nothing, and storeTime how long the storage may take after the last byte.
	uploadPause = 30 * time.Second
	storeTime   = 10 * time.Minute
	// spaceEvery is after how many bytes the space of the disk is checked again.
	spaceEvery = 64 << 20
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
	job, err := u.Jobs().CheckUpload(r.Context(), path[0], path[1], path[2])
	if err != nil {
		return u.refusal(err)
	}
	name := mediajob.Folder(job) + "/" + path[3]
	switch {
	case len(path[3]) > maxUploadName || !recordfile.IsTranscode(name) && !recordfile.IsPackage(name):
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
	body := &upload{Reader: r.Body, control: http.NewResponseController(w), space: u.Refuse}
	// The storage takes the file at its end. Until then the job may have ended, and its files must not change any more.
	body.end = func() error { return u.Jobs().CheckOpen(context.WithoutCancel(r.Context()), job.ID) }
	if _, err := u.Files.Put(context.WithoutCancel(r.Context()), key, body, r.ContentLength); err != nil {
		return u.refusal(errors.Join(body.fault, err))
	}
	// It may also end while the storage takes the file.
	after, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), queryTime)
	defer cancel()
	refused := u.Jobs().CheckOpen(after, job.ID)
	if refused == nil {
		return nil
	}
	if job, err = u.Jobs().Find(after, job.ID); err != nil {
		return u.refusal(err)
	}
	if job.Status != mediajob.Completed {
		refused = errors.Join(refused, u.Files.Delete(after, key))
	}
	return u.refusal(refused)
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

// upload is the body of a request. It moves the deadlines of the connection on with each read, so that a client may take long, but not be
// silent.
type upload struct {
	io.Reader

	control *http.ResponseController
	space   func() error // an error while the disk has no space
	end     func() error // called at the end of the body; its error is that of the upload
	left    int64        // bytes until space is asked again
	fault   error        // of space or end
}

// Read implements io.Reader.
func (u *upload) Read(b []byte) (int, error) {
	u.deadlines(time.Now().Add(uploadPause))
	if u.left -= int64(len(b)); u.left < 0 {
		u.left = spaceEvery
		if u.fault = u.space(); u.fault != nil {
			return 0, u.fault
		}
	}
	n, err := u.Reader.Read(b)
	if errors.Is(err, io.EOF) {
		u.deadlines(time.Now().Add(storeTime)) // the server still reads, for the next request
		if u.fault = u.end(); u.fault != nil {
			return n, u.fault
		}
	}
	return n, err
}

// deadlines sets those of the connection. Without them, as in tests, the server's own count.
func (u *upload) deadlines(until time.Time) {
	_, _ = u.control.SetReadDeadline(until), u.control.SetWriteDeadline(until)
}
