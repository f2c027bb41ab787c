package account

import (
	"fmt"
	"net/url"
	"strings"
	"time"

	"showfloor/gen/db"
	"showfloor/internal/tenancy/mail"
	"showfloor/internal/tenancy/secondfactor"
)

// noticeLife is how long a mail that is only a notice may still be sent.
const noticeLife = 24 * time.Hour

// Kinds of mails that are counted to limit them.
const (
	codeKind   = "signup_code"
	takenKind  = "signup_taken"
	inviteKind = "invite"
	resetKind  = "password_reset"
)

// linkLabel is the label of a link to set a new password.
const linkLabel = "Set a new password"

// codeLetter contains the code of a sign-up form.
func codeLetter(form db.SignupForm, code string) mail.Letter {
	return mail.Letter{
		Kind: codeKind, To: form.Email, Subject: "Your sign-up code", Until: form.ExpiresAt,
		Opening: []string{fmt.Sprintf("Hello %s,", form.Name), "enter this code to finish signing up:"},
		Code:    code,
		Closing: []string{
			"It is valid for 15 minutes after you sent the form. We never ask you for it.",
			"If you didn't ask for a code, ignore this mail: without it no account is made.",
		},
	}
}

// takenLetter is for a sign-up with an address that has an account already.
func takenLetter(form db.SignupForm, publicURL string) mail.Letter {
	return mail.Letter{
		Kind: takenKind, To: form.Email, Subject: "You have an account already", Until: form.ExpiresAt,
		Opening: []string{
			"Hello,",
			"this e-mail address was entered in the sign-up form, probably by you. It already has an account, " +
				"so no new account is created, and there is no code.",
			"If you forgot your password, set a new one.",
		},
		Link:    &mail.Link{Label: linkLabel, URL: publicURL + "/reset-password"},
		Closing: []string{"If it wasn't you, you don't have to do anything."},
	}
}

// inviteLetter contains the link of an invitation.
func inviteLetter(invited db.Invitation, inviter string, tenant db.Tenant, link string) mail.Letter {
	return mail.Letter{
		TenantID: tenant.ID, Kind: inviteKind, To: invited.Email, Until: invited.ExpiresAt,
		Subject: fmt.Sprintf("%s invites you to join %s", inviter, tenant.Name),
		Opening: []string{
			fmt.Sprintf("Hello %s,", invited.Name),
			fmt.Sprintf("%s invites you to join the team of “%s” as %s. Choose a password to accept.",
				inviter, tenant.Name, strings.ToLower(invited.Role)),
		},
		Link:    &mail.Link{Label: "Accept the invitation", URL: link},
		Closing: []string{"The link is valid for 7 days and works once. If you don't know the sender, ignore this mail."},
	}
}

// resetLetter contains a link to set a new password.
func resetLetter(user db.User, link string, until time.Time) mail.Letter {
	return mail.Letter{
		TenantID: user.TenantID, Kind: resetKind, To: user.Email, Subject: linkLabel, Until: until,
		Opening: []string{fmt.Sprintf("Hello %s,", user.Name), "a new password was requested for this account, probably by you."},
		Link:    &mail.Link{Label: linkLabel, URL: link},
		Closing: []string{"The link is valid for an hour and works once. If it wasn't you, ignore this mail: your password doesn't change."},
	}
}

// voidedLetter contains a link to set a new password, for a user whose password
// was voided by a platform admin.
func voidedLetter(user db.User, link string, until time.Time) mail.Letter {
	return mail.Letter{
		TenantID: user.TenantID, Kind: "password_voided", To: user.Email, Subject: linkLabel, Until: until,
		Opening: []string{
			fmt.Sprintf("Hello %s,", user.Name),
			"please choose a new password: an administrator has ended your old one. It doesn't work any more, and all its logins have ended.",
		},
		Link: &mail.Link{Label: linkLabel, URL: link},
		Closing: []string{
			"The link is valid for an hour and works once. After that, request another one on the login page (“forgot password”).",
		},
	}
}

// changedLetter informs a user that the password was changed.
func changedLetter(user db.User, at time.Time, publicURL string) mail.Letter {
	return mail.Letter{
		TenantID: user.TenantID, Kind: "password_changed", To: user.Email, Subject: "Your password was changed", Until: at.Add(noticeLife),
		Opening: []string{
			fmt.Sprintf("Hello %s,", user.Name),
			fmt.Sprintf("the password of your account was changed on %s UTC. All logins with the old password have ended.",
				at.UTC().Format("2 January 2006 at 15:04")),
			"If it was you, you don't have to do anything. If it wasn't, set a new one at once.",
		},
		Link: &mail.Link{Label: linkLabel, URL: publicURL + "/reset-password"},
	}
}

// FactorLetter informs a user or an admin that the second factor was enabled or disabled.
func FactorLetter(to, name string, enabled bool, at time.Time, resetURL string) mail.Letter {
	l := mail.Letter{
		Kind: "second_factor", To: to, Subject: "Your second factor was disabled", Until: at.Add(noticeLife),
		Opening: []string{
			fmt.Sprintf("Hello %s,", name),
			fmt.Sprintf("the second factor of your account was disabled on %s UTC. From now on the password alone logs you in.",
				at.UTC().Format("2 January 2006 at 15:04")),
			"If it was you, you don't have to do anything. If it wasn't, set a new password at once.",
		},
	}
	if enabled {
		l.Subject = "Your second factor was enabled"
		l.Opening[1] = fmt.Sprintf("a second factor of your account was enabled on %s UTC. From now on each login needs a code of your app.",
			at.UTC().Format("2 January 2006 at 15:04"))
	}
	if resetURL != "" {
		l.Link = &mail.Link{Label: linkLabel, URL: resetURL}
	}
	return l
}

// LockLetter informs a user or an admin that wrong codes have locked the second factor until a time.
func LockLetter(to, name string, until time.Time, resetURL string) mail.Letter {
	l := mail.Letter{
		Kind: "second_factor_locked", To: to, Subject: "Wrong codes were entered for your account", Until: until.Add(noticeLife),
		Opening: []string{
			fmt.Sprintf("Hello %s,", name),
			fmt.Sprintf("a person who knows your password entered %d wrong codes of your second factor. Until %s UTC no code is accepted, "+
				"not even a right one.", secondfactor.MaxWrong, until.UTC().Format("2 January 2006 at 15:04")),
			"If it was you, wait until then. If it wasn't, set a new password at once: another person knows yours.",
		},
	}
	if resetURL != "" {
		l.Link = &mail.Link{Label: linkLabel, URL: resetURL}
	}
	return l
}

// pageLink is the URL of a page with its token.
func (s *Service) pageLink(page, token string) string {
	return s.publicURL + page + "?token=" + url.QueryEscape(token)
}
