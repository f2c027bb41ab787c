// Package blob stores files by key: recordings, and what is derived from them. The files are in a folder (folder*.go)
// or in a bucket of S3-compatible storage (s3*.go). Both behave alike: writes appear whole or not at all, and reads
// over HTTP have the same ranges and conditional headers.
package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/url"
	"time"
)

// Errors that callers must tell apart. Any other error is a fault of the storage: the same call may succeed later.
var (
	// ErrNotFound means that there is no file with the key.
	ErrNotFound = errors.New("no such file")
	// ErrFull means that the storage has no space left, or that its quota is used up.
	ErrFull = errors.New("the storage is full")
	// ErrKey means that the key is malformed; see CheckKey.
	ErrKey = errors.New("malformed key")
)

// Store holds files by key; CheckKey says what a key may be. No key may lie below another one, as "a/b" below "a". All
// methods may be called at the same time.
//
// Each method ends with ctx, and by itself when the storage makes no progress for a minute. Faults that may pass are
// retried inside: reads for up to 10 seconds, writes and deletes for up to 2 minutes.
type Store interface {
	Reader
	Writer
	// Sweep removes what writers left unfinished that began before olderThan ago, and returns how many there were. A day
	// is sensible: in S3 an upload that still runs looks like one whose process is dead.
	Sweep(ctx context.Context, olderThan time.Duration) (int, error)
	// Check returns an error while the storage can't be used. It takes 5 seconds at most.
	Check(ctx context.Context) error
	// String describes the storage for operators, without secrets.
	String() string
	// Close ends its idle connections.
	Close() error
}

// Reader reads files.
type Reader interface {
	// Stat returns ErrNotFound if there is no such file.
	Stat(ctx context.Context, key string) (Info, error)
	// Open reads length bytes from offset on; to the end if length is negative. Beyond the end of the file there are
	// fewer bytes, or none. All bytes are of one version of the file: if another one replaces it, the read fails.
	// A folder's reader is an io.Seeker, too.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// List returns the files whose keys begin with prefix and a slash, by the order of the keys' bytes; all files for "".
	// It is empty if there is none.
	List(ctx context.Context, prefix string) iter.Seq2[Info, error]
	// Serve answers a GET or HEAD request with the file: its bytes or ranges of them, ETag, Last-Modified and the
	// conditional headers of RFC 9110, 13. It sets no deadline: w ends a client that reads too slowly. An error means that nothing
	// was written, so the caller answers.
	Serve(w http.ResponseWriter, r *http.Request, key string, o ServeOptions) error
}

// Writer writes files.
type Writer interface {
	// Put stores all bytes of r. size is their number, or -1 if it isn't known. Readers see the former file or the new
	// one, never a part. With several writers of one key at the same time, the last one wins; if the file then has
	// another size than what was put, the others may get an error.
	Put(ctx context.Context, key string, r io.Reader, size int64) (Info, error)
	// PutFile stores a local file, which stays where it is. It returns once the storage has shown the file's size.
	PutFile(ctx context.Context, key, path string) (Info, error)
	// Delete removes files; a missing one is no error.
	Delete(ctx context.Context, keys ...string) error
	// DeletePrefix removes the files whose keys begin with prefix and a slash. It returns ErrKey for "".
	DeletePrefix(ctx context.Context, prefix string) error
}

// Info describes a file.
type Info struct {
	Key  string
	Size int64 // bytes
	// ETag is a strong validator (RFC 9110, 8.8.3), with its quotes.
	ETag     string
	Modified time.Time
	// ContentType is that of the key; see ContentType.
	ContentType string
}

// ServeOptions are the headers that Serve adds.
type ServeOptions struct {
	// CacheControl and Disposition are the values of Cache-Control and Content-Disposition.
	CacheControl, Disposition string
	// NoRedirect makes this server send the bytes, also with Config.Redirect.
	NoRedirect bool
	// Lifetime is how long a redirect's URL is valid: an hour if it is 0, 7 days at most.
	Lifetime time.Duration
}

