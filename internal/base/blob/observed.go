package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"time"
)

// Operation is what an operation did, for metrics.
type Operation struct {
	// Name is put, stat, open, list, serve, delete, sweep or check.
	Name string
	// Outcome is ok, not_found, full, canceled or error.
	Outcome string
	// Read and Written are the bytes of files, up to the failure if it failed.
	Read, Written int64
	// Took includes retries, and for open and serve the time until the last byte was taken.
	Took time.Duration
}

// observed checks keys and observes the operations of a store.
type observed struct {
	Store

	observe func(Operation)
	log     *slog.Logger
}

// begin starts an operation; the result ends it.
func (o *observed) begin(name string) func(read, written int64, err error) {
	began := time.Now()
	return func(read, written int64, err error) {
		o.observe(Operation{Name: name, Outcome: outcome(err), Read: read, Written: written, Took: time.Since(began)})
	}
}

func outcome(err error) string {
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, ErrNotFound):
		return "not_found"
	case errors.Is(err, ErrFull):
		return "full"
	case errors.Is(err, context.Canceled):
		return "canceled"
	default:
		return "error"
	}
}

// Put implements Writer.
func (o *observed) Put(ctx context.Context, key string, r io.Reader, size int64) (info Info, err error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	end := o.begin("put")
	defer func() { end(0, info.Size, err) }()
	return o.Store.Put(ctx, key, r, size)
}

// PutFile implements Writer.
func (o *observed) PutFile(ctx context.Context, key, path string) (info Info, err error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	end := o.begin("put")
	defer func() { end(0, info.Size, err) }()
	return o.Store.PutFile(ctx, key, path)
}

// Stat implements Reader.
func (o *observed) Stat(ctx context.Context, key string) (info Info, err error) {
	if err := CheckKey(key); err != nil {
		return Info{}, err
	}
	end := o.begin("stat")
	defer func() { end(0, 0, err) }()
	return o.Store.Stat(ctx, key)
}

// Open implements Reader.
func (o *observed) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("open %s: offset %d is negative", key, offset)
	}
	end := o.begin("open")
	r, err := o.Store.Open(ctx, key, offset, length)
	if err != nil {
		end(0, 0, err)
		return nil, err
	}
	observed := &observedReader{ReadCloser: r, end: end}
	if seeker, ok := r.(io.Seeker); ok {
		return &seekableReader{observed, seeker}, nil
	}
	return observed, nil
}

// seekableReader is an observedReader of a local file.
type seekableReader struct {
	*observedReader
	io.Seeker
}

// observedReader ends the operation when it is closed.
type observedReader struct {
	io.ReadCloser

	end func(read, written int64, err error)
	n   int64
	err error
}

// Read implements io.Reader.
func (r *observedReader) Read(p []byte) (int, error) {
	n, err := r.ReadCloser.Read(p)
	r.n += int64(n)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// Close implements io.Closer.
func (r *observedReader) Close() error {
	if r.end != nil {
		r.end(r.n, 0, r.err)
		r.end = nil
	}
	return r.ReadCloser.Close()
}

// List implements Reader.
func (o *observed) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) {
		if prefix != "" {
			if err := CheckKey(prefix); err != nil {
				yield(Info{}, err)
				return
			}
		}
		end := o.begin("list")
		var failure error
		defer func() { end(0, 0, failure) }()
		for info, err := range o.Store.List(ctx, prefix) {
			if err != nil {
				failure = err
			}
			if !yield(info, err) {
				return
			}
		}
	}
}

// Delete implements Writer.
func (o *observed) Delete(ctx context.Context, keys ...string) (err error) {
	for _, key := range keys {
		if err := CheckKey(key); err != nil {
			return err
		}
	}
	if len(keys) == 0 {
		return nil
	}
	end := o.begin("delete")
	defer func() { end(0, 0, err) }()
	return o.Store.Delete(ctx, keys...)
}

// DeletePrefix implements Writer.
func (o *observed) DeletePrefix(ctx context.Context, prefix string) (err error) {
	if err := CheckKey(prefix); err != nil {
		return err
	}
	end := o.begin("delete")
	defer func() { end(0, 0, err) }()
	return o.Store.DeletePrefix(ctx, prefix)
}

// Sweep implements Store.
func (o *observed) Sweep(ctx context.Context, olderThan time.Duration) (n int, err error) {
	end := o.begin("sweep")
	defer func() { end(0, 0, err) }()
	return o.Store.Sweep(ctx, olderThan)
}

// Check implements Store.
func (o *observed) Check(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	end := o.begin("check")
	defer func() { end(0, 0, err) }()
	return o.Store.Check(ctx)
}

// checkTime limits Check.
const checkTime = 5 * time.Second

// Serve implements Reader.
func (o *observed) Serve(w http.ResponseWriter, r *http.Request, key string, opts ServeOptions) error {
	if err := CheckKey(key); err != nil {
		return err
	}
	end := o.begin("serve")
	out := newOutput(w)
	err := o.Store.Serve(out, r, key, opts)
	failure := err
	if failure == nil {
		failure = out.failure
	}
	if failure != nil && r.Context().Err() != nil {
		failure = context.Canceled
	} else if err == nil && failure != nil {
		o.log.Warn("a file could not be sent completely", "key", key, "error", failure)
	}
	end(out.sent, 0, failure)
	return err
}
