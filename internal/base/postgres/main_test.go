package postgres_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"go.uber.org/goleak"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

// migrateVariable makes the test binary migrate the database which it names.
const migrateVariable = "POSTGRES_TEST_MIGRATE"

func TestMain(m *testing.M) {
	if url := os.Getenv(migrateVariable); url != "" {
		if err := migrateOnce(context.Background(), url); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	dbtest.Main(m, func() error { return goleak.Find() })
}

func migrateOnce(ctx context.Context, url string) error {
	pool, err := postgres.Open(ctx, url, postgres.Options{})
	if err != nil {
		return err
	}
	defer pool.Close()
	return postgres.Migrate(ctx, pool, numbers(), nil, quiet())
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
