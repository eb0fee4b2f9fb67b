package screen

import (
	"testing"

	"github.com/firesweep/firesweep/shared/engine/report"
)

func TestWrites(t *testing.T) {
	t.Parallel()
	for text, p := range map[string]report.Planned{
		"?": {}, "1": {Writes: []string{"delete a/b"}}, "2+": {Writes: []string{"a", "b"},
			More: true}, "0+": {More: true}, "0": {Writes: []string{}},
	} {
		want(t, "writes", text, writesOf(p))
	}
}
