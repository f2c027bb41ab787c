package blob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// temp is a file that is being written. A lock shows Sweep that its writer lives.
type temp struct {
	folder *folder
	name   string
	file   *os.File
	moved  bool
}

func (f *folder) newTemp() (*temp, error) {
	t := &temp{folder: f, name: filepath.Join(tmpDir, rand.Text())}
	var err error
	for range 2 {
		t.file, err = f.root.OpenFile(t.name, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		if !errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err := f.root.Mkdir(tmpDir, dirMode); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, full(err)
		}
	}
	if err != nil {
		return nil, full(err)
	}
	// File systems without locks return an error. There the age alone protects the file.
	_ = syscall.Flock(int(t.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	return t, nil
}

// full marks errors of a full disk with ErrFull.
func full(err error) error {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return fmt.Errorf("%w: %w", ErrFull, err)
	}
	return err
}

// discard closes the file, and removes it unless it has been moved.
func (t *temp) discard() {
	_ = t.file.Close()
	if !t.moved {
		_ = t.folder.root.Remove(t.name)
	}
}

// Put implements Writer.
func (f *folder) Put(ctx context.Context, key string, r io.Reader, size int64) (Info, error) {
	info, err := f.put(ctx, key, r, size)
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	return info, nil
}

// PutFile implements Writer.
func (f *folder) PutFile(ctx context.Context, key, path string) (Info, error) {
	file, err := os.Open(path)
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil {
		return Info{}, failed("write", key, err)
	}
	return f.Put(ctx, key, file, stat.Size())
}

func (f *folder) put(ctx context.Context, key string, r io.Reader, size int64) (Info, error) {
	t, err := f.newTemp()
	if err != nil {
		return Info{}, err
	}
	defer t.discard()
	n, err := t.copy(ctx, r, size)
	if err != nil {
		return Info{}, full(err)
	}
	if size >= 0 && n != size {
		return Info{}, fmt.Errorf("there were %d bytes instead of %d", n, size)
	}
	// Nanoseconds from this clock differ between any two writes; the kernel's own are those of its last tick.
	now := time.Now()
	if err := f.root.Chtimes(t.name, now, now); err != nil {
		return Info{}, err
	}
	if err := t.file.Sync(); err != nil {
		return Info{}, full(err)
	}
	stat, err := t.file.Stat()
	if err != nil {
		return Info{}, err
	}
	if err := ctx.Err(); err != nil {
		return Info{}, err
	}
	return fileInfo(key, stat), t.move(key)
}

// copy copies all of r; size is the expected number of bytes, or -1. From another file the kernel copies, without the bytes passing
// through this process.
func (t *temp) copy(ctx context.Context, r io.Reader, size int64) (int64, error) {
	const chunk, atOnce = 16 << 20, 1 << 20
	if size < 0 || size > atOnce {
		size = atOnce
	}
	to := io.Writer(t.file)
	var buffer []byte
	if _, isFile := r.(*os.File); !isFile {
		to, buffer = struct{ io.Writer }{to}, make([]byte, size+1) // room to see the end at once
	}
	var total int64
	for {
		if err := ctx.Err(); err != nil {
			return total, err
		}
		n, err := io.CopyBuffer(to, io.LimitReader(r, chunk), buffer)
		total += n
		if err != nil || n < chunk {
			return total, err
		}
	}
}

// move gives the file its place, and makes that durable. A folder that it needs may be removed by a deletion at the
// same time; then it is made again.
func (t *temp) move(key string) error {
	path := filepath.FromSlash(key)
	const attempts = 100
	var err error
	for range attempts {
		if err = t.folder.makeDirs(filepath.Dir(path)); err != nil {
			continue
		}
		if err = t.folder.root.Rename(t.name, path); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		t.folder.removeEmpty(filepath.Dir(path))
		return full(err)
	}
	t.moved = true
	return t.folder.sync(filepath.Dir(path))
}

// makeDirs creates a folder with its parents, and makes the new ones durable.
func (f *folder) makeDirs(dir string) error {
	if dir == "." {
		return nil
	}
	err := f.root.Mkdir(dir, dirMode)
	if errors.Is(err, fs.ErrNotExist) {
		if err := f.makeDirs(filepath.Dir(dir)); err != nil {
			return err
		}
		err = f.root.Mkdir(dir, dirMode)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return full(err)
	}
	return f.sync(filepath.Dir(dir))
}

// sync makes a folder's entries durable. A folder that is gone has none.
func (f *folder) sync(dir string) error {
	d, err := f.root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	return full(d.Sync())
}

// Sweep implements Store. A file that is locked has a living writer, however old it is.
func (f *folder) Sweep(ctx context.Context, olderThan time.Duration) (int, error) {
	entries, err := fs.ReadDir(f.root.FS(), tmpDir)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("sweep: %w", err)
	}
	n := 0
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return n, err
		}
		swept, err := f.sweep(filepath.Join(tmpDir, e.Name()), olderThan)
		if err != nil {
			return n, fmt.Errorf("sweep: %w", err)
		}
		if swept {
			n++
		}
	}
	return n, nil
}

func (f *folder) sweep(name string, olderThan time.Duration) (bool, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // its writer has finished
	}
	if err != nil {
		return false, err
	}
	defer file.Close()
	stat, err := file.Stat()
	if err != nil || time.Since(stat.ModTime()) < olderThan {
		return false, err
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return false, nil
	}
	return true, f.root.RemoveAll(name)
}
