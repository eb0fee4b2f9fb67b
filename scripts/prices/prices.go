// Package prices turns counted operations into US dollars. It is the one place that knows what Google charges: change a price
// here, with its date.
package prices

import (
	"fmt"
	"math"

	"github.com/firesweep/firesweep/shared/usage"
)

// Date is the day of the prices: those of Google's pages for Firestore, Cloud Storage, Cloud Scheduler, Cloud Run and Cloud
// Monitoring.
const Date = "23 November 2026"

// List is what Google charges in a class of locations, in US dollars, beyond what is free.
type List struct {
	Name  string // of the class
	Where string // locations, as examples

	Reads, Writes, Deletes float64 // of 100,000 documents, in Firestore's Standard edition
	ClassA, ClassB         float64 // of 1,000 operations in Cloud Storage, Standard class
	Document, Object       float64 // of a GiB stored for a month
}

// Lists are the classes, the dearest in most cases first. A region's prices lie between those of the last two.
var Lists = []List{
	{"multi-region", "nam5, eur3", 0.06, 0.18, 0.02, 0.01, 0.0004, 0.18, 0.026},
	{"dear region", "southamerica-east1", 0.045, 0.135, 0.015, 0.005, 0.0004, 0.225, 0.035},
	{"cheap region", "us-central1, europe-west1", 0.03, 0.09, 0.01, 0.005, 0.0004, 0.15, 0.020},
}

// Prices that are the same everywhere, or nearly.
const (
	SchedulerJob   = 0.10     // a month; an account's first three are free
	AlertCondition = 1.50     // a month
	VCPUSecond     = 0.000024 // of Cloud Run, while a request runs; a month's first 180,000 are free
	GiBSecond      = 0.0000025
	Million        = 0.40 // requests of Cloud Run, or tasks of Cloud Tasks; a month's first two million, or one, are free
)

// Of returns what operations cost. Deletions of objects and calls of Authentication are free; what runs compute is not in it.
func (l List) Of(u usage.Usage) float64 {
	const documents, operations = 100_000, 1000
	return (float64(u.FirestoreReads)*l.Reads+float64(u.FirestoreWrites)*l.Writes+float64(u.FirestoreDeletes)*l.Deletes)/documents +
		(float64(u.StorageClassA)*l.ClassA+float64(u.StorageClassB)*l.ClassB)/operations + float64(u.Tasks)*Million/1_000_000
}

// About says what operations cost in the dearest and in the cheapest class.
func About(u usage.Usage) string {
	most, least := Lists[0], Lists[len(Lists)-1]
	if most.Of(u) < 0.005 {
		return "less than a cent"
	}
	return fmt.Sprintf("about %s (%s), %s in a %s", Dollars(most.Of(u)), most.Where, Dollars(least.Of(u)), least.Name)
}

// Dollars writes an amount to the cent, and less than one to two digits.
func Dollars(amount float64) string {
	switch {
	case amount == 0:
		return "$0"
	case amount < 0.0095:
		places := 1 - int(math.Floor(math.Log10(amount)))
		return fmt.Sprintf("$%.*f", places, amount)
	case amount >= 99.5:
		return fmt.Sprintf("$%.0f", amount)
	default:
		return fmt.Sprintf("$%.2f", amount)
	}
}

// Times returns so many times what was used.
func Times(u usage.Usage, n float64) usage.Usage {
	of := func(v int64) int64 { return int64(float64(v)*n + 0.5) }
	return usage.Usage{
		FirestoreReads: of(u.FirestoreReads), FirestoreWrites: of(u.FirestoreWrites), FirestoreDeletes: of(u.FirestoreDeletes),
		StorageClassA: of(u.StorageClassA), StorageClassB: of(u.StorageClassB), StorageDeletes: of(u.StorageDeletes),
		AuthCalls: of(u.AuthCalls), Tasks: of(u.Tasks),
	}
}
