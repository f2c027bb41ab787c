package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// folder keeps each file under its key below a folder. os.Root opens every path, so that no link leads outside.
type folder struct {
	root *os.Root
	path string
}

const (
	// tmpDir has the files that are being written. No key begins with a dot.
	tmpDir = ".tmp"
	// Modes: other programs of the same group may read, such as a web server or a backup.
	dirMode, fileMode = 0o750, 0o640
)

func openFolder(ctx context.Context, dir string) (*folder, error) {
	path, err := filepath.Abs(dir)
	if err != nil {
		return nil, fmt.Errorf("find the folder for files: %w", err)
	}
	if err := os.MkdirAll(path, dirMode); err != nil {
		return nil, fmt.Errorf("the folder for files can't be created: %w; create it, or correct the path", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("the folder for files can't be opened: %w", err)
	}
	f := &folder{root: root, path: path}
	if err := f.Check(ctx); err != nil {
		err = fmt.Errorf("the folder for files %s can't be written to: %w; give this user the right to", path, err)
		return nil, errors.Join(err, root.Close())
	}
	return f, nil
}

// String implements Store.
func (f *folder) String() string { return "folder " + f.path }

// Close implements Store.
func (f *folder) Close() error { return f.root.Close() }

// Check implements Store: it writes and removes a file.
func (f *folder) Check(context.Context) error {
	t, err := f.newTemp()
	if err != nil {
		return err
	}
	defer t.discard()
	if _, err := t.file.Write([]byte{0}); err != nil {
		return full(err)
	}
	return nil
}

// open opens a regular file. A named pipe would block without O_NONBLOCK.
func (f *folder) open(key string) (*os.File, Info, error) {
	file, err := f.root.OpenFile(filepath.FromSlash(key), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, Info{}, f.missing(err)
	}
	stat, err := file.Stat()
	if err == nil && !stat.Mode().IsRegular() {
		err = ErrNotFound
	}
	if err != nil {
		_ = file.Close()
		return nil, Info{}, err
	}
	return file, fileInfo(key, stat), nil
}

// missing turns the error of a missing file, or of a file where the key has a folder, into ErrNotFound.
func (f *folder) missing(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return ErrNotFound
	}
	return err
}

// fileInfo describes a file. Its ETag has the time of writing in nanoseconds, which newTemp's caller has set, and stays
// the same when a backup that keeps times is restored.
func fileInfo(key string, stat fs.FileInfo) Info {
	return Info{
		Key: key, Size: stat.Size(), Modified: stat.ModTime(), ContentType: ContentType(key),
		ETag: `"` + strconv.FormatInt(stat.Size(), 36) + "-" + strconv.FormatInt(stat.ModTime().UnixNano(), 36) + `"`,
	}
}

// Stat implements Reader.
func (f *folder) Stat(_ context.Context, key string) (Info, error) {
	stat, err := f.root.Stat(filepath.FromSlash(key))
	if err != nil {
		return Info{}, failed("look for", key, f.missing(err))
	}
	if !stat.Mode().IsRegular() {
		return Info{}, failed("look for", key, ErrNotFound)
	}
	return fileInfo(key, stat), nil
}

// Open implements Reader. A file that is replaced stays readable for those that have opened it.
func (f *folder) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	file, info, err := f.open(key)
	if err != nil {
		return nil, failed("read", key, err)
	}
	offset = min(offset, info.Size)
	if rest := info.Size - offset; length < 0 || length > rest {
		length = rest
	}
	return &fileReader{ctx: ctx, SectionReader: io.NewSectionReader(file, offset, length), Closer: file}, nil
}

// fileReader ends with ctx.
type fileReader struct {
	*io.SectionReader
	io.Closer

	ctx context.Context
}

// Read implements io.Reader.
func (r *fileReader) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.SectionReader.Read(p)
}

// Serve implements Reader.
func (f *folder) Serve(w http.ResponseWriter, r *http.Request, key string, o ServeOptions) error {
	file, info, err := f.open(key)
	if err != nil {
		return failed("serve", key, err)
	}
	defer file.Close()
	serveContent(w, r, info, file, o)
	return nil
}
