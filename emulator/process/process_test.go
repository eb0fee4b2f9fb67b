package process

import (
	"errors"
	"os/exec"
	"testing"
)

func TestProcessOutputAndEnd(t *testing.T) {
	p, err := Start("sh", "-c", "seq 10000; echo out; echo err >&2; exit 7")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Stop()
	<-p.Done
	if got := p.Output.LastLines(2); got != "out\nerr" {
		t.Errorf("output %q", got)
	}
	if got := len(p.Output.String()); got != tailBytes {
		t.Errorf("%d bytes of more are shown", got)
	}
	var exit *exec.ExitError
	if !errors.As(p.Err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("ended with %v", p.Err)
	}
}
