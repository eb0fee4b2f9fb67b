package posts_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/firesweep/firesweep/shared/sweep"
)

// TestPostWithTheLongestID has more children than go in one commit, and as many of a post whose id begins alike.
func TestPostWithTheLongestID(t *testing.T) {
	t.Parallel()
	id, other := strings.Repeat("x", 1499)+"a", strings.Repeat("x", 1499)+"b"
	f := newFunction(t, due, id)
	f.Set(t, "posts/"+id, dueData())
	f.Set(t, "posts/"+other, dueData())
	f.SetMany(t, 450, func(i int) (string, map[string]any) {
		return fmt.Sprintf("comments/c%03d", i), map[string]any{"postId": id}
	})
	var rest []string
	for i := range 5 {
		rest = append(rest, fmt.Sprintf("other%d", i))
		f.Set(t, "comments/"+rest[i], map[string]any{"postId": other})
	}
	counts(t, f.Run(t, ""), sweep.Completed, sweep.Counts{Planned: 1, Done: 1})
	want(t, f, map[string][]string{"posts": {other}, "comments": rest})
}
