// Command testdb starts a temporary PostgreSQL server and runs a command with it,
// so that all test binaries of one run share a server and its template:
//
//	testdb -- gotestsum ./...
//
// The command gets the server's URL in TEST_DATABASE_URL; if that is set already,
// no server is started. testdb exits with the command's exit code, or with 128
// plus the signal that ended it. PG_BIN names the folder of PostgreSQL's programs
// if they are in an unusual place.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"

	"showfloor/internal/base/postgres/embedded"
)

const (
	variable = "TEST_DATABASE_URL"
	// The shell's codes.
	exitUsage, exitNotRun, exitSignal = 2, 127, 128
)

func main() {
	args := os.Args[1:]
	if len(args) > 0 && args[0] == "--" {
		args = args[1:]
	}
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: testdb -- command [argument...]")
		os.Exit(exitUsage)
	}
	code, err := run(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testdb:", err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// run returns the command's exit code; the error is about the server or about
// starting the command.
func run(args []string) (code int, err error) {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	if os.Getenv(variable) == "" {
		server, startErr := embedded.StartTemp(context.Background(), os.Getenv("PG_BIN"), slog.Default())
		if startErr != nil {
			return 0, startErr
		}
		defer func() { err = errors.Join(err, server.Stop(context.Background())) }()
		if err := os.Setenv(variable, server.ConnString()); err != nil {
			return 0, err
		}
	}
	return runCommand(args, signals)
}

func runCommand(args []string, signals <-chan os.Signal) (int, error) {
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return exitNotRun, err
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case sig := <-signals:
			if sig != syscall.SIGINT || !inForeground() {
				_ = cmd.Process.Signal(sig) // It may have ended just now.
			}
		case err := <-ended:
			return exitCode(cmd.ProcessState), ignoreExit(err)
		}
	}
}

// inForeground reports whether Ctrl-C on the terminal reaches this process. Then
// the command got it too, and a second signal would make it skip its clean-up.
func inForeground() bool {
	tty, err := os.OpenFile("/dev/tty", os.O_RDONLY, 0)
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return exitSignal + int(status.Signal())
	}
	return state.ExitCode()
}

// ignoreExit drops the error that contains only the exit code.
func ignoreExit(err error) error {
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		return nil
	}
	return err
}
