package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"time"

	"showfloor/internal/console/bandwidth"
	"showfloor/internal/console/cdnlog"
	"showfloor/internal/tenancy/usage"
)

// importLogsCommand imports log files of CDNs.
type importLogsCommand struct {
	Format string   `required:"" enum:"cloudfront,combined,cloudflare,bunny,akamai" help:"One of ${enum}; nginx: combined."`
	Source string   `required:"" help:"Your name for the CDN, for the audit log: lower-case letters, digits and hyphens."`
	Damage bool     `name:"accept-bad-lines" help:"Also import files of which more than 10 % of the lines can't be read."`
	Files  []string `arg:"" help:"Log files, also with gzip; - for standard input."`
}

// progressEvery is the time between two lines about the progress.
const progressEvery = 5 * time.Second

// Run imports the files, one after the other. A file that was imported before is skipped. It goes on after a file that can't be
// imported, and returns an error in the end.
func (c importLogsCommand) Run(ctx context.Context, e environment) error {
	if !regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,39}$`).MatchString(c.Source) {
		return &usageError{errors.New("--source: lower-case letters, digits and hyphens, 40 at most, such as edge-eu")}
	}
	return operate(ctx, e, func(s *server) error {
		b := bandwidth.New(bandwidth.Config{Pool: s.pool, Usage: usage.New(usage.Config{Pool: s.pool, Now: s.clock.Now}), Now: s.clock.Now})
		failed := 0
		for _, name := range c.Files {
			if err := c.importFile(ctx, e, b, name, s.clock.Now()); err != nil {
				fmt.Fprintf(e.err, "%s: %v\n", name, err)
				failed++
			}
			if ctx.Err() != nil {
				return fmt.Errorf("stopped: %w; run it again to import the rest", ctx.Err())
			}
		}
		if failed > 0 {
			return fmt.Errorf("%d of %d files were not imported", failed, len(c.Files))
		}
		return nil
	})
}

// importFile imports one file.
func (c importLogsCommand) importFile(ctx context.Context, e environment, b *bandwidth.Service, name string, now time.Time) error {
	from, err := openLog(name, e.in)
	if err != nil {
		return err
	}
	defer from.Close()
	shown := time.Now()
	log, err := cdnlog.Reader{
		Format: cdnlog.Format(c.Format), ResourceOf: bandwidth.ResourceOf, Now: now,
		Progress: func(lines int64) {
			if time.Since(shown) >= progressEvery {
				shown = time.Now()
				fmt.Fprintf(e.err, "%s: %d lines\n", name, lines)
			}
		},
	}.Read(ctx, from)
	if err != nil {
		return err
	}
	for _, f := range log.Faults {
		fmt.Fprintf(e.err, "%s: line %d: %v\n", name, f.Line, f.Err)
	}
	if log.Rows == 0 && log.Bad > 0 {
		return fmt.Errorf("none of its %d lines could be read; is it in the format %s?", log.Bad, c.Format)
	}
	known, err := b.IsImported(ctx, log)
	if err != nil {
		return err
	}
	if log.TooBad() && !c.Damage && !known {
		return fmt.Errorf("%d of its %d lines can't be read, so nothing was imported; correct the file, or import the other lines with "+
			"--accept-bad-lines", log.Bad, log.Bad+log.Rows)
	}
	done, err := b.ImportFile(ctx, operator(), c.Source, log)
	if err != nil {
		return err
	}
	if done.Known {
		fmt.Fprintf(e.out, "%s: imported before, skipped\n", name)
		return nil
	}
	fmt.Fprintf(e.out, "%s: %d requests, %d bad lines, %d bytes of tenants, %d of none\n",
		name, log.Rows, log.Bad, done.Bytes, done.Unattributed)
	return nil
}

// openLog opens a file, or standard input for -.
func openLog(name string, in io.Reader) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(in), nil
	}
	return os.Open(name) //nolint:wrapcheck // the error names the file
}
