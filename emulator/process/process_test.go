package process

import (
	"errors"
	"os/exec"
	"testing"

	"github.com/firesweep/firesweep/emulator/check"
)

func TestProcessOutputAndEnd(t *testing.T) {
	p, err := Start("sh", "-c", "seq 10000; echo out; echo err >&2; exit 7")
	check.OK(t, err)
	defer p.Stop()
	<-p.Done
	check.Same(t, "last lines", "out\nerr", p.Output.LastLines(2))
	check.Same(t, "bytes of more that are shown", tailBytes, len(p.Output.String()))
	var exit *exec.ExitError
	if !errors.As(p.Err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v", p.Err)
	}
}
