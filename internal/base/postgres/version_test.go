package postgres_test

import (
	"log/slog"
	"strings"
	"testing"
	"testing/fstest"

	"showfloor/internal/base/postgres"
	"showfloor/internal/testkit/dbtest"
)

func TestCheckVersionOnlyLooks(t *testing.T) {
	t.Parallel()
	pool := dbtest.NewEmpty(t)
	wants := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Fatalf("%v, want %s", err, what)
		}
	}
	wants("is empty", postgres.CheckVersion(t.Context(), pool, numbers()))
	wants("is empty", postgres.CheckVersion(t.Context(), pool, numbers())) // it has created nothing
	if err := postgres.Migrate(t.Context(), pool, numbers(), nil, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	if err := postgres.CheckVersion(t.Context(), pool, numbers()); err != nil {
		t.Fatal(err)
	}
	newer := fstest.MapFS{"0001_table.sql": {}, "0002_row.sql": {}, "0003_index.sql": {}, "0004_more.sql": {}}
	wants("at version 3, but this program is made for 4", postgres.CheckVersion(t.Context(), pool, newer))
	older := fstest.MapFS{"0001_table.sql": {}}
	wants("at version 3, but this program is made for 1", postgres.CheckVersion(t.Context(), pool, older))
	wants("no files", postgres.CheckVersion(t.Context(), pool, fstest.MapFS{}))
}
