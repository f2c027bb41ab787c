package seed

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed tables.sql
var tablesSQL string

// table is a table with the statement that writes its rows; tables.sql explains both.
type table struct {
	name, prefix, rows, sql string
}

var tableHeader = regexp.MustCompile(`(?m)^-- table: (.+); prefix: (\w+|-); rows: (\w+)$`)

// readTables returns the tables of tables.sql.
func readTables() (list []table) {
	headers := tableHeader.FindAllStringSubmatchIndex(tablesSQL, -1)
	for i, at := range headers {
		end := len(tablesSQL)
		if i+1 < len(headers) {
			end = headers[i+1][0]
		}
		text := func(group int) string { return tablesSQL[at[2*group]:at[2*group+1]] }
		list = append(list, table{text(1), strings.Trim(text(2), "-"), text(3), strings.TrimSpace(tablesSQL[at[1]:end])})
	}
	return list
}

// skipsRows reports whether the statement itself skips rows that exist: PostgreSQL refuses ON CONFLICT for tables with rules.
func (t table) skipsRows() bool { return strings.Contains(t.sql, "NOT EXISTS") }

// of returns the number of rows of a table.
func (c Counts) of(t table) int {
	return map[string]int{
		"tenants": c.Tenants, "twoPerTenant": 2 * c.Tenants, "rows": c.Rows,
		"streams": c.Streams, "deliveries": c.Deliveries, "auditEntries": c.AuditEntries,
	}[t.rows]
}
