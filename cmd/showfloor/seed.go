package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"showfloor/internal/console/seed"
)

// seedCommand writes made-up data.
type seedCommand struct {
	Yes          bool   `help:"Really write. The rows can't be removed by a command."`
	Tenant       string `help:"The existing tenant that gets half of the rows. A new one without it." placeholder:"ten_…"`
	Tenants      int    `default:"100" help:"New tenants."`
	Streams      int    `default:"10000" help:"Streams and stream keys."`
	Deliveries   int    `default:"10000" help:"Events and webhook deliveries."`
	AuditEntries int    `default:"10000" help:"Entries of the audit log."`
	Rows         int    `default:"10000" help:"Rows of each other table: users, products, orders, messages, recordings, invoices, tickets, …"`
}

// Run writes the rows, except in production. An interrupted run goes on where it stopped, if it is repeated on the same day with
// the same numbers.
func (c seedCommand) Run(ctx context.Context, e environment) error {
	if !c.Yes {
		return &usageError{errors.New("this writes made-up tenants, users and orders into the database; add --yes to do it")}
	}
	return operate(ctx, e, func(s *server) error {
		if s.config.AppEnv == production {
			return &usageError{errors.New("APP_ENV is production; this command fills test databases only")}
		}
		counts := seed.Counts{Tenants: c.Tenants, Streams: c.Streams, Deliveries: c.Deliveries, AuditEntries: c.AuditEntries, Rows: c.Rows}
		rows, err := seed.New(counts, c.Tenant, s.clock.Now())
		if err != nil {
			return &usageError{err}
		}
		started := time.Now()
		if err := rows.Write(ctx, s.pool, seedProgress(e.err)); err != nil {
			if errors.Is(err, seed.ErrNoTenant) {
				return &usageError{fmt.Errorf("--tenant: %w", err)}
			}
			if ctx.Err() != nil {
				return fmt.Errorf("stopped: %w; run it again to write the rest", ctx.Err())
			}
			return err
		}
		fmt.Fprintf(e.out, "written in %s; half of the rows belong to the tenant %s\n", time.Since(started).Round(time.Second), rows.Tenant())
		return nil
	})
}

// seedProgress prints a line for each table that is done, and one every few seconds for a large one.
func seedProgress(w io.Writer) func(table string, written, all int) {
	shown := time.Now()
	return func(table string, written, all int) {
		if written < all && time.Since(shown) < progressEvery {
			return
		}
		shown = time.Now()
		fmt.Fprintf(w, "%s: %d of %d rows\n", table, written, all)
	}
}
