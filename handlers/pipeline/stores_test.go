package pipeline

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnits(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		op     stores
		bytes  int64
		status int
		want   int
	}{
		{storesLater, 0, http.StatusCreated, 1},
		{storesLater, 1024, http.StatusCreated, 1},
		{storesLater, 1025, http.StatusCreated, 2},
		{storesCounted, 0, http.StatusOK, 0},
		{storesCounted, 1025, http.StatusOK, 2},
		{storesLater, 0, http.StatusConflict, 0},
		{storesLater, 60_000, http.StatusConflict, 59}, // committed before it was refused
		{storesLater, 0, http.StatusInternalServerError, 0},
		{storesLater, 60_000, http.StatusInternalServerError, 59},
		{storesCounted, 60_000, http.StatusServiceUnavailable, 59},
		{storesLater, 60_000, statusHungUp, 59},
		{storesCounted, 0, statusHungUp, 0},
	} {
		require.Equal(t, c.want, units(c.op, c.bytes, c.status), "%+v", c)
	}
}
