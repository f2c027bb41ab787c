package bench

import (
	"testing"

	"showfloor/internal/testkit/browsertest"
)

func TestMain(m *testing.M) { browsertest.Main(m) }
