package roomgate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"showfloor/internal/base/problem"
	"showfloor/internal/outflow/realtime"
	"showfloor/internal/rooms/chat"
	"showfloor/internal/rooms/session"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/account"
)

// Chats is the part of the chat area that the realtime channel needs.
type Chats interface {
	// CheckChannel returns a problem unless the tenant has a stream, session or
	// channel with this id.
	CheckChannel(ctx context.Context, tenantID, channelID string) error
	// ListBanned lists which of the users are banned from a channel.
	ListBanned(ctx context.Context, tenantID, channelID string, userIDs []string) ([]string, error)
	// PinProduct pins a product in a room, if the user is its host.
	PinProduct(ctx context.Context, in chat.PinInput) error
}

// Realtime decides who may subscribe to what: it is a realtime.Gate.
type Realtime struct {
	accounts *account.Service
	sessions *session.Service
	chats    Chats
}

// NewRealtime makes the gate.
func NewRealtime(accounts *account.Service, sessions *session.Service, chats Chats) *Realtime {
	return &Realtime{accounts: accounts, sessions: sessions, chats: chats}
}

// Authenticate implements realtime.Gate. The token is a participant's, a tenant
// user's or an API key with chat:read or webhooks:read. A participant's current state comes from
// Participants.
func (r *Realtime) Authenticate(ctx context.Context, token, room string) (realtime.Identity, error) {
	if token == "" {
		return realtime.Identity{}, account.ErrBadCredential()
	}
	if !strings.HasPrefix(token, account.KeyPrefix) {
		t, err := r.sessions.AuthenticateParticipant(ctx, token)
		if err == nil {
			return r.participant(ctx, t, room)
		}
		// A token that isn't a participant's may be a tenant user's. An expired
		// participant token is neither.
		if p, refused := problem.As(err); !refused || p.Code != "unauthenticated" {
			return realtime.Identity{}, err
		}
	}
	c, err := r.accounts.Authenticate(ctx, token)
	if err != nil {
		return realtime.Identity{}, err
	}
	who := realtime.Identity{
		TenantID: c.TenantID, Holder: c.Holder(), Rooms: c.May(tenancy.ChatRead), Events: c.May(tenancy.WebhooksRead),
	}
	who.Impersonated = c.Impersonation != nil
	who.ReadOnly = who.Impersonated && c.Impersonation.ReadOnly
	if !who.Rooms && !who.Events {
		return realtime.Identity{}, problem.New(problem.Forbidden, "forbidden",
			"this needs the scope %s (rooms) or %s (all events), which your role or key doesn't have", tenancy.ChatRead, tenancy.WebhooksRead)
	}
	return who, nil
}

// participant is the identity of a ticket's holder, in its room or in a breakout
// room of it.
func (r *Realtime) participant(ctx context.Context, t session.Ticket, room string) (realtime.Identity, error) {
	who := realtime.Identity{TenantID: t.TenantID, Room: t.RoomID, UserID: t.UserID, ExpiresAt: t.ExpiresAt}
	if room == "" || room == t.RoomID {
		return who, nil
	}
	g, err := r.sessions.GrantInRoom(ctx, t, room)
	if err != nil {
		return who, err
	}
	if g.Gone != "" && g.Gone != session.GoneEnded {
		return who, problem.New(problem.Forbidden, "forbidden", "this participant token is for another room")
	}
	who.Room = room
	return who, nil
}

// Admit implements realtime.Gate.
func (r *Realtime) Admit(ctx context.Context, who realtime.Identity, room string) error {
	return r.chats.CheckChannel(ctx, who.TenantID, room)
}

// Participants implements realtime.Gate.
func (r *Realtime) Participants(ctx context.Context, tenantID, room string, userIDs []string) (map[string]realtime.Participant, error) {
	grants, err := r.sessions.ListChatGrants(ctx, tenantID, room, userIDs)
	if err != nil {
		return nil, err
	}
	banned, err := r.chats.ListBanned(ctx, tenantID, room, userIDs)
	if err != nil {
		return nil, fmt.Errorf("list banned users: %w", err)
	}
	found := make(map[string]realtime.Participant, len(grants))
	for _, g := range grants {
		if g.TenantID != tenantID {
			continue // another tenant's room, whose user ids may be the same
		}
		found[g.UserID] = realtime.Participant{State: stateOf(g, banned), DisplayName: g.DisplayName, Role: g.Role}
	}
	return found, nil
}

// stateOf converts a participant's grant to its state in the realtime channel.
func stateOf(g session.Grant, banned []string) realtime.State {
	switch {
	case g.Gone == session.GoneSuspended:
		return realtime.Suspended
	case g.Gone == session.GoneKicked:
		return realtime.Kicked
	case slices.Contains(banned, g.UserID):
		return realtime.Banned
	case g.Gone == session.GoneEnded:
		return realtime.Ended
	case g.Gone != "" && g.Gone != session.GoneMoved:
		return realtime.Unknown
	case g.State == session.Waiting:
		return realtime.Waiting
	default:
		return realtime.Inside
	}
}

// Pin implements realtime.Gate.
func (r *Realtime) Pin(ctx context.Context, who realtime.Identity, productID string) error {
	return r.chats.PinProduct(ctx, chat.PinInput{TenantID: who.TenantID, RoomID: who.Room, UserID: who.UserID, ProductID: productID})
}
