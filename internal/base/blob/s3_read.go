package blob

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// Stat implements Reader.
func (b *bucket) Stat(ctx context.Context, key string) (Info, error) {
	var info Info
	err := b.retry(ctx, readWindow, func() error {
		object, err := b.core.StatObject(ctx, b.place.bucket, b.place.prefix+key, minio.StatObjectOptions{})
		info = objectInfo(key, object)
		return err
	})
	if err != nil {
		return Info{}, failed("look for", key, err)
	}
	return info, nil
}

func objectInfo(key string, object minio.ObjectInfo) Info {
	return Info{
		Key: key, Size: object.Size, ETag: `"` + strings.Trim(object.ETag, `"`) + `"`,
		Modified:    object.LastModified.Truncate(time.Second), // lists have fractions, HTTP's headers don't
		ContentType: ContentType(key),
	}
}

// Open implements Reader.
func (b *bucket) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, _, err := b.open(ctx, key, "", offset, length)
	if err != nil {
		return nil, failed("read", key, err)
	}
	return r, nil
}

// open requests a range of a file; all of it for 0, -1. With an ETag it fails if the file is another one. A range
// beyond the end is empty.
func (b *bucket) open(ctx context.Context, key, etag string, offset, length int64) (*objectReader, Info, error) {
	r := &objectReader{b: b, ctx: ctx, key: key, etag: etag, offset: offset, end: -1}
	if length == 0 {
		info, err := b.Stat(ctx, key)
		r.end = offset
		return r, info, err
	}
	var info Info
	err := b.retry(ctx, readWindow, func() (err error) {
		info, err = r.request(length)
		return err
	})
	if err != nil {
		return nil, Info{}, err
	}
	return r, info, nil
}

// objectReader reads a range of an object. After a fault it requests the rest.
type objectReader struct {
	b           *bucket
	ctx         context.Context
	key, etag   string
	offset, end int64 // end is -1 before the first answer
	body        io.ReadCloser
	// faulty is when the first fault came since the last byte; zero for none.
	faulty   time.Time
	attempts int
}

// request makes one request, for length bytes from offset on (-1: to the end), and returns the object's description.
func (r *objectReader) request(length int64) (Info, error) {
	var opts minio.GetObjectOptions
	if r.etag != "" {
		if err := opts.SetMatchETag(strings.Trim(r.etag, `"`)); err != nil {
			return Info{}, lasting{err}
		}
	}
	if r.offset > 0 || length > 0 {
		text := "bytes=" + strconv.FormatInt(r.offset, 10) + "-"
		if length > 0 {
			text += strconv.FormatInt(r.offset+length-1, 10)
		}
		opts.Set("Range", text)
	}
	body, object, header, err := r.b.core.GetObject(r.ctx, r.b.place.bucket, r.b.place.prefix+r.key, opts)
	if code(err) == "InvalidRange" || answered(err).StatusCode == http.StatusRequestedRangeNotSatisfiable {
		r.end = r.offset
		return Info{}, nil
	}
	if err != nil {
		return Info{}, err
	}
	info := objectInfo(r.key, object)
	r.body, r.etag, r.end = body, info.ETag, r.offset+object.Size
	// The size of a part's answer is that of the part; the object's own is behind the slash of bytes 0-9/100.
	if _, size, ok := strings.Cut(header.Get("Content-Range"), "/"); ok {
		if info.Size, err = strconv.ParseInt(size, 10, 64); err != nil {
			return Info{}, errors.Join(errors.New("the storage sent a Content-Range without the size"), body.Close())
		}
	} else if r.offset > 0 {
		return Info{}, errors.Join(lasting{errors.New("the storage ignores Range")}, body.Close())
	}
	return info, nil
}

// Read implements io.Reader.
func (r *objectReader) Read(p []byte) (int, error) {
	for {
		if r.offset >= r.end {
			return 0, io.EOF
		}
		if r.body == nil {
			if _, err := r.request(r.end - r.offset); err != nil {
				if err := r.pause(err); err != nil {
					return 0, err
				}
				continue
			}
		}
		n, err := r.body.Read(p[:min(int64(len(p)), r.end-r.offset)])
		if n > 0 {
			r.offset += int64(n)
			r.faulty, r.attempts = time.Time{}, 0
			return n, nil
		}
		if err != nil {
			_ = r.body.Close()
			r.body = nil
			if err := r.pause(err); err != nil {
				return 0, err
			}
		}
	}
}

