// Package seed fills a database with made-up tenants and their data, so that lists, searches and reports can be tried at the size of a
// large platform.
package seed

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// days is the age of the oldest row.
	days = 60
	// step is the largest number of rows that one statement writes.
	step = 100_000
	// spread is the number of rows of another table to which the rows of the first tenant refer.
	spread = 500
	// idDigits is the length of the part of an id that identifies the row, after 10 characters for the time and 7 for the set of rows.
	idDigits = 9
)

// ErrTooFew means that a count is smaller than what the tenants need.
var ErrTooFew = errors.New("each table needs two rows for each tenant")

// ErrNoTenant means that the first tenant doesn't exist.
var ErrNoTenant = errors.New("the tenant doesn't exist")

var tenantID = regexp.MustCompile(`^ten_[0-9a-z]{26}$`)

// Counts are the numbers of rows to write. Half of the rows of each table belong to the first tenant, the others to all tenants alike.
type Counts struct {
	Tenants, Streams, Deliveries, AuditEntries int
	// Rows is the number of rows of each other table that grows with the use: orders, products, messages, …
	Rows int
	// Live is the number of streams, sessions and auctions that are on air. A running server soon ends them, because no encoder is there.
	Live int
}

func (c Counts) check() error {
	for name, n := range map[string]int{"streams": c.Streams, "deliveries": c.Deliveries, "audit entries": c.AuditEntries, "rows": c.Rows} {
		if n < 2*c.Tenants {
			return fmt.Errorf("%d %s for %d tenants: %w", n, name, c.Tenants, ErrTooFew)
		}
	}
	if c.Tenants < 1 {
		return fmt.Errorf("no tenants: %w", ErrTooFew)
	}
	return nil
}

// Seed is a set of rows. All seeds of one day (UTC) with the same counts and tenant have the same ids, so that an interrupted one goes
// on where it stopped.
type Seed struct {
	// set tells this set of rows from those of other days, counts and tenants.
	set    string
	counts Counts
	// first and last are the times of the oldest and the newest row.
	first, last time.Time
	tenant      string
	tables      []table
}

// New makes the rows for the day of now. The first tenant is an existing one, or a new one if tenant is "".
func New(counts Counts, tenant string, now time.Time) (*Seed, error) {
	if err := counts.check(); err != nil {
		return nil, err
	}
	if tenant != "" && !tenantID.MatchString(tenant) { // it becomes a part of the statements
		return nil, fmt.Errorf("%q: %w", tenant, ErrNoTenant)
	}
	day := now.UTC().Truncate(24 * time.Hour)
	s := &Seed{counts: counts, first: day.AddDate(0, 0, -days), last: day, tenant: tenant, tables: readTables()}
	s.set = code(int64(crc32.ChecksumIEEE(fmt.Append(nil, day.Unix(), counts, tenant))), setLength)
	if tenant == "" {
		s.tenant = s.ID("ten", 1)
	}
	return s, nil
}

const (
	alphabet   = "0123456789abcdefghjkmnpqrstvwxyz"
	timeLength = 10
	setLength  = 7
	codeBits   = 5
)

// code is a number in base32. A time in milliseconds with 10 characters is the first part of an id of that time.
func code(n int64, length int) string {
	text := make([]byte, length)
	for i := length - 1; i >= 0; i, n = i-1, n>>codeBits {
		text[i] = alphabet[n&(1<<codeBits-1)]
	}
	return string(text)
}

// timeCodeFunction is code for times in SQL, for the session.
func timeCodeFunction() string {
	digits := make([]string, timeLength)
	for i := range digits {
		digits[i] = fmt.Sprintf(`substr('%s', ((ms >> %d) & %d)::integer + 1, 1)`, alphabet, (timeLength-1-i)*codeBits, 1<<codeBits-1)
	}
	return `CREATE OR REPLACE FUNCTION pg_temp.time_code(ms bigint) RETURNS text LANGUAGE sql IMMUTABLE AS
		$$ SELECT ` + strings.Join(digits, " || ") + ` $$`
}

// ID returns the id of a row, counted from 1. Rows with an even number are the first tenant's.
func (s *Seed) ID(prefix string, row int) string {
	span := s.last.Sub(s.first).Milliseconds()
	ms := s.first.UnixMilli() + span*int64(row)/int64(s.rowsOf(prefix))
	return fmt.Sprintf("%s_%s%s%0*d", prefix, code(ms, timeLength), s.set, idDigits, row)
}

// Set returns a text that only these rows contain.
func (s *Seed) Set() string { return s.set }

// rowsOf returns the number of rows of the table whose ids have a prefix.
func (s *Seed) rowsOf(prefix string) int {
	for _, t := range s.tables {
		if t.prefix == prefix {
			return s.counts.of(t)
		}
	}
	return 1
}

// Tenant returns the id of the first tenant.
func (s *Seed) Tenant() string { return s.tenant }

