package restore

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/accounts"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/documents/pace"
	"github.com/firesweep/firesweep/shared/objects"
)

// Hooks let tests watch and disturb what is sent. All may be nil.
type Hooks struct {
	Dial      []grpc.DialOption                         // for the Firestore connections
	Transport func(http.RoundTripper) http.RoundTripper // around Storage's
	Accounts  func(accounts.API) accounts.API           // around Authentication's
	Pace      documents.Pace                            // of writes to Firestore; nil: a function's, [pace.NewRate]
}

// Open opens what a function works on, with the caller's credentials or on the emulators that its settings name. The function
// that is returned closes it.
func (h Hooks) Open(ctx context.Context, c config.Config, uses []config.Backend, clock func() time.Time) (p Project, closeAll func() error, err error) {
	var closers []func() error
	closeAll = func() error {
		var failed []error
		for _, one := range closers {
			failed = append(failed, one())
		}
		return errors.Join(failed...)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, closeAll())
		}
	}()
	db, err := documents.Open(ctx, documents.Database{Project: c.Project, ID: c.Database, EmulatorHost: c.Emulators.Firestore}, h.Dial...)
	if err != nil {
		return p, closeAll, err
	}
	closers = append(closers, db.Close)
	writes := h.Pace
	if writes == nil {
		writes = pace.NewRate()
	}
	p = Project{Config: c, Clock: clock, DB: db.Writer(writes), Firestore: db.Firestore()}
	if slices.Contains(uses, config.Storage) {
		bucket, err := objects.Open(ctx, objects.Bucket{Name: c.Bucket, EmulatorHost: c.Emulators.Storage}, h.Transport)
		if err != nil {
			return p, closeAll, err
		}
		closers = append(closers, bucket.Close)
		p.Bucket = bucket.Handle()
	}
	if slices.Contains(uses, config.Auth) {
		client, err := accounts.Open(ctx, c.Project, true, h.Accounts)
		if err != nil {
			return p, closeAll, err
		}
		p.Accounts = new(client.Importer())
	}
	return p, closeAll, nil
}
