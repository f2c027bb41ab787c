// Package durable writes small files that must survive a power cut.
package durable

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// WriteFile replaces a file atomically: after it returns, the content is on
// disk, and the path never has a half-written file.
func WriteFile(path string, content []byte, mode os.FileMode) error {
	temp := path + ".new"
	f, err := os.OpenFile(temp, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	_, err = f.Write(content)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write file: %w", err)
	}
	if err := os.Rename(temp, path); err != nil {
		return fmt.Errorf("put file in place: %w", err)
	}
	return syncDir(filepath.Dir(path))
}

// syncDir makes a rename in the folder last.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("open folder: %w", err)
	}
	if err := errors.Join(d.Sync(), d.Close()); err != nil {
		return fmt.Errorf("sync folder: %w", err)
	}
	return nil
}
