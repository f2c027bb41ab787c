package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/mail"
	"strings"
	"text/tabwriter"
	"time"

	"showfloor/internal/console/platform"
	"showfloor/internal/tenancy/setting"
)

// adminCommands manage the platform's admins.
type adminCommands struct {
	Create        createAdminCommand        `cmd:"" help:"Create an admin."`
	List          listAdminsCommand         `cmd:"" help:"List the admins."`
	ResetPassword resetAdminPasswordCommand `cmd:"" name:"reset-password" help:"Give an admin another password and end the admin's tokens."`
	Remove        removeAdminCommand        `cmd:"" help:"Remove an admin and end the admin's tokens."`
	ResetTotp     resetAdminTotpCommand     `cmd:"" name:"reset-totp" help:"Disable an admin's lost second factor and end the admin's tokens."`
	ClearNetworks clearNetworksCommand      `cmd:"" name:"clear-networks" help:"Allow admins to call from all networks again."`
}

type createAdminCommand struct {
	Email         string `arg:"" help:"The admin's e-mail address."`
	Role          string `required:"" enum:"SUPER_ADMIN,SUPPORT,BILLING" help:"SUPER_ADMIN, SUPPORT or BILLING."`
	PasswordStdin bool   `help:"Read the password from the terminal or the standard input; otherwise a password is generated and shown once."`
}

// Run creates the admin.
func (c createAdminCommand) Run(ctx context.Context, e environment) error {
	if err := checkEmail(c.Email); err != nil {
		return err
	}
	password, err := givenPassword(e, c.PasswordStdin)
	if err != nil {
		return err
	}
	return operate(ctx, e, func(s *server) error {
		admin, used, err := s.openConsole().CreateAdmin(ctx, operator(), c.Email, platform.Role(c.Role), password)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "made the admin %s with the role %s\n", admin.Email, admin.Role)
		showPassword(e.out, password, used)
		return nil
	})
}

type listAdminsCommand struct{}

// Run lists the admins.
func (listAdminsCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		admins, err := s.openConsole().ListAdmins(ctx)
		if err != nil {
			return err
		}
		w := tabwriter.NewWriter(e.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "E-MAIL\tROLE\tMADE\tLAST LOGIN")
		for _, a := range admins {
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", a.Email, a.Role, moment(&a.CreatedAt), moment(a.LastLoginAt))
		}
		return w.Flush()
	})
}

type resetAdminPasswordCommand struct {
	Email         string `arg:"" help:"The admin's e-mail address."`
	PasswordStdin bool   `help:"Read the password from the terminal or the standard input; otherwise a password is generated and shown once."`
}

// Run sets the password.
func (c resetAdminPasswordCommand) Run(ctx context.Context, e environment) error {
	password, err := givenPassword(e, c.PasswordStdin)
	if err != nil {
		return err
	}
	return operate(ctx, e, func(s *server) error {
		used, err := s.openConsole().ResetAdminPassword(ctx, operator(), c.Email, password)
		if err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s has a new password, and has to log in again\n", c.Email)
		showPassword(e.out, password, used)
		return nil
	})
}

type removeAdminCommand struct {
	Email string `arg:"" help:"The admin's e-mail address."`
}

// Run removes the admin.
func (c removeAdminCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		if err := s.openConsole().RemoveAdmin(ctx, operator(), c.Email); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s is no admin any more\n", c.Email)
		return nil
	})
}

type resetAdminTotpCommand struct {
	Email string `arg:"" help:"The admin's e-mail address."`
}

// Run disables the second factor.
func (c resetAdminTotpCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		if err := s.openConsole().ResetAdminTotp(ctx, operator(), c.Email); err != nil {
			return err
		}
		fmt.Fprintf(e.out, "%s logs in with the password alone, and has to log in again\n", c.Email)
		return nil
	})
}

type clearNetworksCommand struct{}

// Run empties the setting security.adminNetworks.
func (clearNetworksCommand) Run(ctx context.Context, e environment) error {
	return operate(ctx, e, func(s *server) error {
		settings := setting.New(setting.Config{Pool: s.pool, Now: s.clock.Now})
		if err := settings.ClearAdminNetworks(ctx, operator()); err != nil {
			return err
		}
		fmt.Fprintln(e.out, "admins may call from all networks; servers notice it within 5 seconds")
		return nil
	})
}

// checkEmail accepts exactly one bare e-mail address.
func checkEmail(text string) error {
	address, err := mail.ParseAddress(text)
	if err != nil || address.Address != text || strings.ContainsAny(text, " \t\r\n\"") {
		return &usageError{fmt.Errorf("%q is not an e-mail address", text)}
	}
	return nil
}

// showPassword prints the password if it was generated.
func showPassword(w io.Writer, given, used string) {
	if given == "" {
		fmt.Fprintf(w, "password %s — shown this once, keep it\n", used)
	}
}

// givenPassword reads the password if the operator wants to give one; otherwise
// it returns "".
func givenPassword(e environment, wanted bool) (string, error) {
	if !wanted {
		return "", nil
	}
	password, err := readPassword(e)
	if err != nil {
		return "", err
	}
	if n := len([]rune(password)); n < minPassword || n > maxPassword {
		return "", &usageError{errors.New("the password must have 10 to 128 characters")}
	}
	return password, nil
}

// Length of an admin's password, in characters.
const (
	minPassword = 10
	maxPassword = 128
)

func moment(at *time.Time) string {
	if at == nil {
		return "never"
	}
	return at.UTC().Format(time.DateTime)
}
