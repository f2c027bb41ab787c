package session

import (
	"context"
	"errors"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"showfloor/internal/base/id"
	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy"
	"showfloor/internal/tenancy/signing"
)

const (
	// TokenType distinguishes participants' tokens from other tokens signed with the
	// same keys.
	TokenType = "participant"
	// TokenLife is how long a token is valid.
	TokenLife = 6 * time.Hour
)

// claims of a participant's token. Only the identity in them is trusted; role and
// permissions come from the participant's row.
type claims struct {
	TenantID string `json:"tid"`
	RoomID   string `json:"room"`
	Type     string `json:"typ"`
	// Name, Role and Perms are from the time of issue. Pages show them before the user
	// enters. The server never reads them.
	Name  string `json:"name"`
	Role  string `json:"role"`
	Perms Perms  `json:"perms"`
	jwt.RegisteredClaims
}

// Token admits its holder to a room.
type Token struct {
	Token string
	// SFUURL is the WebSocket address of the node that has the room.
	SFUURL    string
	RoomID    string
	Role      string
	Perms     Perms
	ExpiresAt time.Time
}

// issueToken makes a token for the user of a grant.
func (s *Service) issueToken(ctx context.Context, sfuURL string, g Grant) (Token, error) {
	now := s.config.Now()
	t := Token{SFUURL: sfuURL, RoomID: g.RoomID, Role: g.Role, Perms: g.Perms, ExpiresAt: now.Add(TokenLife)}
	var err error
	t.Token, err = s.config.Keys.Sign(ctx, claims{
		TenantID: g.TenantID, RoomID: g.RoomID, Type: TokenType, Name: g.DisplayName, Role: g.Role, Perms: g.Perms,
		RegisteredClaims: jwt.RegisteredClaims{
			Subject: g.UserID, ID: id.New(id.Token),
			IssuedAt: jwt.NewNumericDate(now), ExpiresAt: jwt.NewNumericDate(t.ExpiresAt),
		},
	})
	return t, err
}

// IssueReplayToken makes a token for a new, unnamed user and a recording that everybody may watch. There is no participant, so the
// token opens no room. It is valid until expires, and as long as everybody may watch the recording.
func (s *Service) IssueReplayToken(ctx context.Context, tenantID, recordingID string) (token, userID string, expires time.Time, err error) {
	userID = id.New(id.Guest)
	t, err := s.issueToken(ctx, "", Grant{TenantID: tenantID, RoomID: recordingID, UserID: userID, DisplayName: userID, Role: Viewer})
	return t.Token, userID, t.ExpiresAt, err
}

// AuthenticateParticipant verifies and reads a participant's token. It reads no
// database row, so the user of a valid token may have been kicked. Problems:
// unauthenticated, token_expired.
func (s *Service) AuthenticateParticipant(ctx context.Context, token string) (Ticket, error) {
	var c claims
	err := s.config.Keys.Parse(ctx, token, &c)
	switch {
	case problem.Is(err, "token_expired"):
		return Ticket{}, problem.New(problem.Unauthenticated, "token_expired", "the participant token has expired; request another one")
	case errors.Is(err, signing.ErrInvalid), err == nil && (c.Type != TokenType || c.TenantID == "" || c.RoomID == "" || c.Subject == ""):
		return Ticket{}, problem.New(problem.Unauthenticated, "unauthenticated", "this is not a participant token of this server")
	case err != nil:
		return Ticket{}, err
	}
	return Ticket{TenantID: c.TenantID, RoomID: c.RoomID, UserID: c.Subject, ExpiresAt: c.ExpiresAt.Time}, nil
}

// AuthenticateCaller returns the caller that a participant token stands for. It
// refuses a kicked user and a suspended tenant; the use case checks everything
// else about the session and the participant. A token of IssueReplayToken is
// refused while not everybody may watch its recording. Problems: unauthenticated,
// token_expired, tenant_suspended.
func (s *Service) AuthenticateCaller(ctx context.Context, token string) (tenancy.Caller, error) {
	t, err := s.AuthenticateParticipant(ctx, token)
	if err != nil {
		return tenancy.Caller{}, err
	}
	c := tenancy.Caller{TenantID: t.TenantID, Participant: &tenancy.Participant{RoomID: t.RoomID, UserID: t.UserID}}
	if id.Recording.Matches(t.RoomID) && s.config.Replays != nil {
		err := s.config.Replays.CheckPublicReplay(ctx, t.TenantID, t.RoomID)
		switch {
		case problem.Is(err, "not_found"):
			return tenancy.Caller{}, errRevoked()
		case err != nil:
			return tenancy.Caller{}, err
		}
		return c, nil
	}
	g, err := s.GetGrant(ctx, t.TenantID, t.RoomID, t.UserID)
	if err != nil {
		return tenancy.Caller{}, err
	}
	switch g.Gone {
	case GoneSuspended:
		return tenancy.Caller{}, tenancy.CheckTenant(tenancy.Suspended)
	case GoneKicked, GoneUnknown:
		return tenancy.Caller{}, errRevoked()
	}
	return c, nil
}

// errRevoked refuses a token whose user may no longer enter.
func errRevoked() error {
	return problem.New(problem.Unauthenticated, "unauthenticated", "this participant token was revoked")
}
