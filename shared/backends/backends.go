// Package backends opens what a configuration works on: Firestore, Cloud Storage and Authentication.
package backends

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
)

// Hooks let tests watch and disturb what is sent. All may be nil.
type Hooks struct {
	Dial      []grpc.DialOption                         // for the Firestore connections
	Transport func(http.RoundTripper) http.RoundTripper // around Storage's
	Accounts  accounts.Around                           // around calls of Authentication
	Pace      documents.Pace                            // of writes to Firestore; calls of Authentication have none then
}

// Writes returns the pace of a run's writes to Firestore: [documents.NewPace] where a test sets none.
func (h Hooks) Writes() documents.Pace {
	if h.Pace == nil {
		return documents.NewPace()
	}
	return h.Pace
}

// ReadOnly returns hooks that also refuse what does not only read, before it is sent.
func (h Hooks) ReadOnly() Hooks {
	reading := h
	reading.Dial = slices.Concat(documents.ReadOnly(), h.Dial)
	reading.Transport = func(base http.RoundTripper) http.RoundTripper {
		if h.Transport != nil {
			base = h.Transport(base)
		}
		return objects.ReadOnly(base)
	}
	reading.Accounts = accounts.ReadOnly(h.Accounts)
	return reading
}

// Opened are open backends. They are safe for concurrent use by any number of runs.
type Opened struct {
	Documents *documents.Client
	Objects   *objects.Client  // nil if Cloud Storage is not used
	Accounts  *accounts.Client // nil if Authentication is not used
}

// Open opens the backends that are used, on the emulators that the configuration names or on Google's services. operator says
// that the credentials may be a person's. A failed attempt leaves nothing behind.
func (h Hooks) Open(ctx context.Context, c config.Config, uses []config.Backend, operator bool) (o *Opened, err error) {
	o = &Opened{}
	defer func() {
		if err != nil {
			_ = o.Close() // the error that matters is the one above
		}
	}()
	database := documents.Database{Project: c.Project, ID: c.Database, EmulatorHost: c.Emulators.Firestore}
	if o.Documents, err = documents.Open(ctx, database, h.Dial...); err != nil {
		return o, err
	}
	if slices.Contains(uses, config.Storage) {
		bucket := objects.Bucket{Name: c.Bucket, EmulatorHost: c.Emulators.Storage}
		if o.Objects, err = objects.Open(ctx, bucket, h.Transport); err != nil {
			return o, err
		}
	}
	if slices.Contains(uses, config.Auth) {
		if o.Accounts, err = accounts.Open(ctx, c.Project, operator, h.Accounts); err == nil && h.Pace != nil {
			o.Accounts.Unpace()
		}
	}
	return o, err
}

// Close closes the connections, which nobody uses any more.
func (o *Opened) Close() (err error) {
	if o.Documents != nil {
		err = o.Documents.Close()
	}
	if o.Objects != nil {
		err = errors.Join(err, o.Objects.Close())
	}
	return err
}
