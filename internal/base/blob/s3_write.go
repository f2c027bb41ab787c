package blob

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
	"golang.org/x/sync/errgroup"
)

const (
	// maxParts is how many parts an upload may have. S3 allows 10,000.
	maxParts = 9000
	// togetherParts is how many parts of one file are sent at the same time.
	togetherParts = 3
	// abortTime limits the attempt to remove the parts of an upload that failed; Sweep removes what is left.
	abortTime = 2 * time.Second
)

// Put implements Writer. It holds two parts in memory: one is sent while the next one is read.
func (b *bucket) Put(ctx context.Context, key string, r io.Reader, size int64) (Info, error) {
	info, err := b.put(ctx, key, r, size)
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	return info, nil
}

func (b *bucket) put(ctx context.Context, key string, r io.Reader, size int64) (Info, error) {
	partSize := b.partSizeOf(size)
	part, next := &bytes.Buffer{}, &bytes.Buffer{}
	if size >= 0 {
		part.Grow(int(min(size, partSize)) + bytes.MinRead)
	}
	n, err := part.ReadFrom(io.LimitReader(r, partSize))
	if err != nil {
		return Info{}, err
	}
	if n < partSize {
		if size >= 0 && n != size {
			return Info{}, fmt.Errorf("there were %d bytes instead of %d", n, size)
		}
		return b.putWhole(ctx, key, bytes.NewReader(part.Bytes()), n)
	}
	u, err := b.begin(ctx, key)
	if err != nil {
		return Info{}, err
	}
	defer u.abort(ctx)
	next.Grow(part.Cap())
	total := int64(0)
	for number := 1; n > 0; number++ {
		total += n
		if n, err = u.sendWhileReading(ctx, number, part, next, io.LimitReader(r, partSize)); err != nil {
			return Info{}, err
		}
		part, next = next, part
		if number == maxParts && n > 0 {
			return Info{}, fmt.Errorf("a file of unknown size may have %d bytes", maxParts*partSize)
		}
	}
	if size >= 0 && total != size {
		return Info{}, fmt.Errorf("there were %d bytes instead of %d", total, size)
	}
	return u.complete(ctx, total)
}

// sendWhileReading sends a part and reads the next one, and returns the next one's size.
func (u *upload) sendWhileReading(ctx context.Context, number int, part, next *bytes.Buffer, r io.Reader) (n int64, err error) {
	sending, sendCtx := errgroup.WithContext(ctx)
	sending.Go(func() error { return u.send(sendCtx, number, bytes.NewReader(part.Bytes()), int64(part.Len())) })
	sending.Go(func() error {
		next.Reset()
		var err error
		n, err = next.ReadFrom(r)
		return err
	})
	err = sending.Wait()
	return n, err
}

// PutFile implements Writer. After a fault a part is sent again, not the file.
func (b *bucket) PutFile(ctx context.Context, key, path string) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	info, err := b.putFile(ctx, key, file, stat.Size())
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	return info, nil
}

func (b *bucket) putFile(ctx context.Context, key string, file io.ReaderAt, size int64) (Info, error) {
	partSize := b.partSizeOf(size)
	if size <= partSize {
		return b.putWhole(ctx, key, io.NewSectionReader(file, 0, size), size)
	}
	u, err := b.begin(ctx, key)
	if err != nil {
		return Info{}, err
	}
	defer u.abort(ctx)
	sending, sendCtx := errgroup.WithContext(ctx)
	sending.SetLimit(togetherParts)
	for number, offset := 1, int64(0); offset < size; number, offset = number+1, offset+partSize {
		length := min(partSize, size-offset)
		sending.Go(func() error { return u.send(sendCtx, number, io.NewSectionReader(file, offset, length), length) })
	}
	if err := sending.Wait(); err != nil {
		return Info{}, err
	}
	return u.complete(ctx, size)
}

// partSizeOf returns the size of the parts of a file, in whole MiB beyond the usual one.
func (b *bucket) partSizeOf(size int64) int64 {
	const mib = 1 << 20
	return max(b.partSize, (size/maxParts/mib+1)*mib)
}

// putWhole stores a file with one request.
func (b *bucket) putWhole(ctx context.Context, key string, r io.ReaderAt, size int64) (Info, error) {
	err := b.retry(ctx, writeWindow, func() error {
		return b.putObject(ctx, b.place.prefix+key, r, size, ContentType(key))
	})
	if err != nil {
		return Info{}, err
	}
	return b.verify(ctx, key, size)
}

