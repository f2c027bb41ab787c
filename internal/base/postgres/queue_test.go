package postgres_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGeneratedFieldsAreInTheOrderOfTheStatement checks what Queue and ReadRows rely on, for every query of gen/db: the
// fields of a Params struct are in the order of the placeholders, and those of a row in the order of the columns.
func TestGeneratedFieldsAreInTheOrderOfTheStatement(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "gen", "db", "*.go"))
	require.NoError(t, err)
	var sources []string
	for _, path := range files {
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		sources = append(sources, string(source))
	}
	checked, err := checkOrder(sources...)
	require.NoError(t, err)
	require.Greater(t, checked, 300)
}

// TestAnotherOrderIsNoticed ensures that the check above fails if sqlc changes its order.
func TestAnotherOrderIsNoticed(t *testing.T) {
	t.Parallel()
	const structs = `package db
type MoveParams struct { From string; To string }
type MoveRow struct { ID string; At string }
`
	const method = `func (q *Queries) Move(ctx context.Context, arg MoveParams) (MoveRow, error) {
	row := q.db.QueryRow(ctx, Move, %s)
	var i MoveRow
	err := row.Scan(%s)
	return i, err
}`
	checked, err := checkOrder(structs + fmt.Sprintf(method, "arg.From, arg.To", "&i.ID, &i.At"))
	require.NoError(t, err)
	require.Equal(t, 2, checked)
	_, err = checkOrder(structs + fmt.Sprintf(method, "arg.To, arg.From", "&i.ID, &i.At"))
	require.ErrorContains(t, err, "MoveParams has the fields [From To], Move uses [To From]")
	_, err = checkOrder(structs + fmt.Sprintf(method, "arg.From, arg.To", "&i.At, &i.ID"))
	require.ErrorContains(t, err, "MoveRow has the fields [ID At], Move uses [At ID]")
}

// checkOrder compares the fields of each Params and row struct with the order in which the generated methods pass and
// scan them. Rows with nested structs are left out: ReadRows can't read them.
func checkOrder(sources ...string) (checked int, err error) {
	structs := map[string][]string{}
	var methods []*ast.FuncDecl
	for _, source := range sources {
		f, err := parser.ParseFile(token.NewFileSet(), "", source, 0)
		if err != nil {
			return 0, err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				structs[n.Name.Name] = namesOf(n)
			case *ast.FuncDecl:
				methods = append(methods, n)
			}
			return true
		})
	}
	var faults []error
	for _, method := range methods {
		for _, use := range usesIn(method) {
			checked++
			if !slices.Equal(use.fields, structs[use.of]) {
				faults = append(faults, fmt.Errorf("%s has the fields %v, %s uses %v", use.of, structs[use.of], method.Name.Name, use.fields))
			}
		}
	}
	return checked, errors.Join(faults...)
}

// namesOf lists the fields of a struct.
func namesOf(spec *ast.TypeSpec) (names []string) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return nil
	}
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// use is the order in which a call uses the fields of a struct.
type use struct {
	of     string
	fields []string
}

// usesIn lists the calls of a method that use fields of its arg or of its row.
func usesIn(method *ast.FuncDecl) (uses []use) {
	types := localTypes(method)
	ast.Inspect(method, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		for variable, of := range types {
			if fields := fieldsOf(variable, call.Args); len(fields) > 0 {
				uses = append(uses, use{of, fields})
			}
		}
		return true
	})
	return uses
}

// localTypes returns the types of the method's arg and of its row.
func localTypes(method *ast.FuncDecl) map[string]string {
	types := map[string]string{}
	for _, p := range method.Type.Params.List {
		if name, ok := p.Type.(*ast.Ident); ok && len(p.Names) == 1 && p.Names[0].Name == "arg" {
			types["arg"] = name.Name
		}
	}
	ast.Inspect(method, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && v.Names[0].Name == "i" {
			if name, ok := v.Type.(*ast.Ident); ok {
				types["i"] = name.Name
			}
		}
		return true
	})
	return types
}

// fieldsOf lists the fields of a variable among the arguments of a call: v.A or &v.A.
func fieldsOf(variable string, args []ast.Expr) []string {
	var names []string
	for _, arg := range args {
		if address, ok := arg.(*ast.UnaryExpr); ok {
			arg = address.X
		}
		field, ok := arg.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		if owner, ok := field.X.(*ast.Ident); ok && owner.Name == variable {
			names = append(names, field.Sel.Name)
		} else if owner, ok := field.X.(*ast.SelectorExpr); ok {
			if v, ok := owner.X.(*ast.Ident); ok && v.Name == variable {
				return nil // nested
			}
		}
	}
	return names
}
