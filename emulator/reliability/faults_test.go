package reliability

import "testing"

// tryFault is one point. It returns the differences, and false if the run never came to it.
func tryFault(t *testing.T, s subject, want *expected, p point) (lines []string, tried bool) {
	t.Helper()
	w, steps := newWorld(t, s), At(p.at, p.fault)
	w.run(t, steps)
	if !steps.Struck() {
		t.Log("the run made fewer calls than the undisturbed one: the fault did not happen")
		return nil, false
	}
	if lines = w.notEnded(t, want); len(lines) > 0 {
		steps.tell(t)
	}
	return lines, true
}

// tell logs the last calls.
func (s *Steps) tell(t *testing.T) {
	t.Helper()
	calls := s.Calls()
	t.Logf("what was disturbed made %d calls; the last were:", len(calls))
	for i := max(0, len(calls)-8); i < len(calls); i++ {
		t.Logf("%d %s", i+1, calls[i])
	}
}
