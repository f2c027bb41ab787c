package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// accountNames lists the accounts under which root may run the server, best
// first. It is a function, because Go has no constant slices.
func accountNames() []string { return []string{"postgres", "nobody"} }

// account is the account under which the server runs.
type account struct {
	uid, gid uint32
	// drop is set if this process is root and must change to the account.
	drop bool
}

// isOneOf reports whether uid belongs to one of the named accounts.
func isOneOf(uid uint32, names []string) bool {
	for _, name := range names {
		if found, err := user.Lookup(name); err == nil && found.Uid == strconv.FormatUint(uint64(uid), 10) {
			return true
		}
	}
	return false
}

// chooseAccount returns this process's account, or for root the first of names
// that exists: PostgreSQL refuses to run as root.
func chooseAccount(names ...string) (account, error) {
	if uid := os.Geteuid(); uid != 0 {
		return account{uid: uint32(uid), gid: uint32(os.Getegid())}, nil
	}
	for _, name := range names {
		found, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.ParseUint(found.Uid, 10, 32)
		gid, gidErr := strconv.ParseUint(found.Gid, 10, 32)
		if uidErr == nil && gidErr == nil && uid != 0 {
			return account{uid: uint32(uid), gid: uint32(gid), drop: true}, nil
		}
	}
	return account{}, fmt.Errorf("PostgreSQL does not run as root, and none of the accounts %q exists: "+
		"run this program as an ordinary user, or set DATABASE_URL to a running server", names)
}

// attributes returns process attributes that make a child run as the account.
func (a account) attributes() *syscall.SysProcAttr {
	if !a.drop {
		return &syscall.SysProcAttr{}
	}
	return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: a.uid, Gid: a.gid}}
}

// closedParent returns the first folder on the path from / to dir, including
// dir, that the account can't enter, or "" if it can enter all.
func (a account) closedParent(dir string) (string, error) {
	closed := ""
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return "", err
		}
		if !a.mayEnter(info) {
			closed = dir
		}
		if dir == filepath.Dir(dir) {
			return closed, nil
		}
	}
}

func (a account) mayEnter(info fs.FileInfo) bool {
	mode := info.Mode().Perm()
	uid, gid := owner(info)
	switch {
	case !a.drop:
		return true // This process's own account: its attempt will show it.
	case uid == a.uid:
		return mode&0o100 != 0
	case gid == a.gid:
		return mode&0o010 != 0
	default:
		return mode&0o001 != 0
	}
}

// mkdir creates a folder that only the account can use, or accepts the existing
// one. It refuses a folder or a link that another account created there.
func (a account) mkdir(path string) error {
	err := os.Mkdir(path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(path)
	if err != nil {
		return err
	}
	uid, _ := owner(info)
	switch {
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder", path)
	case uid == a.uid:
		return nil
	case a.drop && uid == 0: // Just created, or restored from a backup by root.
		return os.Lchown(path, int(a.uid), int(a.gid))
	default:
		return fmt.Errorf("%s belongs to the account with uid %d, but this program works as uid %d: "+
			"start it as that account (or as root), or give it the folder with chown -R", path, uid, a.uid)
	}
}

// own makes the account the owner of a whole tree, and changes nothing outside of it.
func (a account) own(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		return root.Lchown(path, int(a.uid), int(a.gid))
	})
}

func owner(info fs.FileInfo) (uid, gid uint32) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return stat.Uid, stat.Gid
	}
	return 0, 0
}
