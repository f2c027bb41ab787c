package setting

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"showfloor/internal/base/problem"
	"showfloor/internal/tenancy/audit"
)

// AdminNetworks is the key of the networks from which admins may call.
const AdminNetworks = "security.adminNetworks"

// maxNetworks is the length of the list.
const maxNetworks = 100

// parsedNetworks are the networks of a value, so that a request doesn't parse it.
type parsedNetworks struct {
	value json.RawMessage
	list  []netip.Prefix
}

// AllowsAdmin reports whether admins may call from an address. A change takes effect within 5 seconds.
func (s *Service) AllowsAdmin(ctx context.Context, ip string) (bool, error) {
	values, err := s.values(ctx)
	if err != nil {
		return false, err
	}
	list, err := s.parsed(values[AdminNetworks])
	if err != nil {
		return false, err
	}
	return contains(list, ip), nil
}

func (s *Service) parsed(value json.RawMessage) ([]netip.Prefix, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.networks.value == nil || !bytes.Equal(s.networks.value, value) {
		list, err := parseNetworks(value)
		if err != nil {
			return nil, err
		}
		s.networks = parsedNetworks{value, list}
	}
	return s.networks.list, nil
}

// contains reports whether a network has the address. An empty list has all addresses.
func contains(networks []netip.Prefix, ip string) bool {
	if len(networks) == 0 {
		return true
	}
	address, err := netip.ParseAddr(ip)
	return err == nil && slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(address.Unmap().WithZone("")) })
}

// parseNetworks reads a list of networks and addresses, sorts it and removes duplicates.
func parseNetworks(value json.RawMessage) ([]netip.Prefix, error) {
	wrong := errors.New(`must be a list of at most 100 networks or addresses, such as ["192.0.2.0/24", "2001:db8::7"]; [] allows all`)
	var texts []string
	if err := json.Unmarshal(value, &texts); err != nil || texts == nil || len(texts) > maxNetworks {
		return nil, wrong
	}
	list := []netip.Prefix{}
	for _, text := range texts {
		network, err := netip.ParsePrefix(text)
		if err != nil {
			address, err := netip.ParseAddr(text)
			if err != nil || address.Zone() != "" {
				return nil, wrong
			}
			network = netip.PrefixFrom(address.Unmap(), address.Unmap().BitLen())
		}
		if network.Addr().Is4In6() {
			return nil, wrong // clients' addresses are compared as IPv4
		}
		list = append(list, network.Masked())
	}
	slices.SortFunc(list, func(a, b netip.Prefix) int {
		if c := a.Addr().Compare(b.Addr()); c != 0 {
			return c
		}
		return a.Bits() - b.Bits()
	})
	return slices.Compact(list), nil
}

func readNetworks(value json.RawMessage) (json.RawMessage, error) {
	list, err := parseNetworks(value)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("encode networks: %w", err)
	}
	return text, nil
}

// guardNetworks refuses a list without the address of the admin who sets it.
func guardNetworks(value json.RawMessage, by audit.Actor) error {
	list, err := parseNetworks(value)
	if err != nil {
		return err
	}
	if by.IP != "" && !contains(list, by.IP) {
		return problem.Conflicting("the list doesn't have your own address %s, so you could not call any more; add it", by.IP)
	}
	return nil
}

// ClearAdminNetworks allows all addresses again, for an operator with a shell on the server.
func (s *Service) ClearAdminNetworks(ctx context.Context, by audit.Actor) error {
	_, err := s.UpdateAdminSetting(ctx, by, Platform, AdminNetworks, Change{Value: json.RawMessage("[]")})
	return err
}
