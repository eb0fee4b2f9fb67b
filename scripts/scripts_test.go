// Package scripts_test runs the scripts of whoever changes dependencies.
package scripts_test

import (
	"os/exec"
	"strings"
	"testing"
)

// command runs a script and returns what it printed and its exit code.
func command(t *testing.T, name string, args ...string) (string, int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), "./"+name, args...)
	output, err := c.CombinedOutput()
	if _, exited := err.(*exec.ExitError); err != nil && !exited { //nolint:errorlint // Run returns it as it is
		t.Fatal(err)
	}
	return string(output), c.ProcessState.ExitCode()
}

func TestPackage(t *testing.T) {
	t.Parallel()
	if output, code := command(t, "package", "x"); code != 2 || !strings.Contains(output, "unexpected argument") {
		t.Errorf("exit code %d, %q; want 2", code, output)
	}
	if output, code := command(t, "package", "--help"); code != 0 || !strings.HasPrefix(output, "Usage: scripts/package") {
		t.Errorf("--help: exit code %d, %q", code, output)
	}
}
