package blob

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
)

// batch is how many files one request lists or deletes: the most that S3 allows.
const batch = 1000

// List implements Reader. After a fault it goes on behind the last file.
func (b *bucket) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	l := listing{b: b, below: b.place.prefix}
	if prefix != "" {
		l.below += prefix + "/"
	}
	return func(yield func(Info, error) bool) {
		ctx, cancel := context.WithCancel(ctx) // ends the requests if yield returns false
		defer cancel()
		l := l // each range over the result begins at the first file
		for {
			seen := l.last
			err := b.retry(ctx, readWindow, func() error { return l.next(ctx, yield) })
			if err == nil {
				return
			}
			if l.last == seen || ctx.Err() != nil {
				yield(Info{}, failed("list", prefix, err))
				return
			}
		}
	}
}

// listing is the position of a list: last is the last object that it has passed.
type listing struct {
	b           *bucket
	below, last string
}

// next passes on the objects behind the last one, until yield returns false.
func (l *listing) next(ctx context.Context, yield func(Info, error) bool) error {
	options := minio.ListObjectsOptions{Prefix: l.below, Recursive: true, StartAfter: l.last, MaxKeys: batch}
	for object := range l.b.core.ListObjectsIter(ctx, l.b.place.bucket, options) {
		if object.Err != nil {
			return object.Err
		}
		l.last = object.Key
		key := strings.TrimPrefix(object.Key, l.b.place.prefix)
		if CheckKey(key) != nil {
			continue // not one of this server's files
		}
		if !yield(objectInfo(key, object), nil) {
			return nil
		}
	}
	return nil
}

// Delete implements Writer.
func (b *bucket) Delete(ctx context.Context, keys ...string) error {
	for keys := range slices.Chunk(keys, batch) {
		left := keys
		if err := b.retry(ctx, writeWindow, func() (err error) {
			left, err = b.deleteOnce(ctx, left)
			return err
		}); err != nil {
			return fmt.Errorf("delete %d files, from %s on: %w", len(left), left[0], err)
		}
	}
	return nil
}

// deleteOnce makes one request, and returns the keys that must be tried again with the first of their errors.
func (b *bucket) deleteOnce(ctx context.Context, keys []string) ([]string, error) {
	objects := func(yield func(minio.ObjectInfo) bool) {
		for _, key := range keys {
			if !yield(minio.ObjectInfo{Key: b.place.prefix + key}) {
				return
			}
		}
	}
	results, err := b.core.RemoveObjectsWithIter(ctx, b.place.bucket, objects, minio.RemoveObjectsOptions{})
	if err != nil {
		return keys, err
	}
	var left []string
	var failure error
	for r := range results {
		if r.Err == nil || code(r.Err) == minio.NoSuchKey {
			continue
		}
		if failure == nil {
			failure = r.Err
		}
		if r.ObjectName == "" {
			return keys, r.Err // the answer couldn't be read
		}
		left = append(left, strings.TrimPrefix(r.ObjectName, b.place.prefix))
	}
	return left, failure
}

// DeletePrefix implements Writer.
func (b *bucket) DeletePrefix(ctx context.Context, prefix string) error {
	keys := make([]string, 0, batch)
	for info, err := range b.List(ctx, prefix) {
		if err != nil {
			return err
		}
		if keys = append(keys, info.Key); len(keys) == batch {
			if err := b.Delete(ctx, keys...); err != nil {
				return err
			}
			keys = keys[:0]
		}
	}
	if len(keys) == 0 {
		return nil
	}
	return b.Delete(ctx, keys...)
}

// Sweep implements Store: it removes the parts of uploads that were not completed.
func (b *bucket) Sweep(ctx context.Context, olderThan time.Duration) (int, error) {
	n := 0
	err := b.retry(ctx, writeWindow, func() error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		before := b.now().Add(-olderThan)
		var failures error
		for u := range b.core.ListIncompleteUploads(ctx, b.place.bucket, b.place.prefix, true) {
			if u.Err != nil {
				return u.Err
			}
			if u.Initiated.After(before) {
				continue
			}
			err := b.core.AbortMultipartUpload(ctx, b.place.bucket, u.Key, u.UploadID)
			switch {
			case err == nil:
				n++
			case code(err) != minio.NoSuchUpload:
				failures = errors.Join(failures, err)
			}
		}
		return failures
	})
	if err != nil {
		return n, fmt.Errorf("sweep: %w", err)
	}
	return n, nil
}
