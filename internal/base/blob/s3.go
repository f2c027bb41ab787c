package blob

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// bucket keeps files in S3-compatible storage. It retries by itself, with the clock of Config; minio-go makes one attempt.
type bucket struct {
	core      *minio.Core
	keys      *credentials.Credentials
	transport *http.Transport
	place     place
	redirect  bool
	partSize  int64
	log       *slog.Logger
	now       func() time.Time
	wait      func(ctx context.Context, d time.Duration) error

	mu     sync.Mutex
	worked time.Time // the last successful check
}

// probeDir has the files that Open writes. No key begins with a dot.
const probeDir = ".check/"

func openBucket(ctx context.Context, c Config, p place) (*bucket, error) {
	b := &bucket{
		transport: newTransport(c.Idle), place: p, redirect: c.Redirect, partSize: c.PartSize, log: c.Log, now: c.Now, wait: c.Wait,
	}
	var err error
	if b.keys, err = newKeys(c.Keys); err != nil {
		return nil, err
	}
	if b.place.region == "" {
		b.place.region = c.Region
	}
	if b.place.region == "" {
		b.place.region = "us-east-1" // what S3-compatible storage expects if it has no regions
	}
	lookup := minio.BucketLookupDNS
	if p.pathStyle {
		lookup = minio.BucketLookupPath
	}
	b.core, err = minio.NewCore(p.endpoint, &minio.Options{
		Creds: b.keys, Secure: !p.plain, Transport: b.transport, Region: b.place.region, BucketLookup: lookup, MaxRetries: 1,
	})
	if err == nil {
		err = b.prove(ctx)
	}
	if err != nil {
		b.transport.CloseIdleConnections()
		return nil, b.place.advice(err)
	}
	return b, nil
}

// prove lists, writes and deletes, so that a missing right shows at the start and not in the first recording.
func (b *bucket) prove(ctx context.Context) error {
	if err := retrieve(ctx, b.keys); err != nil {
		return err
	}
	key := b.place.prefix + probeDir + rand.Text()
	var last error // as the storage answered, for advice
	_ = b.retry(ctx, openWindow, func() error {
		if last = b.list1(ctx); last != nil {
			return last
		}
		if last = b.putObject(ctx, key, bytes.NewReader([]byte{0}), 1, "application/octet-stream"); last != nil {
			return last
		}
		last = b.core.RemoveObject(ctx, b.place.bucket, key, minio.RemoveObjectOptions{})
		return last
	})
	return last
}

// list1 asks for one file, the cheapest request whose answer has an error code (HEAD has none).
func (b *bucket) list1(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	options := minio.ListObjectsOptions{Prefix: b.place.prefix, MaxKeys: 1, Recursive: true}
	for object := range b.core.ListObjectsIter(ctx, b.place.bucket, options) {
		return object.Err
	}
	return nil
}

// checkLife is how long a successful check holds. Some storages charge for each request.
const checkLife = 10 * time.Second

// Check implements Store, with one request.
func (b *bucket) Check(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.worked.IsZero() && b.now().Sub(b.worked) < checkLife {
		return nil
	}
	b.worked = time.Time{}
	if err := b.list1(ctx); err != nil {
		return b.place.advice(err)
	}
	b.worked = b.now()
	return nil
}

// String implements Store.
func (b *bucket) String() string {
	text := "s3://" + b.place.bucket
	if b.place.prefix != "" {
		text += "/" + b.place.prefix[:len(b.place.prefix)-1]
	}
	return text + " at " + b.place.address()
}

// Close implements Store.
func (b *bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}
