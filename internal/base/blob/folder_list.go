package blob

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"syscall"
)

// List implements Reader.
func (f *folder) List(ctx context.Context, prefix string) iter.Seq2[Info, error] {
	return func(yield func(Info, error) bool) { f.list(ctx, prefix, yield) }
}

// list returns false once yield has.
func (f *folder) list(ctx context.Context, dir string, yield func(Info, error) bool) bool {
	name := dir
	if name == "" {
		name = "."
	}
	entries, err := fs.ReadDir(f.root.FS(), name)
	if err == nil {
		err = ctx.Err()
	}
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return true
	}
	if err != nil {
		yield(Info{}, failed("list", dir, err))
		return false
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return cmp.Compare(sortName(a), sortName(b)) })
	for _, e := range entries {
		key := path.Join(dir, e.Name())
		if CheckKey(key) != nil {
			continue // such as tmpDir
		}
		if e.IsDir() {
			if !f.list(ctx, key, yield) {
				return false
			}
			continue
		}
		if !e.Type().IsRegular() {
			continue
		}
		stat, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue // deleted since
		}
		if err != nil {
			yield(Info{}, failed("list", key, err))
			return false
		}
		if !yield(fileInfo(key, stat), nil) {
			return false
		}
	}
	return true
}

// sortName makes folders sort like the keys in them: "a-b/x" before "a/x".
func sortName(e fs.DirEntry) string {
	if e.IsDir() {
		return e.Name() + "/"
	}
	return e.Name()
}

// Delete implements Writer.
func (f *folder) Delete(ctx context.Context, keys ...string) error {
	dirs := map[string]bool{}
	for _, key := range keys {
		if err := ctx.Err(); err != nil {
			return err
		}
		name := filepath.FromSlash(key)
		if stat, err := f.root.Lstat(name); err == nil && stat.IsDir() {
			continue // a folder is no file
		}
		if err := f.root.Remove(name); err != nil {
			if errors.Is(f.missing(err), ErrNotFound) {
				continue
			}
			return failed("delete", key, err)
		}
		dirs[filepath.Dir(name)] = true
	}
	return f.settle(dirs)
}

// DeletePrefix implements Writer.
func (f *folder) DeletePrefix(ctx context.Context, prefix string) error {
	name := filepath.FromSlash(prefix)
	stat, err := f.root.Lstat(name)
	if err != nil || !stat.IsDir() {
		if err == nil || errors.Is(f.missing(err), ErrNotFound) {
			return nil
		}
		return failed("delete", prefix, err)
	}
	// A writer may add a file while its folder is being emptied.
	const attempts = 10
	for range attempts {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err = f.root.RemoveAll(name); !errors.Is(err, syscall.ENOTEMPTY) {
			break
		}
	}
	if err != nil {
		return failed("delete", prefix, err)
	}
	return f.settle(map[string]bool{filepath.Dir(name): true})
}

// settle makes deletions in folders durable, and removes those that are empty.
func (f *folder) settle(dirs map[string]bool) error {
	for dir := range dirs {
		if err := f.sync(dir); err != nil {
			return failed("delete in", dir, err)
		}
		f.removeEmpty(dir)
	}
	return nil
}

// removeEmpty removes a folder and its parents as far as they are empty. One that it can't remove stays.
func (f *folder) removeEmpty(dir string) {
	for ; dir != "."; dir = filepath.Dir(dir) {
		// Remove would remove a link too.
		if stat, err := f.root.Lstat(dir); err != nil || !stat.IsDir() || f.root.Remove(dir) != nil {
			return
		}
	}
}
