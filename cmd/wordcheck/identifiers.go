package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
)

// checkIdentifiers returns the banned words in the names that a Go file declares, except test names, which check
// covers. Uses of a name are not reported: it may come from a library.
func checkIdentifiers(name string, data []byte, kept []exception) []finding {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, data, parser.SkipObjectResolution)
	if err != nil {
		return nil // the compiler reports it
	}
	lines := strings.Split(string(data), "\n")
	banned := identifierRule()
	var found []finding
	for _, id := range declared(file) {
		line := files.Position(id.Pos()).Line
		if phrase := banned.find.FindString(lowerWords(id.Name)); phrase != "" && !isTest(id.Name) && !excepted(kept, name, lines[line-1]) {
			found = append(found, finding{line, id.Name, banned.advice})
		}
	}
	return found
}

// declared returns the names that a file declares: types, functions, fields, parameters, constants and variables.
func declared(file *ast.File) (list []*ast.Ident) {
	add := func(names ...ast.Expr) {
		for _, n := range names {
			if id, ok := n.(*ast.Ident); ok {
				list = append(list, id)
			}
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			list = append(list, n.Name)
		case *ast.TypeSpec:
			list = append(list, n.Name)
		case *ast.ValueSpec:
			list = append(list, n.Names...)
		case *ast.Field:
			list = append(list, n.Names...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				add(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				add(n.Key, n.Value)
			}
		}
		return true
	})
	return list
}

// lowerWords separates the words of an identifier: tellOwners becomes "tell owners".
func lowerWords(name string) string {
	return strings.ToLower(regexp.MustCompile(`([a-z0-9])([A-Z])`).ReplaceAllString(name, "$1 $2"))
}
