package orphanedmedia

import (
	"testing"
	"time"

	"github.com/firesweep/firesweep/shared/objects"
)

// BenchmarkJudgePostMedia judges one object. A bucket may have millions.
func BenchmarkJudgePostMedia(b *testing.B) {
	now := time.Date(2026, 1, 10, 18, 0, 0, 0, time.UTC)
	o := objects.Object{
		Name: "posts/u/0001.jpg", Created: now.AddDate(0, -1, 0),
		Metadata: map[string]string{"postId": "p0000000000000000001", "uploadedAt": "1700000000000"},
	}
	b.ReportAllocs()
	for b.Loop() {
		if v := judgePostMedia(o, now); v.Kind == "" {
			b.Fatal(v)
		}
	}
}
