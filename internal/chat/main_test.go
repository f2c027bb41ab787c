package chat_test

import (
	"testing"

	"showfloor/internal/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }
