package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/handlers"
	showfloor "showfloor/sdk/go"
)

// typescript is the compiled TypeScript client: SHOWFLOOR_SDK, or compiled here.
var typescript = sync.OnceValues(func() (folder string, err error) {
	if folder := os.Getenv("SHOWFLOOR_SDK"); folder != "" {
		return folder, nil
	}
	cmd := exec.Command("make", "sdk")
	cmd.Dir = ".."
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", &exec.Error{Name: "make sdk: " + string(out), Err: err}
	}
	return filepath.Abs("../sdk/typescript/dist")
})

// TestClients makes the same calls with the client of each language.
func TestClients(t *testing.T) {
	t.Parallel()
	s := serve(t, onTestDatabase)
	later := unbuiltList(t)
	t.Run("Go", func(t *testing.T) {
		t.Parallel()
		useGoClient(t, s.url, later)
	})
	t.Run("TypeScript", func(t *testing.T) {
		t.Parallel()
		folder, err := typescript()
		require.NoError(t, err)
		args := []string{filepath.Join(folder, "test", "smoke.js"), s.url}
		if later.path != "" {
			args = append(args, later.path)
		}
		out, err := exec.Command("node", args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "all is well")
		for _, name := range []string{"webhooks.js", "shop.js"} {
			out, err = exec.Command("node", filepath.Join(folder, "test", name)).CombinedOutput()
			require.NoError(t, err, "%s", out)
			require.Contains(t, string(out), "all is well")
		}
	})
}

func useGoClient(t *testing.T, url string, later unbuilt) {
	t.Helper()
	anyone, err := showfloor.New(url, "")
	require.NoError(t, err)
	login, err := anyone.RegisterWithResponse(t.Context(), api.RegisterJSONRequestBody{
		TenantName: "Acme Live", Name: "Ada", Email: "ada-go@acme.example", Password: "correct horse battery",
	})
	require.NoError(t, err)
	require.NoError(t, showfloor.AsError(login.ApplicationProblemJSONDefault))

	c, err := showfloor.New(url, login.JSON201.Token)
	require.NoError(t, err)
	made, err := c.CreateStreamWithResponse(t.Context(), api.StreamInput{Name: "Launch"})
	require.NoError(t, err)
	require.Equal(t, api.StreamModeLOWLATENCY, made.JSON201.Mode)
	stream, err := showfloor.Unwrap(made.JSON201, made.ApplicationProblemJSONDefault)
	require.NoError(t, err)
	require.Equal(t, "Launch", stream.Name)
	list, err := c.ListStreamsWithResponse(t.Context(), &api.ListStreamsParams{Limit: new(10)})
	require.NoError(t, err)
	require.Len(t, *list.JSON200, 1)
	require.Equal(t, made.JSON201.ID, (*list.JSON200)[0].ID)

	missing, err := c.GetStreamWithResponse(t.Context(), "str_none")
	require.NoError(t, err)
	var problem *showfloor.Error
	require.ErrorAs(t, showfloor.AsError(missing.ApplicationProblemJSONDefault), &problem)
	require.Equal(t, 404, problem.Status)
	require.Equal(t, "not_found", problem.Code)
	require.Equal(t, "not_found: stream not found", problem.Error())
	_, err = showfloor.Unwrap(missing.JSON200, missing.ApplicationProblemJSONDefault)
	require.ErrorAs(t, err, &problem)
	_, err = showfloor.Unwrap[api.Stream](nil, nil)
	require.ErrorIs(t, err, showfloor.ErrNoProblem)

	if later.name != "" {
		require.Equal(t, "not_implemented", later.call(t, c).Code)
	}
}

// unbuilt is an operation that is only in the document.
type unbuilt struct {
	path string
	name string // in the Go client; empty if all operations are built
}

// unbuiltList returns an unbuilt operation that a tenant's token may call: a GET
// without required parameters.
func unbuiltList(t *testing.T) unbuilt {
	t.Helper()
	doc, err := contract()
	require.NoError(t, err)
	names := handlers.Unbuilt()
	for path, item := range doc.spec.Paths.Map() {
		if item.Get == nil || strings.Contains(path, "{") || !strings.HasPrefix(path, "/v1/me/") {
			continue
		}
		needs := slices.ContainsFunc(item.Get.Parameters, func(p *openapi3.ParameterRef) bool { return p.Value.Required })
		i := slices.IndexFunc(names, func(name string) bool { return strings.EqualFold(name, item.Get.OperationID) })
		if i >= 0 && !needs {
			return unbuilt{path: path, name: names[i]}
		}
	}
	return unbuilt{}
}

// call calls it with the Go client and returns the problem. The method is looked
// up by name, because the set of unbuilt operations changes.
func (u unbuilt) call(t *testing.T, c *showfloor.Client) *api.Problem {
	t.Helper()
	method := reflect.ValueOf(c).MethodByName(u.name + "WithResponse")
	args := []reflect.Value{reflect.ValueOf(t.Context())}
	for i := 1; i < method.Type().NumIn()-1; i++ {
		args = append(args, reflect.Zero(method.Type().In(i)))
	}
	out := method.Call(args)
	require.True(t, out[1].IsNil())
	problem, isProblem := reflect.TypeAssert[*api.Problem](out[0].Elem().FieldByName("ApplicationProblemJSONDefault"))
	require.True(t, isProblem)
	require.NotNil(t, problem)
	require.Equal(t, 501, problem.Status)
	return problem
}

// outside is a program in another module, like a customer's: it can't import
// packages in a folder called internal.
const outside = `package main

import (
	"time"

	"showfloor/gen/api"
	showfloor "showfloor/sdk/go"
)

func main() {
	if _, err := showfloor.New("http://localhost", ""); err != nil {
		panic(err)
	}
	at := showfloor.At(time.Now())
	_ = api.APIKeyInput{Name: "Backend", ExpiresAt: &at}
}
`

func TestTheGoClientWorksInOtherModules(t *testing.T) {
	t.Parallel()
	repository, err := filepath.Abs("..")
	require.NoError(t, err)
	sums, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	folder := t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module outside\n\ngo 1.26.0\n\nrequire showfloor v0.0.0\n\nreplace showfloor => " + repository + "\n",
		"go.sum":  string(sums),
		"main.go": outside,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}
