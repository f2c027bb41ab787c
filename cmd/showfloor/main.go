// Command showfloor is the whole server in one binary.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is set by the linker.
var version = "dev"

// commands are the commands of the binary.
type commands struct {
	Serve   serveCommand      `cmd:"" default:"1" help:"Run the server. Settings come from the environment: see docs/configuration.md."`
	Migrate migrateCommand    `cmd:"" help:"Bring the database of DATABASE_URL up to date and exit."`
	Admin   adminCommands     `cmd:"" help:"Create and remove admins of the platform. The server may be running or not."`
	Keys    keyCommands       `cmd:"" help:"Replace and revoke the keys that sign tokens. The server may be running or not."`
	Import  importLogsCommand `cmd:"" name:"import-cdn-logs" help:"Add a CDN's log files to tenants' usage. The server may be running or not."`
	Demo    demoCommand       `cmd:"" help:"Go through one broadcast against a running server, step by step."`
	Receive receiveCommand    `cmd:"" help:"Print the webhooks that arrive and check their signatures, to try them out."`
	Listen  listenCommand     `cmd:"" help:"Print a tenant's events as they happen, and forward them to a local URL."`
	Seed    seedCommand       `cmd:"" help:"Fill a test database with made-up tenants and data, to try lists and reports at size."`
	Todo    todoCommand       `cmd:"" help:"List the operations that are not built yet."`
	Hash    hashCommand       `cmd:"" hidden:"" name:"hash-passwords"`
	Version kong.VersionFlag  `help:"Print the version and exit."`
}

// environment is the part of the process that a command may use.
type environment struct {
	environ  []string
	in       io.Reader
	out, err io.Writer
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the process at once
	code := run(ctx, os.Args[1:], environment{os.Environ(), os.Stdin, os.Stdout, os.Stderr})
	stop()
	os.Exit(code)
}

// run executes one command and returns the exit code: 0 for success, 2 for a
// usage error, 1 for any other error.
func run(ctx context.Context, args []string, e environment) int {
	var c commands
	exited, code := false, 0
	parser, err := kong.New(&c, kong.Name("showfloor"), kong.Description("Live streams, rooms and selling under your own name."),
		kong.Writers(e.out, e.err), kong.Exit(func(n int) { exited, code = true, n }), kong.Vars{"version": version},
		kong.UsageOnError())
	if err != nil {
		fmt.Fprintln(e.err, "showfloor:", err)
		return 1
	}
	if len(args) > 0 && args[0] == "help" {
		args = append(args[1:], "--help") // showfloor help [command]
	}
	parsed, err := parser.Parse(args)
	if exited {
		return code
	}
	if err != nil {
		fmt.Fprintln(e.err, "showfloor:", err)
		return 2
	}
	parsed.BindTo(ctx, (*context.Context)(nil))
	err = parsed.Run(e)
	var misused *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &misused):
		fmt.Fprintln(e.err, "showfloor:", err)
		return 2
	default:
		fmt.Fprintln(e.err, "showfloor:", err)
		return 1
	}
}

// usageError is a mistake by the operator: a wrong setting or argument.
type usageError struct{ cause error }

func (e *usageError) Error() string { return e.cause.Error() }
func (e *usageError) Unwrap() error { return e.cause }
