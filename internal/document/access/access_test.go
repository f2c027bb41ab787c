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
	// In the order of Parties: no credential, both keys, tenants' roles, admins' roles, participants.
	for _, c := range []struct {
		security openapi3.SecurityRequirements
		want     string
	}{
		{nil, "AAAAAAAAAAA"},
		{one("tenantToken"), "UAAAAAAUUUU"},
		{one("tenantToken", "streams:read"), "UFAAAAAUUUU"},
		{one("tenantToken", "streams:write"), "UFAFAAAUUUU"},
		{one("tenantToken", "streams:read", "team:write"), "UFFFFAAUUUU"},
		{both, "UFAFAAAUUUA"},
		{one("userToken"), "UUUAAAAUUUU"},
		{one("adminToken"), "UUUUUUUAAAU"},
		{one("adminToken", "admin:read"), "UUUUUUUAAAU"},
		{one("adminToken", "admin:billing"), "UUUUUUUAFAU"},
		{one("adminToken", "admin:support"), "UUUUUUUFAAU"},
		{one("adminToken", "admin:write"), "UUUUUUUFFAU"},
		{one("participantToken"), "UUUUUUUUUUA"},
		{one("recorderSignature"), "UUUUUUUUUUU"},
	} {
		var got strings.Builder
		for _, p := range Parties() {
			got.WriteString(map[Decision]string{Unauthenticated: "U", Forbidden: "F", Allowed: "A"}[Decide(c.security, p)])
		}
		require.Equal(t, c.want, got.String(), "%v", c.security)
	}
}
