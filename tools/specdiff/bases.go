package main

import (
	"context"
	"os/exec"
	"path/filepath"
	"strings"
)

// repository is a folder in a git working tree.
type repository string

func (r repository) path(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(string(r), name)
}

// bases returns the commits whose documents are compared with the document in
// the working tree. If a commit is missing, why is the reason.
func (r repository) bases(ctx context.Context) (commits []string, why string) {
	head, ok := r.commit(ctx, "HEAD")
	if !ok {
		return nil, "there is no commit yet"
	}
	main, ok := r.commit(ctx, "origin/main")
	if !ok {
		main, ok = r.commit(ctx, "main")
	}
	switch {
	case !ok:
		return nil, "there is no branch main"
	case head == main:
		// The two commits show the changes of the last commit and the uncommitted changes.
		before, ok := r.commit(ctx, "HEAD^")
		if !ok {
			return []string{head}, "the commit before main's tip is not here; only the working tree is compared with the tip"
		}
		return []string{before, head}, ""
	}
	base, ok := r.git(ctx, "merge-base", head, main)
	if !ok {
		return nil, "main and this branch have no common commit here"
	}
	return []string{strings.TrimSpace(base)}, ""
}

// commit returns the full hash of a revision's commit; ok is false if there is none.
func (r repository) commit(ctx context.Context, revision string) (name string, ok bool) {
	out, ok := r.git(ctx, "rev-parse", "--verify", "--quiet", revision+"^{commit}")
	return strings.TrimSpace(out), ok
}

// show returns a file's content in a commit; ok is false if the commit doesn't have the file.
func (r repository) show(ctx context.Context, commit, file string) (content []byte, ok bool) {
	out, ok := r.git(ctx, "show", commit+":./"+filepath.ToSlash(file))
	return []byte(out), ok
}

func (r repository) git(ctx context.Context, args ...string) (out string, ok bool) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = string(r)
	text, err := cmd.Output()
	return string(text), err == nil
}
