package dbtest_test

import (
	"testing"

	"go.uber.org/goleak"

	"showfloor/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m, func() error { return goleak.Find() }) }

func TestEachTestHasItsOwnMigratedDatabase(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			pool := dbtest.New(t)
			var jobs int
			if err := pool.QueryRow(t.Context(), "SELECT count(*) FROM river_job").Scan(&jobs); err != nil {
				t.Fatal(err)
			}
			if _, err := pool.Exec(t.Context(), "CREATE TABLE only_here (id int)"); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func TestSharedDatabaseIsOne(t *testing.T) {
	if dbtest.Shared(t) != dbtest.Shared(t) {
		t.Fatal("two databases")
	}
}

func TestEmptyDatabaseHasNoTables(t *testing.T) {
	var tables int
	err := dbtest.NewEmpty(t).QueryRow(t.Context(), "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'").Scan(&tables)
	if err != nil || tables != 0 {
		t.Fatal(tables, err)
	}
}

func BenchmarkNew(b *testing.B) {
	for b.Loop() {
		b.Run("", func(b *testing.B) { dbtest.New(b) })
	}
}