// putObject makes one attempt. The checksum is that of the request's signature, which every storage checks.
func (b *bucket) putObject(ctx context.Context, object string, r io.ReaderAt, size int64, contentType string) error {
	sum, err := checksum(r, size)
	if err != nil {
		return err
	}
	body := newBody(r, size)
	defer body.end()
	_, err = b.core.PutObject(ctx, b.place.bucket, object, body, size, "", sum,
		minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true})
	return err
}

// checksum returns the SHA-256 of size bytes in hex. A file that has become shorter is a lasting error.
func checksum(r io.ReaderAt, size int64) (string, error) {
	hash := sha256.New()
	n, err := io.Copy(hash, io.NewSectionReader(r, 0, size))
	if err == nil && n != size {
		err = fmt.Errorf("the file changed while it was read: %d bytes instead of %d", n, size)
	}
	if err != nil {
		return "", lasting{err}
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// body is the body of one attempt. net/http may still read it after a request that failed, when the next attempt runs
// and the buffer below is used for the next part; end stops that.
type body struct {
	mu    sync.Mutex
	r     io.Reader
	ended bool
}

func newBody(r io.ReaderAt, size int64) *body { return &body{r: io.NewSectionReader(r, 0, size)} }

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ended {
		return 0, io.ErrClosedPipe
	}
	return b.r.Read(p)
}

func (b *body) end() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.ended = true
}

// verify returns what the storage has under the key after an upload of size bytes.
func (b *bucket) verify(ctx context.Context, key string, size int64) (Info, error) {
	info, err := b.Stat(ctx, key)
	if errors.Is(err, ErrNotFound) {
		return Info{}, errors.New("the storage doesn't have the file after its upload") // not ErrNotFound
	}
	if err != nil {
		return Info{}, err
	}
	if info.Size != size {
		return Info{}, fmt.Errorf("the storage has %d bytes after an upload of %d: it lost some, or there was another writer", info.Size, size)
	}
	return info, nil
}

// upload is a file that is sent in parts.
type upload struct {
	b       *bucket
	key, id string
	done    bool

	mu    sync.Mutex
	parts []minio.CompletePart
}

func (b *bucket) begin(ctx context.Context, key string) (*upload, error) {
	u := &upload{b: b, key: key}
	err := b.retry(ctx, writeWindow, func() (err error) {
		u.id, err = b.core.NewMultipartUpload(ctx, b.place.bucket, b.place.prefix+key, minio.PutObjectOptions{ContentType: ContentType(key)})
		return err
	})
	return u, err
}

// send sends one part, again after a fault.
func (u *upload) send(ctx context.Context, number int, r io.ReaderAt, size int64) error {
	sum, err := checksum(r, size)
	if err != nil {
		return err
	}
	return u.b.retry(ctx, writeWindow, func() error {
		body := newBody(r, size)
		defer body.end()
		part, err := u.b.core.PutObjectPart(ctx, u.b.place.bucket, u.b.place.prefix+u.key, u.id, number, body, size,
			minio.PutObjectPartOptions{Sha256Hex: sum, DisableContentSha256: true})
		if err != nil {
			return err
		}
		u.mu.Lock()
		defer u.mu.Unlock()
		u.parts = append(u.parts, minio.CompletePart{PartNumber: number, ETag: part.ETag})
		return nil
	})
}

// complete joins the parts. If the answer to the first attempt was lost, the second one finds no upload any more; then
// the file's size decides.
func (u *upload) complete(ctx context.Context, size int64) (Info, error) {
	slices.SortFunc(u.parts, func(a, b minio.CompletePart) int { return a.PartNumber - b.PartNumber })
	attempts := 0
	err := u.b.retry(ctx, writeWindow, func() error {
		attempts++
		_, err := u.b.core.CompleteMultipartUpload(ctx, u.b.place.bucket, u.b.place.prefix+u.key, u.id, u.parts,
			minio.PutObjectOptions{ContentType: ContentType(u.key)})
		if attempts > 1 && code(err) == minio.NoSuchUpload {
			return nil
		}
		return err
	})
	if err != nil {
		return Info{}, err
	}
	u.done = true
	return u.b.verify(ctx, u.key, size)
}

// abort removes the parts unless the upload was completed, also when ctx has ended.
func (u *upload) abort(ctx context.Context) {
	if u.done {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
	defer cancel()
	if err := u.b.core.AbortMultipartUpload(ctx, u.b.place.bucket, u.b.place.prefix+u.key, u.id); err != nil {
		u.b.log.Info("the parts of an upload that failed stay until the next sweep", "key", u.key, "error", err)
	}
}
