package chat

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"showfloor/gen/db"
	"showfloor/internal/base/problem"
	"showfloor/internal/rooms/session"
)

func TestTimeAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 123_456_789, time.UTC)
	ms := now.Truncate(time.Millisecond)
	for name, c := range map[string]struct {
		last *time.Time
		want time.Time
	}{
		"the first one":                      {nil, ms},
		"a while later":                      {new(ms.Add(-time.Hour)), ms},
		"in the next millisecond":            {new(ms.Add(-time.Millisecond)), ms},
		"in the same one":                    {new(ms), ms.Add(time.Millisecond)},
		"when times are ahead":               {new(ms.Add(500 * time.Millisecond)), ms.Add(501 * time.Millisecond)},
		"when they are as far as they may":   {new(ms.Add(time.Second)), ms.Add(time.Second)},
		"when another clock is beyond that":  {new(ms.Add(time.Hour)), ms.Add(time.Hour)},
		"just before they are as far ahead":  {new(ms.Add(998 * time.Millisecond)), ms.Add(999 * time.Millisecond)},
		"when the last is within the second": {new(ms.Add(time.Second - time.Microsecond)), ms.Add(time.Second - time.Microsecond)},
	} {
		got := timeAfter(c.last, now)
		require.Equal(t, c.want, got, name)
		require.False(t, c.last != nil && got.Before(*c.last), name)
	}
}

func TestCheckPace(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	row := func(role, roomRole string, ago time.Duration) userStatus {
		return userStatus{db.ListChannelUserStatusesRow{
			UserID: "ben", Role: role, JoinedAt: &now, RoomRole: roomRole, RoomState: session.Joined, WroteAt: new(now.Add(-ago)),
		}}
	}
	for name, c := range map[string]struct {
		st   userStatus
		left time.Duration
	}{
		"never wrote":         {userStatus{}, 0},
		"just wrote":          {row(session.Guest, "", 0), 10 * time.Second},
		"wrote within":        {row(session.Guest, "", 9999*time.Millisecond), time.Millisecond},
		"wrote before":        {row(session.Guest, "", 10*time.Second), 0},
		"viewer":              {row(session.Viewer, session.Viewer, time.Second), 9 * time.Second},
		"host":                {row(session.Host, "", 0), 0},
		"cohost":              {row(session.Cohost, "", 0), 0},
		"host of the room":    {row("", session.Host, 0), 0},
		"cohost of the room":  {row("", session.Cohost, 0), 0},
		"cohost by the chat":  {row(session.Cohost, session.Viewer, 0), 0},
		"cohost by the room":  {row(session.Viewer, session.Cohost, 0), 0},
		"guest in both of it": {row(session.Guest, session.Guest, 0), 10 * time.Second},
	} {
		err := checkPace(channel{LockChannelRow: db.LockChannelRow{SlowmodeSec: 10, Now: now}}, c.st)
		if c.left == 0 {
			require.NoError(t, err, name)
			continue
		}
		p, ok := problem.As(err)
		require.True(t, ok, name)
		require.Equal(t, problem.RateLimited, p.Kind, name)
		require.Equal(t, c.left, p.RetryAfter, name)
		require.NoError(t, checkPace(channel{LockChannelRow: db.LockChannelRow{Now: now}}, c.st), "without a slow mode")
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for _, c := range []struct {
		row  db.ListChannelUserStatusesRow
		want string
	}{
		{db.ListChannelUserStatusesRow{}, ""},
		{db.ListChannelUserStatusesRow{Role: session.Viewer}, ""}, // restricted, but not a member
		{db.ListChannelUserStatusesRow{Role: session.Host, JoinedAt: &now}, session.Host},
		{db.ListChannelUserStatusesRow{Role: session.Host, JoinedAt: &now, LeftAt: &now}, ""},
		{db.ListChannelUserStatusesRow{Role: session.Host, JoinedAt: &now, Banned: true}, ""},
		{db.ListChannelUserStatusesRow{RoomRole: session.Cohost, RoomState: session.Invited}, session.Cohost},
		{db.ListChannelUserStatusesRow{RoomRole: session.Cohost, RoomState: session.Kicked}, ""},
		{db.ListChannelUserStatusesRow{RoomRole: session.Cohost, RoomState: session.Waiting}, ""},
		{db.ListChannelUserStatusesRow{Role: session.Guest, JoinedAt: &now, RoomRole: session.Cohost, RoomState: session.Joined}, session.Cohost},
		{db.ListChannelUserStatusesRow{Role: session.Host, JoinedAt: &now, RoomRole: session.Viewer, RoomState: session.Joined}, session.Host},
		{db.ListChannelUserStatusesRow{UserID: "zoe"}, session.Host}, // the session's host
		{db.ListChannelUserStatusesRow{UserID: "zoe", RoomRole: session.Guest, RoomState: session.Kicked}, ""},
	} {
		require.Equal(t, c.want, userStatus{c.row}.role("zoe"), "%+v", c.row)
	}
}
