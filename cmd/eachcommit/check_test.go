package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestACommitThatDoesNotCompileIsNamed breaks a test in the second of three commits. The third one
// repairs it.
func TestACommitThatDoesNotCompileIsNamed(t *testing.T) {
	t.Chdir(t.TempDir())
	_, err := git(t.Context(), ".", "init", "--quiet")
	require.NoError(t, err)
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	}
	commit := func(title string) {
		_, err := git(t.Context(), ".", "add", "--all")
		require.NoError(t, err)
		_, err = git(t.Context(), ".", "-c", "user.name=t", "-c", "user.email=t@example.test", "commit", "--quiet", "-m", title)
		require.NoError(t, err)
	}
	write("go.mod", "module example.test/shop\n\ngo 1.26\n")
	write("price/price.go", "package price\n\nfunc Of() int { return 1 }\n")
	write("price/price_test.go", "package price\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) { t.Log(Of()) }\n")
	commit("price: begin")
	base, err := git(t.Context(), ".", "rev-parse", "HEAD")
	require.NoError(t, err)
	write("cart/cart.go", "package cart\n\nimport \"example.test/shop/price\"\n\nfunc Sum() int { return price.Of() }\n")
	commit("cart: add")
	write("price/price.go", "package price\n\nfunc Of(n int) int { return n }\n")
	commit("price: take a number")
	write("cart/cart.go", "package cart\n\nimport \"example.test/shop/price\"\n\nfunc Sum() int { return price.Of(1) }\n")
	write("price/price_test.go", "package price\n\nimport \"testing\"\n\nfunc TestOf(t *testing.T) { t.Log(Of(1)) }\n")
	commit("cart: follow price")

	err = run(t.Context(), []string{base})
	require.ErrorContains(t, err, "price: take a number")
	require.ErrorContains(t, err, "cart.go", "a package that imports it")
	require.ErrorContains(t, err, "price_test.go", "its tests")
	require.NotContains(t, err.Error(), "cart: add")
	require.NotContains(t, err.Error(), "cart: follow price")
	require.NoError(t, run(t.Context(), []string{"HEAD"}))
}
