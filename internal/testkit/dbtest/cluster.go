package dbtest

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"showfloor/internal/base/postgres"
	"showfloor/internal/base/postgres/embedded"
	"showfloor/schema"
)

// adminTimeout limits one statement that creates or drops a database; it may have
// to wait for another process that migrates the template.
const adminTimeout = 2 * time.Minute

// cluster is the server with the test databases.
type cluster struct {
	url   *url.URL
	admin *pgxpool.Pool
	// server is nil if this process didn't start it.
	server *embedded.Server

	// template receives the name when the template is ready.
	template chan string
}

// openCluster connects to the server of TEST_DATABASE_URL or starts one.
func openCluster(ctx context.Context) (*cluster, error) {
	address, server := os.Getenv("TEST_DATABASE_URL"), (*embedded.Server)(nil)
	if address == "" {
		var err error
		if server, err = embedded.StartTemp(ctx, os.Getenv("PG_BIN"), slog.Default()); err != nil {
			return nil, fmt.Errorf("start a test database server: %w", err)
		}
		address = server.ConnString()
	}
	c, err := connect(ctx, address, server)
	if err != nil && server != nil {
		_ = server.Stop(ctx) // The first error counts.
	}
	return c, err
}

func connect(ctx context.Context, address string, server *embedded.Server) (*cluster, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "postgres" && u.Scheme != "postgresql" {
		return nil, errors.New("TEST_DATABASE_URL has to look like postgres://user:password@host:5432/name")
	}
	options := postgres.Options{MaxConns: 4, ApplicationName: "showfloor-dbtest", StatementTimeout: adminTimeout}
	admin, err := postgres.Open(ctx, address, options)
	if err != nil {
		return nil, fmt.Errorf("TEST_DATABASE_URL: %w", err)
	}
	c := &cluster{url: u, admin: admin, server: server, template: make(chan string, 1)}
	c.template <- ""
	return c, nil
}

func (c *cluster) close() error {
	c.admin.Close()
	if c.server == nil {
		return nil
	}
	return c.server.Stop(context.Background())
}

// urlOf returns the URL of another database on the server.
func (c *cluster) urlOf(database string) string {
	u := *c.url
	u.Path = "/" + database
	return u.String()
}

// newName returns a database name that no other process chooses.
func newName() string { return "showfloor_test_" + strings.ToLower(rand.Text()[:16]) }

// migratedTemplate returns the name of the template for this program's schema. The
// first process that needs the template creates it.
func (c *cluster) migratedTemplate(ctx context.Context) (string, error) {
	name := <-c.template // One test makes it, the others wait.
	defer func() { c.template <- name }()
	if name != "" {
		return name, nil
	}
	hash, err := schemaHash(schema.FS)
	if err != nil {
		return "", fmt.Errorf("schema: %w", err)
	}
	made, err := c.makeTemplate(ctx, hash)
	if err != nil {
		return "", fmt.Errorf("migrate the template of the test databases: %w", err)
	}
	name = made
	return name, nil
}

// makeTemplate migrates a database under another name and renames it when it is
// complete, so that no test copies half a schema when a process is killed.
func (c *cluster) makeTemplate(ctx context.Context, hash [sha256.Size]byte) (string, error) {
	name := "showfloor_template_" + hex.EncodeToString(hash[:8])
	conn, err := c.admin.Acquire(ctx)
	if err != nil {
		return "", err
	}
	defer conn.Release()
	lock := int64(binary.BigEndian.Uint64(hash[:8])) // Any 64 bits will do.
	if _, err := conn.Exec(ctx, "SELECT pg_advisory_lock($1)", lock); err != nil {
		return "", err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), adminTimeout)
		defer cancel()
		_, _ = conn.Exec(ctx, "SELECT pg_advisory_unlock($1)", lock)
	}()
	var exists bool
	if err := conn.QueryRow(ctx, "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)", name).Scan(&exists); err != nil || exists {
		return name, err
	}
	unfinished := name + "_unfinished"
	for _, statement := range []string{
		"DROP DATABASE IF EXISTS " + unfinished + " WITH (FORCE)",
		"CREATE DATABASE " + unfinished + " TEMPLATE template0 STRATEGY file_copy",
	} {
		if _, err := conn.Exec(ctx, statement); err != nil {
			return "", err
		}
	}
	if err := c.migrate(ctx, unfinished); err != nil {
		return "", err
	}
	// A template can be copied only while it has no connections. Renaming
	// waits until the sessions above have ended.
	_, err = conn.Exec(ctx, "ALTER DATABASE "+unfinished+" RENAME TO "+name)
	return name, err
}

func (c *cluster) migrate(ctx context.Context, database string) error {
	pool, err := postgres.Open(ctx, c.urlOf(database), postgres.Options{MaxConns: 2, ApplicationName: "showfloor-dbtest"})
	if err != nil {
		return err
	}
	defer pool.Close()
	return postgres.Migrate(ctx, pool, schema.FS, schema.SearchIndexes(), slog.New(slog.DiscardHandler))
}

// schemaHash hashes everything that determines a migrated database.
func schemaHash(files fs.FS) ([sha256.Size]byte, error) {
	queue, err := postgres.QueueVersion()
	if err != nil {
		return [sha256.Size]byte{}, err
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "queue %d\n%v\n", queue, schema.SearchIndexes())
	err = fs.WalkDir(files, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(files, path)
		fmt.Fprintf(hash, "%s %d\n%s", path, len(content), content)
		return err
	})
	return [sha256.Size]byte(hash.Sum(nil)), err
}
