package access

import (
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	one := func(scheme string, scopes ...string) openapi3.SecurityRequirements {
		return openapi3.SecurityRequirements{{scheme: scopes}}
	}
	both := append(one("tenantToken", "streams:write"), one("participantToken")...)
	// In the order of Parties: nobody, both keys, the roles of tenants, those of admins.
	for _, c := range []struct {
		security openapi3.SecurityRequirements
		want     string
	}{
		{nil, "AAAAAAAAAA"},
		{one("tenantToken"), "UAAAAAAUUU"},
		{one("tenantToken", "streams:read"), "UFAAAAAUUU"},
		{one("tenantToken", "streams:write"), "UFAFAAAUUU"},
		{one("tenantToken", "streams:read", "team:write"), "UFFFFAAUUU"},
		{both, "UFAFAAAUUU"},
		{one("userToken"), "UUUAAAAUUU"},
		{one("adminToken"), "UUUUUUUAAA"},
		{one("adminToken", "admin:read"), "UUUUUUUAAA"},
		{one("adminToken", "admin:billing"), "UUUUUUUAFA"},
		{one("adminToken", "admin:support"), "UUUUUUUFAA"},
		{one("adminToken", "admin:write"), "UUUUUUUFFA"},
		{one("recorderSignature"), "UUUUUUUUUU"},
	} {
		var got strings.Builder
		for _, p := range Parties() {
			got.WriteString(map[Verdict]string{Unauthenticated: "U", Forbidden: "F", Allowed: "A"}[Judge(c.security, p)])
		}
		require.Equal(t, c.want, got.String(), "%v", c.security)
	}
}
