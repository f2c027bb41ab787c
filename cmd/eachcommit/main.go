// Command eachcommit type-checks every commit between a base and HEAD, tests included, so that each one
// can be checked out, bisected and reverted:
//
//	eachcommit [BASE]
//
// Without BASE it begins after the commit that .ci/base names: the last one that was accepted. It runs
// in the module's root folder. The first commit takes some seconds; after that, only the packages that a
// commit changes and those that import them are checked again.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// baseFile names the last accepted commit.
const baseFile = ".ci/base"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "eachcommit:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	base, err := chooseBase(args)
	if err != nil {
		return err
	}
	if _, err := git(ctx, ".", "merge-base", "--is-ancestor", base, "HEAD"); err != nil {
		if shallow, _ := git(ctx, ".", "rev-parse", "--is-shallow-repository"); shallow == "true" {
			fmt.Printf("eachcommit: this clone doesn't reach back to %s: nothing is checked. For all of it: git fetch --unshallow\n", base)
			return nil
		}
		return fmt.Errorf("%s is not an ancestor of HEAD; name the last accepted commit in %s or as an argument", base, baseFile)
	}
	commits, err := git(ctx, ".", "rev-list", "--reverse", base+"..HEAD")
	if err != nil {
		return err
	}
	return checkAll(ctx, strings.Fields(commits))
}

func chooseBase(args []string) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	text, err := os.ReadFile(baseFile)
	if err != nil {
		return "", fmt.Errorf("no base: %w", err)
	}
	return strings.TrimSpace(string(text)), nil
}

// checkAll checks the commits, oldest first, in a worktree of its own.
func checkAll(ctx context.Context, commits []string) error {
	if len(commits) == 0 {
		return nil
	}
	folder, err := os.MkdirTemp("", "showfloor-commits-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	src := filepath.Join(folder, "src")
	if _, err := git(ctx, ".", "worktree", "add", "--quiet", "--detach", src, commits[0]); err != nil {
		return err
	}
	defer func() { _, _ = git(context.WithoutCancel(ctx), ".", "worktree", "remove", "--force", src) }()

	began := time.Now()
	c := newChecker(src)
	var failures []error
	for _, commit := range commits {
		if _, err := git(ctx, src, "checkout", "--quiet", commit); err != nil {
			return err
		}
		if err := c.check(ctx); err != nil {
			title, _ := git(ctx, src, "log", "-1", "--format=%h %s")
			failures = append(failures, fmt.Errorf("does not type-check: %s\n%w", title, err))
		}
	}
	fmt.Printf("eachcommit: %d commits, %d packages checked, %s\n", len(commits), c.checked, time.Since(began).Round(time.Second))
	return errors.Join(failures...)
}

// git returns the command's output without the space around it.
func git(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = folder
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(out)), nil
}