// pause waits before the next attempt, or returns the error that ends the reading.
func (r *objectReader) pause(err error) error {
	if ctxErr := r.ctx.Err(); ctxErr != nil {
		return ctxErr
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if r.faulty.IsZero() {
		r.faulty = r.b.now()
	}
	wait := pauseBefore(r.attempts)
	if !passing(err) || r.b.now().Sub(r.faulty)+wait > readWindow {
		return failed("read", r.key, translate(err))
	}
	r.attempts++
	return r.b.wait(r.ctx, wait)
}

// Close implements io.Closer.
func (r *objectReader) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}

// Serve implements Reader.
func (b *bucket) Serve(w http.ResponseWriter, r *http.Request, key string, o ServeOptions) error {
	if b.redirect && !o.NoRedirect && r.Method == http.MethodGet {
		return b.serveRedirect(w, r, key, o)
	}
	content := &objectSeeker{b: b, ctx: r.Context(), key: key}
	defer content.close()
	var err error
	content.first, content.length = firstRange(r.Header.Get("Range"))
	if r.Method == http.MethodGet && content.first >= 0 && !conditional(r) {
		content.reader, content.info, err = b.open(r.Context(), key, "", content.first, content.length)
	}
	if err == nil && content.info.ETag == "" {
		content.close()
		content.info, err = b.Stat(r.Context(), key)
	}
	if err != nil {
		return failed("serve", key, err)
	}
	serveContent(w, r, content.info, content, o)
	return nil
}

// conditional reports whether the file's ETag or time decides whether its bytes are sent. All other requests, the most of
// players, need one request to the storage only.
func conditional(r *http.Request) bool {
	for _, name := range []string{"If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since", "If-Range"} {
		if r.Header.Get(name) != "" {
			return true
		}
	}
	return false
}

// firstRange returns the offset and length of the only range in a Range header; 0, -1 without the header, and a negative
// offset for what depends on the file's size: several ranges, the last bytes, or a malformed header.
func firstRange(text string) (offset, length int64) {
	if text == "" {
		return 0, -1
	}
	text, ok := strings.CutPrefix(text, "bytes=")
	first, last, dash := strings.Cut(text, "-")
	from, err := strconv.ParseUint(first, 10, 62)
	if !ok || !dash || err != nil {
		return -1, -1
	}
	if last == "" {
		return int64(from), -1
	}
	to, err := strconv.ParseUint(last, 10, 62)
	if err != nil || to < from {
		return -1, -1
	}
	return int64(from), int64(to-from) + 1
}

// serveRedirect sends the client to the storage. The URL is signed for GET, so HEAD must not be redirected to it.
func (b *bucket) serveRedirect(w http.ResponseWriter, r *http.Request, key string, o ServeOptions) error {
	lifetime := min(o.Lifetime, longestSignature)
	if lifetime == 0 {
		lifetime = time.Hour
	}
	override := url.Values{"response-content-type": {ContentType(key)}}
	if o.CacheControl != "" {
		override.Set("response-cache-control", o.CacheControl)
	}
	if o.Disposition != "" {
		override.Set("response-content-disposition", o.Disposition)
	}
	target, err := b.core.PresignedGetObject(r.Context(), b.place.bucket, b.place.prefix+key, lifetime, override)
	if err != nil {
		return failed("sign the URL of", key, err)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Location", target.String())
	w.WriteHeader(http.StatusTemporaryRedirect)
	return nil
}

// objectSeeker is the content of an object for http.ServeContent, which seeks before it reads. It requests a range when
// it is read, unless the open reader is already there.
type objectSeeker struct {
	b    *bucket
	ctx  context.Context
	key  string
	info Info
	// first and length are the range that the client asked for; see firstRange.
	first, length int64

	offset int64
	reader *objectReader
}

// Seek implements io.Seeker.
func (s *objectSeeker) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += s.offset
	case io.SeekEnd:
		offset += s.info.Size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	s.offset = offset
	return offset, nil
}

// Read implements io.Reader.
func (s *objectSeeker) Read(p []byte) (int, error) {
	if s.offset >= s.info.Size {
		return 0, io.EOF
	}
	if s.reader == nil || s.reader.offset != s.offset || s.reader.offset == s.reader.end {
		s.close()
		length := int64(-1)
		if s.offset == s.first {
			length, s.first = s.length, -1
		}
		var err error
		if s.reader, _, err = s.b.open(s.ctx, s.key, s.info.ETag, s.offset, length); err != nil {
			return 0, err
		}
	}
	n, err := s.reader.Read(p)
	s.offset += int64(n)
	return n, err
}

func (s *objectSeeker) close() {
	if s.reader != nil {
		_ = s.reader.Close()
		s.reader = nil
	}
}

// longestSignature is the longest lifetime that S3 allows for a pre-signed URL.
const longestSignature = 7 * 24 * time.Hour
