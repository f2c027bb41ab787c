package handlers_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/console/platform"
	"showfloor/internal/testkit/apitest"
)

// notDeletions are DELETE operations below /v1/me that delete no data of the tenant.
func notDeletions() map[string]string {
	return map[string]string{
		"revokeApiKey":           "a key is revoked; its row stays",
		"disableTotp":            "a second factor is no data of the tenant",
		"disableTeamMemberTotp":  "a second factor is no data of the tenant",
		"endSignIn":              "a login ends",
		"endOtherSignIns":        "logins end",
		"archiveProduct":         "a product is archived",
		"kickSessionParticipant": "a seat is revoked",
		"deactivatePushDevice":   "a device is deactivated",
		"detachRestreamTarget":   "a route ends",
		"stopSessionBroadcast":   "a broadcast ends",
	}
}

// TestNothingIsDeletedUnderLegalHold calls every DELETE operation of a tenant on legal hold.
func TestNothingIsDeletedUnderLegalHold(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner := s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	ids := existingIDs(t, s, owner)
	admin := s.Admin(t, platform.SuperAdmin)
	path := "/v1/admin/compliance/" + owner.TenantID
	held := map[string]any{"verification": "VERIFIED", "riskLevel": "LOW", "legalHold": true}
	admin.Call(t, "PUT", path, held).Is(t, 200)

	checked := 0
	for _, op := range operations(t) {
		if op.method != "DELETE" || !strings.HasPrefix(op.path, "/v1/me/") || notDeletions()[op.id] != "" {
			continue
		}
		r := owner.Call(t, "DELETE", op.at(ids[op.id]), nil)
		require.Equal(t, 409, r.Status, "%s: %s", op.id, r.Body)
		r.Problem(t, 409, "legal_hold")
		checked++
	}
	require.GreaterOrEqual(t, checked, 6)
	// An overwrite without a copy counts as a deletion.
	owner.Call(t, "PATCH", "/v1/me/channels/"+strings.Replace(ids["editChannelMessage"], "/", "/messages/", 1), map[string]any{"body": "x"}).
		Problem(t, 409, "legal_hold")
	owner.Call(t, "PUT", "/v1/me/recordings/"+strings.Replace(ids["putRecordingTextTrack"], "/", "/text-tracks/", 1),
		map[string]any{"name": "English", "content": "WEBVTT\n\n00:00.000 --> 00:01.000\nOther\n"}).Problem(t, 409, "legal_hold")
	admin.Call(t, "DELETE", "/v1/admin/recordings/"+ids["deleteRecording"], map[string]any{"reason": "x"}).Problem(t, 409, "legal_hold")
	admin.Call(t, "DELETE", "/v1/admin/users/"+ids["removeTeamMember"], nil).Problem(t, 409, "legal_hold")

	held["legalHold"] = false
	admin.Call(t, "PUT", path, held).Is(t, 200)
	owner.Call(t, "DELETE", "/v1/me/recordings/"+ids["deleteRecording"], nil).Is(t, 200)
}
