package handlers_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestEveryActOfModerationIsInTheAuditLog checks that each act is logged with its actor.
// Acts that change nothing, and users' changes of their own raised hands, are not logged.
func TestEveryActOfModerationIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	m := newMeeting(t, map[string]any{"type": "conference", "waitingRoom": true})
	raise := func() {
		m.owner.Call(t, "POST", m.path+"/moderate/hand-raise", map[string]any{"userId": "dan"}).Is(t, 201)
	}
	lower := map[string]any{"userId": "dan"}
	m.owner.Ticket(t, m.session.ID, "eve", nil)
	m.ada.Call(t, "POST", m.participant("eve")+"/admit", nil).Is(t, 201)
	m.ada.Call(t, "POST", m.participant("dan")+"/admit", nil).Is(t, 201)
	m.ada.Call(t, "POST", m.participant("dan")+"/admit", nil).Is(t, 201)
	m.ben.Call(t, "POST", m.path+"/moderate/mute-all", map[string]any{}).Is(t, 201)
	m.owner.Join(t, m.session.ID, "eve", nil)
	for range 2 {
		m.ada.Call(t, "POST", m.path+"/moderate/mute", map[string]any{"userId": "eve"}).Is(t, 201)
	}
	for range 2 {
		m.ben.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": "dan"}).Is(t, 201)
	}
	m.owner.Call(t, "POST", m.path+"/moderate/spotlight", map[string]any{"userId": nil}).Is(t, 201)
	raise()
	m.dan.Call(t, "POST", m.path+"/moderate/hand-lower", lower).Is(t, 201)
	raise()
	for range 2 {
		m.ben.Call(t, "POST", m.path+"/moderate/hand-lower", lower).Is(t, 201)
	}
	raise()
	m.ada.Call(t, "POST", m.path+"/moderate/promote", map[string]any{"userId": "dan", "role": "guest"}).Is(t, 201)
	m.ben.Call(t, "DELETE", m.participant("dan"), nil).Is(t, 200)

	rows, err := m.s.Pool.Query(t.Context(), `
		SELECT action || ' ' || CASE actor_type WHEN 'participant' THEN actor_id ELSE actor_type END || ' ' || entity_id
		FROM audit_entries WHERE tenant_id = $1 AND starts_with(action, 'session.') AND action <> 'session.create' ORDER BY id`,
		m.owner.TenantID)
	require.NoError(t, err)
	defer rows.Close()
	var acts []string
	for rows.Next() {
		var act string
		require.NoError(t, rows.Scan(&act))
		acts = append(acts, act)
	}
	require.NoError(t, rows.Err())
	var want []string
	for _, act := range []string{
		"admit_participant ada", "admit_participant ada", "mute_all ben", "mute_participant ada", "spotlight ben", "spotlight user",
		"lower_hand ben", "lower_hand ada", "kick_participant ben",
	} {
		want = append(want, "session."+act+" "+m.session.ID)
	}
	require.Equal(t, want, acts)
}
