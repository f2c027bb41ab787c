package dbtest

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { Main(m, func() error { return goleak.Find() }) }

func TestEachTestHasItsOwnMigratedDatabase(t *testing.T) {
	for range 3 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			pool := New(t)
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
	first := Shared(t)
	if second := Shared(t); second != first {
		t.Fatal("two databases")
	}
}

func TestEmptyDatabaseHasNoTables(t *testing.T) {
	var tables int
	err := NewEmpty(t).QueryRow(t.Context(), "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'").Scan(&tables)
	if err != nil || tables != 0 {
		t.Fatal(tables, err)
	}
}

func BenchmarkNew(b *testing.B) {
	c := current.get(b)
	template, err := c.migratedTemplate(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		db, err := c.create(b.Context(), template, maxConns)
		if err != nil {
			b.Fatal(err)
		}
		if err := db.remove(); err != nil {
			b.Fatal(err)
		}
	}
}
