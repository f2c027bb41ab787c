package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// unit is a package as `go list -deps -test` describes it. The tests of a package, and the packages that
// are compiled again for them, are separate units.
type unit struct {
	ImportPath string
	Dir        string
	GoFiles    []string
	Imports    []string
	// ImportMap maps imports to the units that they mean in this unit.
	ImportMap map[string]string
	Module    *struct{ Main bool }
	Error     *struct{ Err string }
}

func (u unit) ours() bool { return u.Module != nil && u.Module.Main }

func (u unit) unitOf(path string) string {
	if mapped, ok := u.ImportMap[path]; ok {
		return mapped
	}
	return path
}

// result is a checked unit. Its key changes with its files and with all that it imports.
type result struct {
	key [sha256.Size]byte
	pkg *types.Package
	err error
}

// checker type-checks the module in a folder, again after each change of its files.
type checker struct {
	folder string
	fset   *token.FileSet
	// exports are the files with the compiled declarations of other modules' packages, by path.
	exports map[string]string
	imports types.Importer
	done    map[[sha256.Size]byte]result
	checked int
}

func newChecker(folder string) *checker {
	c := &checker{folder: folder, fset: token.NewFileSet(), exports: map[string]string{}, done: map[[sha256.Size]byte]result{}}
	c.imports = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		file, ok := c.exports[path]
		if !ok {
			return nil, fmt.Errorf("package %s is unknown", path)
		}
		return os.Open(file)
	})
	return c
}

// check returns the errors of all units.
func (c *checker) check(ctx context.Context) error {
	units, err := c.list(ctx, "-test", "./...")
	if err != nil {
		return err
	}
	if err := c.export(ctx, units); err != nil {
		return err
	}
	results := map[string]result{}
	var failures []error
	for _, u := range units { // a unit comes after those that it imports
		if !u.ours() {
			continue
		}
		r := c.one(u, results)
		results[u.ImportPath] = r
		failures = append(failures, r.err)
	}
	return errors.Join(failures...)
}

// one checks a unit, unless the same one was checked before.
func (c *checker) one(u unit, results map[string]result) result {
	key, files, err := c.read(u, results)
	if err != nil {
		return result{key: key, err: err}
	}
	if r, ok := c.done[key]; ok {
		return r
	}
	c.checked++
	var failures []error
	config := types.Config{
		Importer: importFunc(func(path string) (*types.Package, error) {
			if r, ok := results[u.unitOf(path)]; ok {
				return r.pkg, nil
			}
			return c.imports.Import(path)
		}),
		Error: func(err error) { failures = append(failures, err) },
	}
	pkg, _ := config.Check(u.ImportPath, c.fset, files, nil) // its error is the first of failures
	r := result{key: key, pkg: pkg, err: errors.Join(failures...)}
	c.done[key] = r
	return r
}

// read parses the unit's files and returns the unit's key.
func (c *checker) read(u unit, results map[string]result) (key [sha256.Size]byte, files []*ast.File, err error) {
	hash := sha256.New()
	fmt.Fprintln(hash, u.ImportPath)
	for _, path := range u.Imports {
		if r, ok := results[u.unitOf(path)]; ok {
			hash.Write(r.key[:])
		} else {
			fmt.Fprintln(hash, c.exports[path])
		}
	}
	texts := map[string][]byte{}
	for _, name := range u.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(u.Dir, name)
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return key, nil, fmt.Errorf("read %s: %w", u.ImportPath, err)
		}
		texts[name] = text
		fmt.Fprintln(hash, name, len(text))
		hash.Write(text)
	}
	hash.Sum(key[:0]) // writes into key's own array
	if _, ok := c.done[key]; ok {
		return key, nil, nil
	}
	for name, text := range texts {
		file, err := parser.ParseFile(c.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return key, nil, fmt.Errorf("parse: %w", err)
		}
		files = append(files, file)
	}
	return key, files, nil
}

// export compiles the packages of other modules that units import, if they aren't compiled.
func (c *checker) export(ctx context.Context, units []unit) error {
	var missing []string
	for _, u := range units {
		if !u.ours() && c.exports[u.ImportPath] == "" && u.ImportPath != "unsafe" {
			missing = append(missing, u.ImportPath)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	out, err := c.goList(ctx, append([]string{"-export", "-f", "{{.ImportPath}} {{.Export}}"}, missing...)...)
	if err != nil {
		return err
	}
	for line := range bytes.Lines(out) {
		if path, file, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" ")); ok {
			c.exports[string(path)] = string(file)
		}
	}
	return nil
}

// list returns the units of the patterns with all that they import.
func (c *checker) list(ctx context.Context, args ...string) (units []unit, err error) {
	out, err := c.goList(ctx, append([]string{"-deps", "-json=ImportPath,Dir,GoFiles,Imports,ImportMap,Module,Error"}, args...)...)
	if err != nil {
		return nil, err
	}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var u unit
		if err := d.Decode(&u); errors.Is(err, io.EOF) {
			return units, nil
		} else if err != nil {
			return nil, fmt.Errorf("read go list: %w", err)
		}
		if u.Error != nil {
			return nil, errors.New(u.Error.Err)
		}
		units = append(units, u)
	}
}

func (c *checker) goList(ctx context.Context, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list"}, args...)...)
	cmd.Dir = c.folder
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, stderr.Bytes())
	}
	return out, nil
}

// importFunc is a types.Importer.
type importFunc func(path string) (*types.Package, error)

func (f importFunc) Import(path string) (*types.Package, error) { return f(path) }
