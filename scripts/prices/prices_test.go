package prices

import (
	"testing"

	"github.com/firesweep/firesweep/shared/usage"
)

func TestOf(t *testing.T) {
	t.Parallel()
	multi, cheap := Lists[0], Lists[len(Lists)-1]
	for _, tt := range []struct {
		usage usage.Usage
		multi string
		cheap string
		about string
	}{
		{usage.Usage{}, "$0", "$0", "less than a cent"},
		{usage.Usage{FirestoreReads: 100_000}, "$0.06", "$0.03", "about $0.06 (nam5, eur3), $0.03 in a cheap region"},
		{usage.Usage{FirestoreWrites: 100_000}, "$0.18", "$0.09", "about $0.18 (nam5, eur3), $0.09 in a cheap region"},
		{usage.Usage{FirestoreDeletes: 1_000_000}, "$0.20", "$0.10", "about $0.20 (nam5, eur3), $0.10 in a cheap region"},
		{usage.Usage{StorageClassA: 1000, StorageClassB: 10_000}, "$0.01", "$0.0090",
			"about $0.01 (nam5, eur3), $0.0090 in a cheap region"},
		{usage.Usage{StorageDeletes: 1_000_000, AuthCalls: 1_000_000}, "$0", "$0", "less than a cent"},
		{usage.Usage{Tasks: 1_000_000}, "$0.40", "$0.40", "about $0.40 (nam5, eur3), $0.40 in a cheap region"},
		{usage.Usage{FirestoreReads: 1_000_000_000}, "$600", "$300", "about $600 (nam5, eur3), $300 in a cheap region"},
		{usage.Usage{FirestoreReads: 20}, "$0.000012", "$0.0000060", "less than a cent"},
	} {
		if got := Dollars(multi.Of(tt.usage)); got != tt.multi {
			t.Errorf("%+v: %s in a multi-region, want %s", tt.usage, got, tt.multi)
		}
		if got := Dollars(cheap.Of(tt.usage)); got != tt.cheap {
			t.Errorf("%+v: %s in a cheap region, want %s", tt.usage, got, tt.cheap)
		}
		if got := About(tt.usage); got != tt.about {
			t.Errorf("%+v: %q, want %q", tt.usage, got, tt.about)
		}
	}
}

// TestListsAreInOrder: the dearest class comes first, for a command names the first and the last.
func TestListsAreInOrder(t *testing.T) {
	t.Parallel()
	for i, l := range Lists[1:] {
		before := Lists[i]
		for what, cheaper := range map[string]bool{
			"reads": l.Reads < before.Reads, "writes": l.Writes < before.Writes, "deletes": l.Deletes < before.Deletes,
			"class A": l.ClassA <= before.ClassA,
		} {
			if !cheaper {
				t.Errorf("%s of %s are not cheaper than of %s", what, l.Name, before.Name)
			}
		}
	}
}
