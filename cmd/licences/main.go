// Command licences writes the list of third-party software in the server: the Go modules in the binary and the npm packages
// in its pages, each with its version, its licence and the licence's text.
//
//	licences .cache/packages.json web/dist/assets/licences.txt
//
// The first file lists the folders of the npm packages, as web/build.mjs writes it. Everything else is read from the module
// cache, so the command needs no network. It fails if a part has no licence file, or a licence that it doesn't know.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

const introduction = `Third-party software in Showfloor

The Go modules in the server's binary and the npm packages in its pages, with their licences. The texts follow the list.

`

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "licences:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 2 {
		return errors.New("usage: licences <npm packages> <list>")
	}
	modules, err := goModules(ctx)
	if err != nil {
		return err
	}
	packages, err := npmPackages(args[0])
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := write(&out, append(modules, packages...)); err != nil {
		return err
	}
	return os.WriteFile(args[1], out.Bytes(), 0o644)
}

// part is one piece of third-party software.
type part struct {
	name, version string
	dir           string // holds its licence
}

// write writes the list, then each text once, with the parts that it applies to.
func write(out io.Writer, parts []part) error {
	slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.name, b.name) })
	var list, texts strings.Builder
	names := map[string][]string{}
	var order []string
	for _, p := range parts {
		text, err := licenceText(p.dir)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		kind, err := kindOf(text)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		fmt.Fprintf(&list, "%s %s: %s\n", p.name, p.version, kind)
		if names[text] == nil {
			order = append(order, text)
		}
		names[text] = append(names[text], p.name)
	}
	for _, text := range order {
		fmt.Fprintf(&texts, "\n%s\n%s\n\n%s\n", strings.Repeat("=", 80), strings.Join(names[text], "\n"), text)
	}
	_, err := io.WriteString(out, introduction+list.String()+texts.String())
	return err
}