// Config of a store.
type Config struct {
	// URL is file:///path, or s3://bucket/prefix?region=&endpoint=&path_style=. If it is empty, the files are in Dir.
	URL, Dir string
	// Redirect makes Serve answer GET with a redirect to the storage, which then sends the bytes itself. A folder can't.
	Redirect bool
	Keys     Keys
	// Region of the bucket if the URL has none.
	Region string
	// Observe is called after each operation; nil for none.
	Observe func(Operation)
	Log     *slog.Logger

	// Now and Wait are the clock of retries and Sweep; the machine's by default. Wait returns ctx's error if ctx ends.
	Now  func() time.Time
	Wait func(ctx context.Context, d time.Duration) error
	// Idle is how long a connection to S3 may make no progress; a minute by default.
	Idle time.Duration
	// PartSize is the size in bytes of the parts in which large files go to S3; 16 MiB by default, 5 MiB at least.
	PartSize int64
}

// openTime limits Open.
const openTime = 10 * time.Second

// Open opens the storage, and writes and deletes a file to prove that it can. Its error is one line, without secrets,
// that says what to do. It takes 10 seconds at most.
func Open(ctx context.Context, c Config) (Store, error) {
	c.setDefaults()
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	place, err := parseURL(c.URL)
	if err != nil {
		return nil, err
	}
	var s Store
	if place.bucket != "" {
		s, err = openBucket(ctx, c, place)
	} else {
		if place.dir == "" {
			place.dir = c.Dir
		}
		s, err = openFolder(ctx, place.dir)
	}
	if err != nil {
		return nil, err
	}
	return &observed{Store: s, observe: c.Observe, log: c.Log}, nil
}

func (c *Config) setDefaults() {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Wait == nil {
		c.Wait = wait
	}
	if c.Observe == nil {
		c.Observe = func(Operation) {}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Idle == 0 {
		c.Idle = time.Minute
	}
	if c.PartSize == 0 {
		c.PartSize = 16 << 20
	}
}

// CheckURL returns an error if the URL is not one of a storage. The error doesn't contain the URL.
func CheckURL(text string) error {
	_, err := parseURL(text)
	return err
}

// Folder returns the folder in which a store with this configuration keeps its files; "" if it is none on this machine.
func (c *Config) Folder() string {
	place, err := parseURL(c.URL)
	switch {
	case err != nil || place.bucket != "":
		return ""
	case place.dir != "":
		return place.dir
	default:
		return c.Dir
	}
}

// place is a parsed URL: a folder, or a bucket.
type place struct {
	dir string

	bucket, prefix   string // prefix ends in a slash, or is empty
	region, endpoint string // endpoint is a host, with a port if it isn't the scheme's
	plain            bool   // HTTP without TLS
	pathStyle        bool
}

func parseURL(text string) (place, error) {
	if text == "" {
		return place{}, nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return place{}, errors.New("not a URL")
	case u.User != nil:
		return place{}, errors.New("contains a user or a key; keys belong into AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
	case u.Fragment != "":
		return place{}, errors.New("contains a #; write %23 if it belongs to a name")
	case u.Scheme == "file":
		return parseFolder(u)
	case u.Scheme == "s3":
		return parseBucket(u)
	default:
		return place{}, errors.New("must begin with file:// or s3://")
	}
}

func parseFolder(u *url.URL) (place, error) {
	if u.Host != "" && u.Host != "localhost" || len(u.Path) < 2 || u.RawQuery != "" {
		return place{}, errors.New("a folder is written as file:///path, with three slashes and nothing behind the path")
	}
	return place{dir: u.Path}, nil
}

// wait returns after d, or with ctx's error when ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// failed wraps an error with the operation and key in which it happened.
func failed(operation, key string, err error) error {
	return fmt.Errorf("%s %s: %w", operation, key, err)
}
