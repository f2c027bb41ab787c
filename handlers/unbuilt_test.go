package handlers

import (
	"context"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
)

// oneOperation has a single operation.
type oneOperation struct{}

func (oneOperation) GetHealth(context.Context, api.GetHealthRequestObject) (api.GetHealthResponseObject, error) {
	return api.GetHealth200JSONResponse{}, nil
}

func TestOperationsWithoutAMethodAreUnbuilt(t *testing.T) {
	t.Parallel()
	all := reflect.TypeFor[api.StrictServerInterface]().NumMethod()
	names := missing(reflect.TypeFor[oneOperation]())
	require.Len(t, names, all-1)
	require.NotContains(t, names, "GetHealth")
	require.Contains(t, names, "GetReadiness")
	require.Len(t, missing(reflect.TypeFor[struct{}]()), all)
}

// TestServersOwnMethodsWin ensures that operations that Server has are not answered by unbuilt.
func TestServersOwnMethodsWin(t *testing.T) {
	t.Parallel()
	answer, err := complete{&Server{}, unbuilt{}}.GetHealth(t.Context(), api.GetHealthRequestObject{})
	require.NoError(t, err)
	require.Equal(t, api.GetHealth200JSONResponse{Status: api.CheckStatusOk}, answer)
}
