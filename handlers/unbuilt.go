package handlers

import (
	"reflect"

	"showfloor/gen/api"
)

// complete is Server with the operations that it doesn't have. Server's methods win, because they are nearer: those of
// unbuilt are one level deeper. So a new operation of the document compiles before it is built.
type complete struct {
	*Server
	unbuilt
}

// unbuilt has every operation. None of them is called: the pipeline answers 501 to operations that Unbuilt lists.
type unbuilt struct{ api.StrictServerInterface }

// Unbuilt lists the operations of the document that Server doesn't have, by their Go names.
func Unbuilt() []string { return missing(reflect.TypeFor[*Server]()) }

// missing lists the operations for which a type has no method.
func missing(server reflect.Type) []string {
	var names []string
	for operation := range reflect.TypeFor[api.StrictServerInterface]().Methods() {
		if _, built := server.MethodByName(operation.Name); !built {
			names = append(names, operation.Name)
		}
	}
	return names
}
