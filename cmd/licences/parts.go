package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// goModules lists the modules of which the server's binary contains packages, and Go itself.
func goModules(ctx context.Context) ([]part, error) {
	const format = "{{with .Module}}{{if not .Main}}{{.Path}}\t{{.Version}}\t{{.Dir}}{{end}}{{end}}"
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-f", format, "./cmd/showfloor")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("list the server's modules: %w", err)
	}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	parts := []part{{name: "Go", version: runtime.Version(), dir: strings.TrimSpace(string(root))}}
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 {
			continue // a package of the standard library or of this module
		}
		if p := (part{name: fields[0], version: fields[1], dir: fields[2]}); !slices.Contains(parts, p) {
			parts = append(parts, p)
		}
	}
	return parts, nil
}

// npmPackages reads the packages in a list of their folders.
func npmPackages(list string) ([]part, error) {
	text, err := os.ReadFile(list)
	if err != nil {
		return nil, fmt.Errorf("read the list of npm packages: %w", err)
	}
	var dirs []string
	if err := json.Unmarshal(text, &dirs); err != nil {
		return nil, fmt.Errorf("read the list of npm packages: %w", err)
	}
	if len(dirs) == 0 {
		return nil, errors.New("the list of npm packages is empty")
	}
	var parts []part
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, "package.json"))
		if err != nil {
			return nil, fmt.Errorf("read a package: %w", err)
		}
		var p struct{ Name, Version string }
		if err := json.Unmarshal(text, &p); err != nil {
			return nil, fmt.Errorf("read %s: %w", dir, err)
		}
		if other, ok := licensedWith[p.Name]; ok {
			dir = filepath.Join(filepath.Dir(dir), other)
		}
		parts = append(parts, part{name: "npm " + p.Name, version: p.Version, dir: dir})
	}
	return parts, nil
}

// licensedWith names, for a package that states its licence without the text, a package of the same author and licence that has it.
//
//nolint:gochecknoglobals // a constant
var licensedWith = map[string]string{"react-remove-scroll-bar": "react-remove-scroll"}

// licenceText returns the text of the licence in a folder, followed by its notices and by the licences of the software in
// its bundle.
func licenceText(dir string) (string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", fmt.Errorf("look for the licence: %w", err)
	}
	var licences, notices []string
	for _, entry := range entries {
		name := strings.ToUpper(entry.Name())
		begins := func(begin string) bool { return strings.HasPrefix(name, begin) }
		isLicence := slices.ContainsFunc([]string{"LICENSE", "LICENCE", "COPYING"}, begins)
		isNotice := strings.HasPrefix(name, "NOTICE") || name == "SWAGGER-UI-BUNDLE.JS.LICENSE.TXT"
		if entry.IsDir() || !isLicence && !isNotice {
			continue
		}
		text, err := os.ReadFile(filepath.Join(dir, entry.Name()))
		if err != nil {
			return "", fmt.Errorf("read the licence: %w", err)
		}
		if clean := strings.TrimSpace(strings.ReplaceAll(string(text), "\r\n", "\n")); isLicence {
			licences = append(licences, clean)
		} else {
			notices = append(notices, clean)
		}
	}
	if len(licences) == 0 {
		return "", errors.New("has no licence file")
	}
	return strings.Join(append(licences, notices...), "\n\n"), nil
}
