// Package schema embeds the numbered migrations, so that the binary carries
// its own database; sqlc reads the same files.
package schema

import (
	"embed"

	"showfloor/internal/base/postgres"
)

// FS holds the migrations in its root.
//
//go:embed *.sql
var FS embed.FS

// SearchIndexes returns the indexes of the admins' searches for a part of a text. They aren't part of a migration, because
// they need the extension pg_trgm, which not every database has.
func SearchIndexes() []postgres.Index {
	indexes := []postgres.Index{
		{Name: "tenants_search_idx", Table: "tenants", Columns: []string{"name", "id"}},
		{Name: "users_search_idx", Table: "users", Columns: []string{"email", "name", "id"}},
		{Name: "streams_search_idx", Table: "streams", Columns: []string{"name", "id"}},
		{Name: "invitations_search_idx", Table: "invitations", Columns: []string{"email", "name", "id"}},
	}
	for i := range indexes {
		indexes[i].Extension, indexes[i].OperatorClass = "pg_trgm", "gin_trgm_ops"
	}
	return indexes
}
