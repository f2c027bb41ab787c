package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// ownSettings are appended to a new cluster's postgresql.conf. The operator may
// change them there.
const ownSettings = `
# Compiling queries costs more than it gains with short statements.
jit = off
`

// ensureCluster creates the cluster if there is none. It creates the cluster in a
// separate folder and renames that when it is complete, so that a start that is
// killed in between leaves only a folder for the next start to remove.
func (h *home) ensureCluster(ctx context.Context, bin binaries, fast bool) error {
	if h.dataVersion() != 0 {
		return h.adopt()
	}
	if err := h.removeUnfinished(); err != nil {
		return err
	}
	unfinished, err := os.MkdirTemp(h.base, "init-")
	if err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	if err := os.Chown(unfinished, int(h.account.uid), int(h.account.gid)); err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	if err := h.initdb(ctx, bin, unfinished, fast); err != nil {
		return errors.Join(err, os.RemoveAll(unfinished))
	}
	if err := appendFile(filepath.Join(unfinished, "postgresql.conf"), ownSettings); err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	if err := os.Rename(unfinished, h.data()); err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	if err := syncDir(h.base); err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	return h.writeNote()
}

// adopt makes an existing cluster usable. As root it makes the account the owner of
// files that root restored from a backup.
func (h *home) adopt() error {
	info, err := os.Stat(h.data())
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	if uid, _ := owner(info); h.account.drop && uid != h.account.uid {
		if err := h.account.own(h.data()); err != nil {
			return fmt.Errorf("give the database to the account of PostgreSQL: %w", err)
		}
	}
	if info.Mode().Perm()&0o027 != 0 { // PostgreSQL refuses such permissions.
		if err := os.Chmod(h.data(), 0o700); err != nil {
			return fmt.Errorf("database: %w", err)
		}
	}
	return h.writeNote()
}

// writeNote records where the cluster is if it is not in the data folder.
func (h *home) writeNote() error {
	if h.note == "" {
		return nil
	}
	if err := os.WriteFile(h.note, []byte(h.base+"\n"), 0o600); err != nil {
		return fmt.Errorf("note where the database is: %w", err)
	}
	return syncDir(filepath.Dir(h.note))
}

func (h *home) removeUnfinished() error {
	entries, err := os.ReadDir(h.data())
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("%s holds files but no PostgreSQL data: move it away, or restore a complete copy", h.data())
	case err == nil:
		err = os.Remove(h.data())
	case errors.Is(err, fs.ErrNotExist):
		err = nil
	}
	if err != nil {
		return fmt.Errorf("new database: %w", err)
	}
	// The processes of a killed start may still be writing there. Then the next
	// start removes the rest.
	left, _ := filepath.Glob(filepath.Join(h.base, "init-*"))
	for _, dir := range left {
		_ = os.RemoveAll(dir)
	}
	return nil
}

func (h *home) initdb(ctx context.Context, bin binaries, dir string, fast bool) error {
	// Byte order sorts the same on every machine, independent of its locales, and no
	// update of the operating system can corrupt an index. With page checksums
	// PostgreSQL reports a disk that returns other bytes than were written, instead
	// of returning them.
	args := []string{"-D", dir, "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--data-checksums", "--no-instructions"}
	if fast {
		args = append(args, "--no-sync")
	}
	var output bytes.Buffer
	cmd := exec.Command(bin.path("initdb"), args...)
	cmd.Dir, cmd.Env, cmd.SysProcAttr = h.base, childEnv(), h.account.attributes()
	cmd.Stdout, cmd.Stderr = &output, &output
	child, err := startProcess(cmd, syscall.SIGKILL)
	if err != nil {
		return h.explainStart(bin, err)
	}
	select {
	case <-child.done:
	case <-ctx.Done():
		child.killGroup()
		<-child.done
		return fmt.Errorf("new database: %w", ctx.Err())
	}
	if !cmd.ProcessState.Success() {
		return fmt.Errorf("new database: %s ended with %s:\n  %s", cmd.Path, child.state(),
			strings.ReplaceAll(strings.TrimSpace(output.String()), "\n", "\n  "))
	}
	return nil
}

// explainStart turns the operating system's error for "run this program as that
// account" into one with the remedy for the operator.
func (h *home) explainStart(bin binaries, err error) error {
	if h.account.drop && (errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EINVAL)) {
		return fmt.Errorf("this root account may not change to uid %d, and PostgreSQL does not run as root: "+
			"start this program as an ordinary user, or set DATABASE_URL to a running server (%w)", h.account.uid, err)
	}
	if errors.Is(err, fs.ErrPermission) {
		return fmt.Errorf("the account with uid %d may not run PostgreSQL in %s: %w", h.account.uid, bin.dir, err)
	}
	return fmt.Errorf("run PostgreSQL: %w", err)
}

func appendFile(path, text string) error {
	file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Sync(), file.Close())
}

func syncDir(dir string) error {
	file, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}