// Write writes the rows that don't exist yet, table by table, makes the server write its sums again, and brings the planner's statistics
// up to date. It calls progress after each step with the table and the rows written so far and in all.
func (s *Seed) Write(ctx context.Context, pool *pgxpool.Pool, progress func(table string, written, all int)) error {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer func() { // a connection with these settings must not serve requests
		_ = conn.Hijack().Close(context.WithoutCancel(ctx))
	}()
	for _, setting := range []string{`SET statement_timeout = 0`, `SET synchronous_commit = off`, timeCodeFunction()} {
		if _, err := conn.Exec(ctx, setting); err != nil {
			return err
		}
	}
	if err := s.checkTenant(ctx, conn.Conn()); err != nil {
		return err
	}
	for _, t := range s.tables {
		if err := s.writeTable(ctx, conn.Conn(), t, progress); err != nil {
			return fmt.Errorf("table %s: %w", t.name, err)
		}
	}
	if err := forgetSums(ctx, conn.Conn()); err != nil {
		return fmt.Errorf("forget the sums: %w", err)
	}
	_, err = conn.Exec(ctx, `VACUUM ANALYZE`)
	return err
}

// forgetSums makes the server write its sums of closed hours again, from the first row on: the rows belong to hours that it may have
// summed already.
func forgetSums(ctx context.Context, conn *pgx.Conn) error {
	return pgx.BeginFunc(ctx, conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE summed_until SET until = 'epoch'`); err != nil { // first: writers of sums lock their mark first
			return err
		}
		for _, sums := range []string{"audit_days", "figure_hours", "sales_hours", "activity_hours", "activity_days"} {
			if _, err := tx.Exec(ctx, `DELETE FROM `+sums); err != nil {
				return err
			}
		}
		return nil
	})
}

// checkTenant returns ErrNoTenant unless the first tenant exists or is the first new one.
func (s *Seed) checkTenant(ctx context.Context, conn *pgx.Conn) error {
	if s.tenant == s.ID("ten", 1) {
		return nil
	}
	var found bool
	if err := conn.QueryRow(ctx, `SELECT EXISTS (SELECT FROM tenants WHERE id = $1)`, s.tenant).Scan(&found); err != nil {
		return err
	}
	if !found {
		return fmt.Errorf("%s: %w", s.tenant, ErrNoTenant)
	}
	return nil
}

func (s *Seed) writeTable(ctx context.Context, conn *pgx.Conn, t table, progress func(string, int, int)) error {
	n := s.counts.of(t)
	statement := s.statement(t, n)
	for from := 1; from <= n; from += step {
		to := min(from+step-1, n)
		if _, err := conn.Exec(ctx, statement, from, to); err != nil {
			return err
		}
		progress(t.name, to, n)
	}
	return nil
}

var (
	otherRow = regexp.MustCompile(`\{id:(\w+):(\w+)\}`)
	ownID    = regexp.MustCompile(`\{id:(\w+)\}`)
)

// statement fills the marks of a table's statement; tables lists them.
func (s *Seed) statement(t table, n int) string {
	// The row of another table that is of the same tenant as the row i.
	same := fmt.Sprintf(`CASE i %% 2 WHEN 0 THEN 2 + 2 * (i / 2 %% least(%d, {n} / 2)) ELSE 2 * (i / 2 %% %d) + 1 END`,
		spread, s.counts.Tenants)
	other := s.idOf("ten", fmt.Sprintf(`1 + i / 2 %% %d`, s.counts.Tenants))
	tenant := fmt.Sprintf(`CASE i %% 2 WHEN 0 THEN '%s' ELSE %s END`, s.tenant, other)
	text := otherRow.ReplaceAllStringFunc(t.sql, func(mark string) string {
		found := otherRow.FindStringSubmatch(mark)
		row := found[2]
		if row == "same" {
			row = strings.ReplaceAll(same, "{n}", strconv.Itoa(s.rowsOf(found[1])))
		}
		return s.idOf(found[1], row)
	})
	text = ownID.ReplaceAllStringFunc(text, func(mark string) string { return s.idOf(ownID.FindStringSubmatch(mark)[1], "i") })
	if !t.skipsRows() {
		text += ` ON CONFLICT DO NOTHING`
	}
	return strings.NewReplacer(
		"{tenant}", tenant,
		"{i}", `generate_series($1::bigint, $2::bigint) AS i`,
		"{at}", fmt.Sprintf(`(timestamptz '%s' + interval '1 millisecond' * (%s))`, s.first.Format(time.RFC3339), s.offset("i", n)),
		"{live}", strconv.Itoa(s.counts.Live), "{set}", s.set,
	).Replace(text)
}

// offset is the age of a row in milliseconds after the first one.
func (s *Seed) offset(row string, n int) string {
	return fmt.Sprintf(`%d::bigint * (%s) / %d`, s.last.Sub(s.first).Milliseconds(), row, n)
}

// idOf is ID in SQL.
func (s *Seed) idOf(prefix, row string) string {
	return fmt.Sprintf(`'%s_' || pg_temp.time_code(%d + %s) || '%s' || lpad((%s)::text, %d, '0')`,
		prefix, s.first.UnixMilli(), s.offset(row, s.rowsOf(prefix)), s.set, row, idDigits)
}
