package sweep_test

import (
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
)

func TestMain(m *testing.M) { backendstest.Main(m) }
