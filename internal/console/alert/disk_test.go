package alert_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"showfloor/internal/base/diskspace"
	"showfloor/internal/console/alert"
	"showfloor/internal/testkit/apitest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func TestOperatorIsMailedOncePerCrossing(t *testing.T) {
	t.Parallel()
	s := apitest.New(t, apitest.Options{})
	const address = "operator@showfloor.example"
	config := alert.Config{Pool: s.Pool, Mails: s.Mails, Address: address, Node: "node_1", PublicURL: "https://api.example.test"}
	report := func(levels ...diskspace.Level) {
		service := alert.New(config) // each time another process
		for _, level := range levels {
			status := diskspace.Status{Level: level, Space: diskspace.Space{Free: 1536 << 20, Total: 1 << 40}, Dir: "/data", Mark: 2 << 30}
			require.NoError(t, service.ReportDisk(t.Context(), status))
		}
	}
	subjects := func() (list []string) {
		for _, m := range s.MailsTo(t, address) {
			list = append(list, m.Subject)
		}
		return list
	}
	report(diskspace.Enough, diskspace.Enough)
	require.Empty(t, subjects())
	report(diskspace.Low, diskspace.Low)
	report(diskspace.Low, diskspace.VeryLow)
	report(diskspace.VeryLow, diskspace.Enough, diskspace.Enough)
	require.ElementsMatch(t, []string{"Disk space is low", "Disk space is very low", "Disk space is back"}, subjects())
	for _, m := range s.MailsTo(t, address) {
		require.Contains(t, m.Text, "The disk of /data on server https://api.example.test (node_1) has 1.5 GiB free (1610612736 bytes).")
	}

	config.Address = ""
	report(diskspace.Low)
	config.Address = address
	report(diskspace.Low)
	require.Len(t, subjects(), 3, "the crossing was recorded while no mail address was set")
}
