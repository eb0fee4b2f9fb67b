package main

import "testing"

// TestDefaultBucket: where nothing says which bucket, it is the project's own of the two that may be there, and never a guess.
func TestDefaultBucket(t *testing.T) {
	t.Parallel()
	const today, before = ".firebasestorage.app", ".appspot.com"
	for name, tt := range map[string]struct {
		filled []string
		says   string
		code   int
	}{
		"none holds anything":      {nil, today + " (STORAGE_BUCKET is not set)", exitFine},
		"today's":                  {[]string{today}, today + " (STORAGE", exitFine},
		"that of an older project": {[]string{before}, before + " (STORAGE", exitFine},
		"both":                     {[]string{today, before}, "set STORAGE_BUCKET to one of them", exitWrongUse},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOperator(t, "STORAGE_BUCKET=")
			for _, suffix := range tt.filled {
				o.Bucket = o.ID + suffix
				o.Put(t, "posts/a.jpg", nil, nil)
			}
			out, says := o.ends(t, tt.code, "plan", "cleanupOrphanedMedia")
			wantParts(t, says, tt.says)
			if tt.code == exitFine && len(tt.filled) > 0 {
				wantParts(t, out, "1 scanned")
			}
			out, says = o.ends(t, exitFine, "init", "--yes", "--rules", t.TempDir()+"/firesweep.json")
			wantParts(t, oneLine(says+out), tt.says)
			if len(tt.filled) == 1 {
				wantParts(t, out, "Looked at a part of: posts/. ")
			}
		})
	}
	// What does not use the bucket does not look for it.
	newOperator(t, "STORAGE_BUCKET=").well(t, "plan", "cleanupReports")
}
