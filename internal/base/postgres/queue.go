package postgres

import (
	"reflect"

	"github.com/jackc/pgx/v5"
)

// Queue adds a generated query to a batch, so that several queries need one round trip.
// sql is the query's text in gen/db. params is its Params struct, whose fields are in the
// order of the placeholders. Queries of a batch run one after the other; each sees the
// rows that were committed when it began.
func Queue(b *pgx.Batch, sql string, params any) *pgx.QueuedQuery {
	v := reflect.ValueOf(params)
	args := make([]any, v.NumField())
	for i := range args {
		args[i] = v.Field(i).Interface()
	}
	return b.Queue(sql, args...)
}

// ReadRows stores the result of a queued query in rows once the batch has run. The
// fields of R are in the order of the columns.
func ReadRows[R any](q *pgx.QueuedQuery, rows *[]R) {
	q.Query(func(r pgx.Rows) (err error) {
		*rows, err = pgx.CollectRows(r, pgx.RowToStructByPos[R])
		return err
	})
}
