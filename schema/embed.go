// Package schema embeds the numbered migrations, so that the binary carries
// its own database; sqlc reads the same files.
package schema

import "embed"

// FS holds the migrations in its root.
//
//go:embed *.sql
var FS embed.FS
