package enginetest

import "testing"

// Warnings returns the warnings logged so far, by what they are about; "" stands for nothing in particular.
func (f *Function) Warnings(t testing.TB) map[string][]map[string]any {
	t.Helper()
	byTarget := map[string][]map[string]any{}
	for _, line := range f.LogLines(t) {
		if target, _ := line["target"].(string); line["severity"] == "WARNING" {
			byTarget[target] = append(byTarget[target], line)
		}
	}
	return byTarget
}
