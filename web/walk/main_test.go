package walk_test

import (
	"testing"

	"showfloor/internal/testkit/browsertest"
	"showfloor/internal/testkit/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m, browsertest.Close) }
