package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/gen/api"
	"showfloor/internal/testkit/apitest"
)

// transcodeOf makes a transcode of a new recording, with a status.
func transcodeOf(t *testing.T, s *apitest.Server, owner *apitest.Caller, container, status string) (made api.Transcode) {
	t.Helper()
	rec := recordLines(t, s, owner, 720)
	owner.Call(t, "POST", "/v1/me/recordings/"+rec.ID+"/transcode", map[string]any{"container": container}).Into(t, 201, &made)
	_, err := s.Pool.Exec(t.Context(), "UPDATE media_jobs SET status = $2 WHERE id = $1", made.ID, status)
	require.NoError(t, err)
	return made
}

func TestPackagesOfATranscode(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	owner, other := s.Register(t), s.Register(t)
	owner.SetPlan(t, "ENTERPRISE") // FREE allows two streams on air
	source := transcodeOf(t, s, owner, "MP4", "COMPLETED")
	at := "/v1/me/transcodes/" + source.ID + "/package"
	for _, body := range []map[string]any{
		{"formats": []string{}}, {"formats": []string{"CMAF"}}, {"formats": []string{"HLS", "HLS"}}, {"segmentSec": 1}, {"segmentSec": 11},
	} {
		owner.Call(t, "POST", at, body).Problem(t, 400, "invalid_input")
	}
	var made, again api.Package
	owner.Call(t, "POST", at, nil).Into(t, 201, &made)
	require.Equal(t, []any{source.ID, source.RecordingID, api.MediaJobStatusQUEUED, 6}, []any{made.TranscodeID, made.RecordingID, made.Status, made.SegmentSec})
	require.Equal(t, []api.PackageFormat{api.PackageFormatHLS, api.PackageFormatDASH}, made.Formats)
	require.Empty(t, made.Outputs)
	owner.Call(t, "GET", "/v1/me/packages/"+made.ID, nil).Into(t, 200, &again)
	require.Equal(t, made, again)
	var dash api.Package
	owner.Call(t, "POST", at, map[string]any{"formats": []string{"DASH"}, "segmentSec": 10}).Into(t, 201, &dash)
	require.Equal(t, []any{[]api.PackageFormat{api.PackageFormatDASH}, 10}, []any{dash.Formats, dash.SegmentSec})
	var audited int
	require.NoError(t, s.Pool.QueryRow(t.Context(), "SELECT count(*) FROM audit_entries WHERE action = 'package.create' AND entity_id = $1",
		made.ID).Scan(&audited))
	require.Equal(t, 1, audited)

	cancel := "/v1/me/packages/" + made.ID + "/cancel"
	other.Call(t, "POST", at, nil).Problem(t, 404, "not_found")
	other.Call(t, "GET", "/v1/me/packages/"+made.ID, nil).Problem(t, 404, "not_found")
	other.Call(t, "POST", cancel, nil).Problem(t, 404, "not_found")
	owner.Call(t, "GET", "/v1/me/packages/"+source.ID, nil).Problem(t, 404, "not_found")
	owner.Call(t, "GET", "/v1/me/transcodes/"+made.ID, nil).Problem(t, 404, "not_found")
	var canceled api.Package
	owner.Call(t, "POST", cancel, nil).Into(t, 201, &canceled)
	require.Equal(t, api.MediaJobStatusCANCELED, canceled.Status)
	owner.Call(t, "POST", cancel, nil).Into(t, 201, &again)
	require.Equal(t, canceled, again)

	for _, status := range []string{"QUEUED", "RUNNING", "FAILED", "CANCELED"} {
		unfinished := transcodeOf(t, s, owner, "MP4", status)
		owner.Call(t, "POST", "/v1/me/transcodes/"+unfinished.ID+"/package", nil).Problem(t, 409, "conflict")
	}
	ts := transcodeOf(t, s, owner, "MPEG_TS", "COMPLETED")
	owner.Call(t, "POST", "/v1/me/transcodes/"+ts.ID+"/package", nil).Problem(t, 409, "conflict")
	_, err := s.Pool.Exec(t.Context(), "UPDATE recordings SET status = 'DELETED' WHERE id = $1", source.RecordingID)
	require.NoError(t, err)
	owner.Call(t, "POST", at, nil).Problem(t, 409, "conflict")
}
