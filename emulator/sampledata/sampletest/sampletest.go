// Package sampletest puts the sample data into tests' projects.
package sampletest

import (
	"testing"

	"github.com/firesweep/firesweep/emulator/backends/backendstest"
	"github.com/firesweep/firesweep/emulator/sampledata"
	"github.com/firesweep/firesweep/shared/accounts"
)

// Open opens a test's project for the sample.
func Open(t testing.TB, p *backendstest.Project) *sampledata.Project {
	t.Helper()
	client, err := accounts.Open(t.Context(), p.ID, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	return &sampledata.Project{
		Firestore: p.Firestore(t), Bucket: p.Storage(t).Bucket(p.Bucket), Importer: client.Importer(),
	}
}
