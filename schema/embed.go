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
	const extension = "pg_trgm"
	return []postgres.Index{
		{
			Name: "tenants_search_idx", Table: "tenants", Extension: extension,
			Definition: "USING gin (name gin_trgm_ops, id gin_trgm_ops)",
		},
		{
			Name: "users_search_idx", Table: "users", Extension: extension,
			Definition: "USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops)",
		},
		{
			Name: "invitations_search_idx", Table: "invitations", Extension: extension,
			Definition: "USING gin (email gin_trgm_ops, name gin_trgm_ops, id gin_trgm_ops)",
		},
	}
}
