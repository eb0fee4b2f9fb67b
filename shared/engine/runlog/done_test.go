package runlog

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/firesweep/firesweep/shared/engine/undo"
)

// TestWithout: what stayed is no record, nor is an item of which nothing else was deleted. The others belong to their items as before.
func TestWithout(t *testing.T) {
	item := func(name string) undo.Record { return undo.Record{Item: name} }
	file := func(of int, name string) undo.Record {
		return undo.Record{Of: of, Object: &undo.Object{Name: name, Generation: 7}}
	}
	all := []undo.Record{item("told"), item("a"), file(2, "a1"), file(2, "a2"), item("b"), file(5, "b1"), file(5, "b2"), file(0, "nobody's")}
	but := func(places ...int) []undo.Record {
		some := slices.Clone(all)
		for _, place := range places {
			some[place-1] = undo.Record{}
		}
		return some
	}
	for name, tt := range map[string]struct {
		stayed []int
		want   []undo.Record
	}{
		"nothing":     {nil, all},
		"nowhere":     {[]int{0, -1, 99}, all},
		"one of two":  {[]int{3}, but(3)},
		"both of two": {[]int{3, 4}, but(2, 3, 4)},
		"nobody's":    {[]int{8}, but(8)},
		"all":         {[]int{3, 4, 6, 7, 8}, but(2, 3, 4, 5, 6, 7, 8)},
	} {
		stayed := map[int]bool{}
		for _, place := range tt.stayed {
			stayed[place] = true
		}
		if diff := cmp.Diff(tt.want, without(slices.Clone(all), stayed)); diff != "" {
			t.Errorf("%s stayed (-want +got):\n%s", name, diff)
		}
	}
}
